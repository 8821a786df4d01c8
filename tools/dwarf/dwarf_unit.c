/* SPDX-License-Identifier: BSD-3-Clause */
/* The units of a file; see dwarf.h. */
#include "dwarf/dwarf.h"

#include "core/core.h"

#include <dwarf.h>
#include <stdlib.h>

/* Reads the header at C; its sub-range BODY begins after the length. Returns false if the unit is
 * of a kind that this reader does not support. */
static bool read_header(struct ct_dw_unit *u, struct ct_dw_cursor *body)
{
	u->version = (uint16_t)ct_dw_uint(body, 2);
	if (u->version < 2 || u->version > 5)
		return false;
	u->type = DW_UT_compile;
	if (u->version >= 5) {
		u->type = (uint8_t)ct_dw_uint(body, 1);
		u->address_size = (uint8_t)ct_dw_uint(body, 1);
		u->abbrev_offset = ct_dw_uint(body, u->offset_size);
		if (u->type == DW_UT_skeleton || u->type == DW_UT_split_compile)
			u->id = ct_dw_uint(body, 8);
	} else {
		u->abbrev_offset = ct_dw_uint(body, u->offset_size);
		u->address_size = (uint8_t)ct_dw_uint(body, 1);
	}
	/* A unit of types has no code. */
	return !body->bad && (u->address_size == 8 || u->address_size == 4) &&
	       u->type != DW_UT_type && u->type != DW_UT_split_type;
}

static const struct ct_dw_abbrev *root_abbrev(const struct ct_dw_unit *u, struct ct_dw_cursor *c,
					      const struct ct_dw_abbrevs **t)
{
	*c = ct_dw_cursor(u->file->section[CT_DW_INFO], u->root, u->end);
	*t = ct_dwarf_abbrev_of(u);
	return *t ? ct_dwarf_abbrev_find(*t, ct_dw_uleb(c)) : NULL;
}

/* ---- attributes of an entry ---- */

/* of GCC and clang */
#define AT_GNU_DISCRIMINATOR 0x2136

static int slot_of(uint16_t at)
{
	switch (at) {
	case DW_AT_name: return CT_DW_NAME;
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name: return CT_DW_LINKAGE_NAME;
	case DW_AT_low_pc: return CT_DW_LOW_PC;
	case DW_AT_high_pc: return CT_DW_HIGH_PC;
	case DW_AT_ranges: return CT_DW_AT_RANGES;
	case DW_AT_abstract_origin: return CT_DW_ORIGIN;
	case DW_AT_specification: return CT_DW_SPECIFICATION;
	case DW_AT_decl_file: return CT_DW_DECL_FILE;
	case DW_AT_decl_line: return CT_DW_DECL_LINE;
	case DW_AT_call_file: return CT_DW_CALL_FILE;
	case DW_AT_call_line: return CT_DW_CALL_LINE;
	case DW_AT_call_column: return CT_DW_CALL_COLUMN;
	case AT_GNU_DISCRIMINATOR: return CT_DW_CALL_DISCRIMINATOR;
	case DW_AT_decl_column: return CT_DW_DECL_COLUMN;
	case DW_AT_type: return CT_DW_TYPE;
	case DW_AT_data_member_location: return CT_DW_MEMBER_LOCATION;
	case DW_AT_artificial: return CT_DW_ARTIFICIAL;
	case DW_AT_external: return CT_DW_EXTERNAL;
	case DW_AT_sibling: return CT_DW_SIBLING;
	case DW_AT_comp_dir: return CT_DW_COMP_DIR;
	case DW_AT_stmt_list: return CT_DW_STMT_LIST;
	case DW_AT_dwo_name:
	case DW_AT_GNU_dwo_name: return CT_DW_DWO_NAME;
	case DW_AT_GNU_dwo_id: return CT_DW_DWO_ID;
	case DW_AT_str_offsets_base: return CT_DW_STR_OFFSETS_BASE;
	case DW_AT_addr_base:
	case DW_AT_GNU_addr_base: return CT_DW_ADDR_BASE;
	case DW_AT_language: return CT_DW_LANGUAGE;
	case DW_AT_rnglists_base: return CT_DW_RNGLISTS_BASE;
	case DW_AT_GNU_ranges_base: return CT_DW_RANGES_BASE;
	default: return -1;
	}
}

void ct_dwarf_unit_entry(const struct ct_dw_unit *u, const struct ct_dw_abbrevs *t,
			 const struct ct_dw_abbrev *a, struct ct_dw_cursor *c,
			 struct ct_dw_entry *e)
{
	memset(e, 0, sizeof(*e));
	for (uint32_t i = 0; i < a->spec_count && !c->bad; i++) {
		const struct ct_dw_spec *s = &t->specs[a->specs + i];
		struct ct_dw_value v = ct_dwarf_form_read(u, c, s->form, s->implicit);
		int slot = slot_of(s->at);

		if (slot >= 0)
			e->at[slot] = v;
	}
}

