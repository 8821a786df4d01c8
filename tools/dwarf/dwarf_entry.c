/* SPDX-License-Identifier: BSD-3-Clause */
/* Attributes of an entry; see dwarf.h. */
#include "dwarf/dwarf.h"

#include <dwarf.h>

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
	case DW_AT_decl_column: return CT_DW_DECL_COLUMN;
	case DW_AT_type: return CT_DW_TYPE;
	case DW_AT_artificial: return CT_DW_ARTIFICIAL;
	case DW_AT_external: return CT_DW_EXTERNAL;
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

void ct_dwarf_entry_read(const struct ct_dw_unit *u, const struct ct_dw_abbrevs *t,
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
