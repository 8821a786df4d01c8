/* Abbreviation tables, each with a plan to step over an entry without looking at it. */
#ifndef CT_DWARF_ABBREV_H
#define CT_DWARF_ABBREV_H

#include "dwarf_data.h"

struct ct_dw_spec {
	uint16_t at, form;
	int64_t implicit; /* DW_FORM_implicit_const's value */
};

/* What the walk of a unit does with an entry. */
enum ct_dw_kind { CT_DW_OTHER, CT_DW_FUNCTION, CT_DW_INLINED };

struct ct_dw_abbrev {
	uint64_t code;
	uint16_t tag;
	bool children;
	uint8_t kind;  /* enum ct_dw_kind; CT_DW_OTHER also for those without addresses */
	int32_t fixed; /* bytes of every such entry, or -1: then the plan's steps */
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

/* The table of U, from its file's cache: valid until another unit's is asked for. NULL: malformed,
 * or no memory. */
const struct ct_dw_abbrevs *ct_dw_abbrevs_of(const struct ct_dw_unit *u);
const struct ct_dw_abbrev *ct_dw_abbrev_find(const struct ct_dw_abbrevs *a, uint64_t code);
/* C is behind the entry's code; moves it behind the entry's values. */
void ct_dw_abbrev_step(const struct ct_dw_abbrevs *t, const struct ct_dw_abbrev *a,
		       struct ct_dw_cursor *c);
void ct_dw_abbrevs_free(struct ct_dw_abbrevs *a);

#endif
