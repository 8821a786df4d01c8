/* SPDX-License-Identifier: BSD-3-Clause */
/* Section .debug_aranges: tells which unit holds an address, without reading the units. The section
 * may be missing, and it need not name every unit.
 */
#ifndef CT_DWARF_ARANGES_H
#define CT_DWARF_ARANGES_H

#include "dwarf/dwarf_data.h"

struct ct_dw_aranges {
	const struct ct_dw_file *file;
	struct ct_dw_cursor sets, set;
	uint64_t unit;
	unsigned address_size;
};

void ct_dwarf_aranges_begin(struct ct_dw_aranges *a, const struct ct_dw_file *f);
/* Reads the next range: the code from LOW up to HIGH belongs to the unit whose header is at offset
 * UNIT of .debug_info. UNIT may be wrong in a malformed file. Returns false at the end. */
bool ct_dwarf_aranges_next(struct ct_dw_aranges *a, uint64_t *unit, uint64_t *low, uint64_t *high);

#endif
