/* The units of a file. */
#ifndef CT_DWARF_UNIT_H
#define CT_DWARF_UNIT_H

#include "dwarf_entry.h"

/* Read the headers and root entries of all units, once. 0, or -ENOMEM; a malformed tail is left
 * out. */
int ct_dw_units_read(struct ct_dw_file *f);
/* The unit that holds OFFSET of .debug_info, or NULL. */
struct ct_dw_unit *ct_dw_unit_at(struct ct_dw_file *f, uint64_t offset);
/* The root entry, anew. */
bool ct_dw_unit_root(const struct ct_dw_unit *u, struct ct_dw_entry *e);

#endif
