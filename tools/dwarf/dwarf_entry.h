/* SPDX-License-Identifier: BSD-3-Clause */
/* One entry (DIE): the attributes that the reader knows, and the addresses that the entry covers.
 */
#ifndef CT_DWARF_ENTRY_H
#define CT_DWARF_ENTRY_H

#include "dwarf/dwarf_abbrev.h"
#include "dwarf/dwarf_form.h"

enum ct_dw_at {
	CT_DW_NAME,
	CT_DW_LINKAGE_NAME,
	CT_DW_LOW_PC,
	CT_DW_HIGH_PC,
	CT_DW_AT_RANGES,
	CT_DW_ORIGIN,
	CT_DW_SPECIFICATION,
	CT_DW_DECL_FILE,
	CT_DW_DECL_LINE,
	CT_DW_CALL_FILE,
	CT_DW_CALL_LINE,
	CT_DW_CALL_COLUMN,
	CT_DW_DECL_COLUMN,
	CT_DW_TYPE,
	CT_DW_ARTIFICIAL,
	CT_DW_EXTERNAL,
	/* only for the root entry of a unit: */
	CT_DW_COMP_DIR,
	CT_DW_STMT_LIST,
	CT_DW_DWO_NAME,
	CT_DW_DWO_ID,
	CT_DW_STR_OFFSETS_BASE,
	CT_DW_ADDR_BASE,
	CT_DW_RNGLISTS_BASE,
	CT_DW_RANGES_BASE,
	CT_DW_LANGUAGE,
	CT_DW_ATS
};

struct ct_dw_entry {
	struct ct_dw_value at[CT_DW_ATS]; /* form 0 = absent */
};

/* C is after the entry's code. Moves C past the entry's values. */
void ct_dwarf_entry_read(const struct ct_dw_unit *u, const struct ct_dw_abbrevs *t,
			 const struct ct_dw_abbrev *a, struct ct_dw_cursor *c,
			 struct ct_dw_entry *e);

/* Iterates over the ranges that an entry covers. */
struct ct_dw_ranges {
	const struct ct_dw_unit *unit;
	struct ct_dw_cursor list;
	enum { CT_DW_NO_RANGE, CT_DW_ONE_RANGE, CT_DW_LIST_2, CT_DW_LIST_5 } kind;
	uint64_t base, low, high;
};

void ct_dwarf_ranges_begin(struct ct_dw_ranges *r, const struct ct_dw_unit *u,
			   const struct ct_dw_entry *e);
/* Moves to the next range that isn't empty and whose code was not dropped. Returns false after the
 * last. */
bool ct_dwarf_ranges_next(struct ct_dw_ranges *r, uint64_t *low, uint64_t *high);

#endif
