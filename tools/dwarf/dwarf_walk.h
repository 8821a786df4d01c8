/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the function and the inlined calls that contain an address. */
#ifndef CT_DWARF_WALK_H
#define CT_DWARF_WALK_H

#include "dwarf/dwarf_data.h"
#include "dwarf/dwarf_entry.h"
#include "dwarf/dwarf_texts.h"

struct ct_dw_scope {
	struct ct_dw_scope *caller; /* the scope that it is inlined into; NULL: it is a function */
	struct ct_dw_scope *outer;  /* the scope that contains it during the walk */
	unsigned depth;
	uint64_t entry; /* offset in .debug_info */
	uint64_t call_file, call_line, call_column;
};

/* Walks the entries of U, once. ADDRESSES are sorted. SCOPES[i] becomes the innermost scope of
 * ADDRESSES[i], unless it is set already. Scopes live in MEMORY. */
void ct_dwarf_walk(const struct ct_dw_unit *u, const uint64_t *addresses,
		   struct ct_dw_scope **scopes, size_t n, struct ct_dw_texts *memory);

struct ct_dw_function {
	const char *name; /* points into the file's sections */
	bool is_linkage; /* NAME is the linker's; else the name in the source, without its scopes */
	const struct ct_dw_unit
		*unit; /* the unit of the entry that all others refer to, and that entry's offset */
	uint64_t entry;
	const struct ct_dw_unit *declared_in;
	/* of the declaration; FILE is a number of DECLARED_IN's table */
	uint64_t file, line, column;
};

/* Gets the name of the entry at OFFSET of U's file, found through the entries that it refers to.
 */
void ct_dwarf_walk_function_of(const struct ct_dw_unit *u, uint64_t offset,
			       struct ct_dw_function *to);

/* Reads the entry at OFFSET of U's file, and its DW_TAG. Returns false if it is malformed. */
bool ct_dwarf_walk_entry(const struct ct_dw_unit *u, uint64_t offset, struct ct_dw_entry *e,
			 uint16_t *tag);
/* Goes from the entry at OFFSET to its origin or declaration. Returns false if it refers to none.
 */
bool ct_dwarf_walk_origin(const struct ct_dw_unit **u, uint64_t *offset,
			  const struct ct_dw_entry *e);

#endif