bool ct_dwarf_unit_root(const struct ct_dw_unit *u, struct ct_dw_entry *e)
{
	const struct ct_dw_abbrevs *t;
	struct ct_dw_cursor c;
	const struct ct_dw_abbrev *a = root_abbrev(u, &c, &t);

	if (a)
		ct_dwarf_unit_entry(u, t, a, &c, e);
	return a != NULL;
}

/* Bases come first, because texts and addresses of the same entry may need them. */
static void take_root(struct ct_dw_unit *u, const struct ct_dw_entry *e)
{
	const struct ct_dw_value *at = e->at;

	u->str_offsets_base = at[CT_DW_STR_OFFSETS_BASE].form	  ? at[CT_DW_STR_OFFSETS_BASE].u
			      : u->file->split && u->version >= 5 ? (u->offset_size == 8 ? 16 : 8)
								  : 0;
	u->addr_base = at[CT_DW_ADDR_BASE].u;
	u->rnglists_base = at[CT_DW_RNGLISTS_BASE].u;
	u->ranges_base = at[CT_DW_RANGES_BASE].u;
	if (at[CT_DW_DWO_ID].form)
		u->id = at[CT_DW_DWO_ID].u;
	u->has_lines = at[CT_DW_STMT_LIST].form != 0;
	u->lines = at[CT_DW_STMT_LIST].u;
	u->has_ranges = at[CT_DW_AT_RANGES].form || at[CT_DW_HIGH_PC].form;
	u->directory = ct_dwarf_form_text(u, &at[CT_DW_COMP_DIR]);
	u->dwo_name = ct_dwarf_form_text(u, &at[CT_DW_DWO_NAME]);
	if (!ct_dwarf_form_address(u, &at[CT_DW_LOW_PC], &u->low))
		u->low = 0;
}

void ct_dwarf_unit_begin(struct ct_dw_unit *u)
{
	const struct ct_dw_abbrevs *t;
	const struct ct_dw_abbrev *a;
	struct ct_dw_entry e;
	struct ct_dw_cursor c;

	if (u->is_begun)
		return;
	u->is_begun = true;
	a = root_abbrev(u, &c, &t);
	if (!a)
		return;
	u->is_code = a->tag == DW_TAG_compile_unit || a->tag == DW_TAG_skeleton_unit;
	ct_dwarf_unit_entry(u, t, a, &c, &e);
	take_root(u, &e);
}

/* Reads the header of the unit at C, and moves C to the next unit. */
static bool read_unit(struct ct_dw_unit *u, struct ct_dw_file *f, struct ct_dw_cursor *c)
{
	const uint8_t *data = f->section[CT_DW_INFO].data;
	struct ct_dw_cursor body;

	u->file = f;
	u->offset = (uint64_t)(c->p - data);
	body = ct_dw_sub(c, &u->offset_size);
	u->end = (uint64_t)(body.end - data);
	if (body.bad || !read_header(u, &body))
		return false;
	u->root = (uint64_t)(body.p - data);
	return true;
}

void ct_dwarf_unit_read(struct ct_dw_file *f)
{
	struct ct_dw_bytes b = f->section[CT_DW_INFO];
	struct ct_dw_cursor c = ct_dw_cursor(b, 0, b.size);
	size_t room = 0;

	if (f->units)
		return;
	while (c.p < c.end) {
		struct ct_dw_unit *u = CT_PUSH(f->units, f->unit_count, room);

		*u = (struct ct_dw_unit){ 0 };
		if (read_unit(u, f, &c))
			continue;
		f->unit_count--;
		if (c.bad)
			break;
	}
}

bool ct_dwarf_unit_read_one(struct ct_dw_file *f, uint64_t offset, struct ct_dw_unit *u)
{
	struct ct_dw_bytes b = f->section[CT_DW_INFO];
	struct ct_dw_cursor c = ct_dw_cursor(b, offset, b.size);

	*u = (struct ct_dw_unit){ .file = f };
	if (!read_unit(u, f, &c))
		return false;
	ct_dwarf_unit_begin(u);
	return true;
}

/* Returns the first unit that ends after OFFSET. */
static struct ct_dw_unit *first_after(struct ct_dw_file *f, uint64_t offset)
{
	size_t low = 0, high = f->unit_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (f->units[middle].end <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low < f->unit_count ? &f->units[low] : NULL;
}

struct ct_dw_unit *ct_dwarf_unit_at(struct ct_dw_file *f, uint64_t offset)
{
	struct ct_dw_unit *u;

	ct_dwarf_unit_read(f);
	u = first_after(f, offset);
	if (!u || offset < u->root)
		return NULL;
	ct_dwarf_unit_begin(u);
	return u;
}
