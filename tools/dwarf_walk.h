/* From addresses to the function and the inlined calls that they are in. */
#ifndef CT_DWARF_WALK_H
#define CT_DWARF_WALK_H

#include "dwarf_data.h"
#include "dwarf_texts.h"

struct ct_dw_scope {
	struct ct_dw_scope *caller; /* that it is inlined into; NULL: a function */
	struct ct_dw_scope *outer;  /* among entries, while they are walked */
	unsigned depth;
	uint64_t entry; /* offset in .debug_info */
	uint64_t call_file, call_line, call_column;
};

/* Walk the entries of U, once. SCOPES[i] becomes the innermost one of ADDRESSES[i], which are
 * sorted; those that have one already keep it. Scopes live in MEMORY. */
void ct_dw_walk(const struct ct_dw_unit *u, const uint64_t *addresses, struct ct_dw_scope **scopes,
		size_t n, struct ct_dw_texts *memory);

struct ct_dw_function {
	const char *name; /* in the file's sections */
	const struct ct_dw_unit *declared_in;
	uint64_t file, line; /* of the declaration; numbers of DECLARED_IN's table */
};

/* What the entry at OFFSET of U's file is called, found through what it refers to. */
void ct_dw_function_of(const struct ct_dw_unit *u, uint64_t offset, struct ct_dw_function *to);

#endif
