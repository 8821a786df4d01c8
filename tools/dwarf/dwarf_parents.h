/* SPDX-License-Identifier: BSD-3-Clause */
/* The scopes that contain an entry of a unit: namespaces, classes, functions. */
#ifndef CT_DWARF_PARENTS_H
#define CT_DWARF_PARENTS_H

#include "dwarf/dwarf_data.h"

/* An entry whose name is part of a qualified name. Lexical blocks and inlined calls have no such
 * part. */
struct ct_dw_parent {
	uint64_t entry,
		end; /* offsets in .debug_info: of the entry, and of the end of its last child */
	uint32_t parent; /* index, or CT_DW_NO_PARENT */
	uint32_t depth;
	uint16_t tag;
};

#define CT_DW_NO_PARENT UINT32_MAX

struct ct_dw_parents {
	struct ct_dw_parent *list; /* sorted by entry */
	size_t count, room;
};

/* Returns the table of U, made at the first call, or NULL without memory. U's file owns the table.
 */
const struct ct_dw_parents *ct_dwarf_parents_of(const struct ct_dw_unit *u);
/* Returns the innermost entry of T that contains the entry at OFFSET, or CT_DW_NO_PARENT. */
uint32_t ct_dwarf_parents_find(const struct ct_dw_parents *t, uint64_t offset);
void ct_dwarf_parents_free(struct ct_dw_file *f);

#endif
