/* SPDX-License-Identifier: BSD-3-Clause */
/* Abbreviation tables. Each abbreviation has a plan that steps over an entry without decoding it.
 */
#ifndef CT_DWARF_ABBREV_H
#define CT_DWARF_ABBREV_H

#include "dwarf/dwarf_data.h"

struct ct_dw_spec {
	uint16_t at, form;
	int64_t implicit; /* value of DW_FORM_implicit_const */
};

/* The action of a unit's walk at an entry. */
enum ct_dw_kind { CT_DW_OTHER, CT_DW_FUNCTION, CT_DW_INLINED };

struct ct_dw_abbrev {
	uint64_t code;
	uint16_t tag;
	bool children;
	uint8_t kind;  /* enum ct_dw_kind; CT_DW_OTHER also for entries without addresses */
	int32_t fixed; /* size in bytes of every such entry, or -1: then the plan has steps */
	uint32_t specs, spec_count;
	uint32_t steps, step_count;
};

struct ct_dw_abbrevs {
	uint64_t offset;
	uint16_t version;
	uint8_t address_size, offset_size;
	struct ct_dw_abbrev *list; /* sorted by code */
	size_t count;
	struct ct_dw_spec *specs;
	int32_t *steps;
	size_t spec_count, step_count, list_room, spec_room, step_room;
};

/* Returns the table of U from its file's cache; it is valid until the table of another unit is
 * requested. NULL: the table is malformed, or there is no memory. */
const struct ct_dw_abbrevs *ct_dwarf_abbrev_of(const struct ct_dw_unit *u);
const struct ct_dw_abbrev *ct_dwarf_abbrev_find(const struct ct_dw_abbrevs *a, uint64_t code);
/* C is after the entry's code. Moves C past the entry's values. */
void ct_dwarf_abbrev_step(const struct ct_dw_abbrevs *t, const struct ct_dw_abbrev *a,
			  struct ct_dw_cursor *c);
void ct_dwarf_abbrev_free(struct ct_dw_abbrevs *a);

#endif
