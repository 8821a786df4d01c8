/* SPDX-License-Identifier: BSD-3-Clause */
/* The units of a file. */
#ifndef CT_DWARF_UNIT_H
#define CT_DWARF_UNIT_H

#include "dwarf/dwarf_entry.h"

/* Reads the headers of all units, once. Returns 0 or -ENOMEM; a malformed tail is left out. */
int ct_dwarf_unit_read(struct ct_dw_file *f);
/* Reads U's root entry into U, once. This is done only when the unit is needed, because each root
 * has a table of abbreviations of its own, and most units are never needed. */
void ct_dwarf_unit_begin(struct ct_dw_unit *u);
/* Returns the unit that holds OFFSET of .debug_info, with its root entry read, or NULL. */
struct ct_dw_unit *ct_dwarf_unit_at(struct ct_dw_file *f, uint64_t offset);
/* Reads the header at OFFSET and the root entry of that unit into U, without reading other units.
 * Returns false if there is no unit. */
bool ct_dwarf_unit_read_one(struct ct_dw_file *f, uint64_t offset, struct ct_dw_unit *u);
/* Reads the root entry again. */
bool ct_dwarf_unit_root(const struct ct_dw_unit *u, struct ct_dw_entry *e);

#endif
