/* SPDX-License-Identifier: BSD-3-Clause */
/* Units by address; see dwarf_aranges.h. */
#include "dwarf/dwarf_aranges.h"

void ct_dwarf_aranges_begin(struct ct_dw_aranges *a, const struct ct_dw_file *f)
{
	struct ct_dw_bytes b = f->section[CT_DW_ARANGES];

	*a = (struct ct_dw_aranges){ .file = f, .sets = ct_dw_cursor(b, 0, b.size) };
	a->set = (struct ct_dw_cursor){ a->sets.p, a->sets.p, false };
}

/* A set has the ranges of one unit. */
static bool next_set(struct ct_dw_aranges *a)
{
	const uint8_t *start = a->sets.p;
	uint8_t offset_size;
	unsigned version, segment_size;

	if (a->sets.p >= a->sets.end || a->sets.bad)
		return false;
	a->set = ct_dw_sub(&a->sets, &offset_size);
	version = (unsigned)ct_dw_uint(&a->set, 2);
	a->unit = ct_dw_uint(&a->set, offset_size);
	a->address_size = (unsigned)ct_dw_uint(&a->set, 1);
	segment_size = (unsigned)ct_dw_uint(&a->set, 1);
	if (version != 2 || segment_size || (a->address_size != 4 && a->address_size != 8))
		a->set.p = a->set.end;
	else /* The first range is aligned to its own size, from the beginning of the set. */
		ct_dw_skip(&a->set, -(uint64_t)(a->set.p - start) & (2 * a->address_size - 1));
	return true;
}

bool ct_dwarf_aranges_next(struct ct_dw_aranges *a, uint64_t *unit, uint64_t *low, uint64_t *high)
{
	do {
		while (a->set.p < a->set.end && !a->set.bad) {
			*low = ct_dw_uint(&a->set, a->address_size);
			*high = *low + ct_dw_uint(&a->set, a->address_size);
			*unit = a->unit;
			if (*low < *high && *low >= a->file->text_low && !a->set.bad)
				return true;
		}
	} while (next_set(a));
	return false;
}
