/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of attributes; see dwarf.h. */
#include "dwarf/dwarf.h"

#include <dwarf.h>

int ct_dwarf_form_size(uint16_t form, uint16_t version, uint8_t address_size, uint8_t offset_size)
{
	switch (form) {
	case DW_FORM_addr: return address_size;
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const: return 0;
	case DW_FORM_data1:
	case DW_FORM_ref1:
	case DW_FORM_flag:
	case DW_FORM_strx1:
	case DW_FORM_addrx1: return 1;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2: return 2;
	case DW_FORM_strx3:
	case DW_FORM_addrx3: return 3;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_ref_sup4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4: return 4;
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sig8:
	case DW_FORM_ref_sup8: return 8;
	case DW_FORM_data16: return 16;
	case DW_FORM_sec_offset:
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt: return offset_size;
	/* In DWARF 2 it is as large as an address. */
	case DW_FORM_ref_addr: return version <= 2 ? address_size : offset_size;
	case DW_FORM_sdata:
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index: return CT_DW_LEB;
	case DW_FORM_string: return CT_DW_TEXT;
	case DW_FORM_block:
	case DW_FORM_exprloc: return CT_DW_BLOCK;
	case DW_FORM_block1: return CT_DW_BLOCK1;
	case DW_FORM_block2: return CT_DW_BLOCK2;
	case DW_FORM_block4: return CT_DW_BLOCK4;
	case DW_FORM_indirect: return CT_DW_INDIRECT;
	default: return CT_DW_UNKNOWN;
	}
}

static void skip_block(struct ct_dw_cursor *c, int size)
{
	ct_dw_skip(c, size == CT_DW_BLOCK    ? ct_dw_uleb(c)
		      : size == CT_DW_BLOCK1 ? ct_dw_uint(c, 1)
		      : size == CT_DW_BLOCK2 ? ct_dw_uint(c, 2)
					     : ct_dw_uint(c, 4));
}

struct ct_dw_value ct_dwarf_form_read(const struct ct_dw_unit *u, struct ct_dw_cursor *c,
				      uint16_t form, int64_t implicit)
{
	struct ct_dw_value v = { .form = form };
	int size;

	if (form == DW_FORM_indirect)
		v.form = (uint16_t)ct_dw_uleb(c);
	size = ct_dwarf_form_size(v.form, u->version, u->address_size, u->offset_size);
	switch (size) {
	case 0: v.u = v.form == DW_FORM_implicit_const ? (uint64_t)implicit : 1; break;
	case 16: ct_dw_skip(c, 16); break;
	case CT_DW_LEB:
		v.u = v.form == DW_FORM_sdata ? (uint64_t)ct_dw_sleb(c) : ct_dw_uleb(c);
		break;
	case CT_DW_TEXT: v.text = ct_dw_text(c); break;
	case CT_DW_BLOCK:
	case CT_DW_BLOCK1:
	case CT_DW_BLOCK2:
	case CT_DW_BLOCK4: skip_block(c, size); break;
	case CT_DW_INDIRECT:
	case CT_DW_UNKNOWN: c->bad = true; break;
	default: v.u = ct_dw_uint(c, (unsigned)size);
	}
	return v;
}

static bool table_entry(struct ct_dw_bytes b, uint64_t base, uint64_t index, unsigned size,
			uint64_t *to)
{
	struct ct_dw_cursor c;

	if (index > b.size || base > b.size || base + index * size + size > b.size)
		return false;
	c = ct_dw_cursor(b, base + index * size, b.size);
	*to = ct_dw_uint(&c, size);
	return !c.bad;
}

bool ct_dwarf_form_indexed_address(const struct ct_dw_unit *u, uint64_t index, uint64_t *to)
{
	const struct ct_dw_unit *owner = u->skeleton ? u->skeleton : u;

	return table_entry(owner->file->section[CT_DW_ADDR], owner->addr_base, index,
			   u->address_size, to);
}

const char *ct_dwarf_form_text(const struct ct_dw_unit *u, const struct ct_dw_value *v)
{
	const struct ct_dw_file *f = u->file;
	uint64_t offset;

	switch (v->form) {
	case DW_FORM_string: return v->text;
	case DW_FORM_strp: return ct_dw_text_at(f->section[CT_DW_STR], v->u);
	case DW_FORM_line_strp: return ct_dw_text_at(f->section[CT_DW_LINE_STR], v->u);
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_strp_alt:
		return f->alt ? ct_dw_text_at(f->alt->section[CT_DW_STR], v->u) : NULL;
	case DW_FORM_strx:
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
	case DW_FORM_GNU_str_index:
		if (!table_entry(f->section[CT_DW_STR_OFFSETS], u->str_offsets_base, v->u,
				 u->offset_size, &offset))
			return NULL;
		return ct_dw_text_at(f->section[CT_DW_STR], offset);
	default: return NULL;
	}
}

bool ct_dwarf_form_address(const struct ct_dw_unit *u, const struct ct_dw_value *v, uint64_t *to)
{
	switch (v->form) {
	case DW_FORM_addr: *to = v->u; return true;
	case DW_FORM_addrx:
	case DW_FORM_addrx1:
	case DW_FORM_addrx2:
	case DW_FORM_addrx3:
	case DW_FORM_addrx4:
	case DW_FORM_GNU_addr_index: return ct_dwarf_form_indexed_address(u, v->u, to);
	default: return false;
	}
}

bool ct_dwarf_form_entry(const struct ct_dw_unit *u, const struct ct_dw_value *v,
			 struct ct_dw_file **file, uint64_t *offset)
{
	*file = u->file;
	switch (v->form) {
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata: *offset = u->offset + v->u; return v->u < u->end - u->offset;
	case DW_FORM_ref_addr: *offset = v->u; return true;
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
	case DW_FORM_GNU_ref_alt:
		*file = u->file->alt;
		*offset = v->u;
		return *file != NULL;
	default: return false; /* DW_FORM_ref_sig8 refers to types only */
	}
}
