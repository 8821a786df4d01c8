/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds where functions begin and end, from the unwind table. The table survives `strip`, and most
 * distributions' libraries have it for every function.
 *
 * symbols.c uses this after the symbol tables; see elf.h for the context and the invariant. All
 * addresses of a nameless function then share one frame; without this, each would be its own frame.
 * symtab.c asks how far a symbol without a size may reach.
 */
#ifndef CP_EHFUNC_H
#define CP_EHFUNC_H

#include "symbols/elf.h"

struct cp_ehfunc_entry {
	int32_t function, fde; /* relative to the header */
};

/* A module's .eh_frame_hdr: a table of (function, FDE) sorted by function. */
struct cp_ehfunc {
	const struct cp_elf *e;
	uint64_t header; /* vaddr that the table's entries are relative to */
	uint64_t table;	 /* position of the table in the source */
	uint32_t count;
	uint64_t start, size; /* where the function that was found last lies */
	uint32_t hint;	      /* the last answer: callers ask for addresses in rising order */
	uint32_t block_start, block_count; /* entries in BLOCK */
	/* Two pages: a system call for one entry takes as long as for a few hundred, and the caller
	 * asks for all of a library's nameless functions, one after the other. */
	struct cp_ehfunc_entry block[1024];
};

/* Returns 0, or -ENOENT if there is no table, or its form isn't the one that linkers write (sorted
 * pairs of 32-bit offsets). */
int cp_ehfunc_open(struct cp_ehfunc *t, const struct cp_elf *e);
/* Set *START to the vaddr at which the function that contains VADDR begins. Returns 0, -ENOENT if
 * no FDE covers VADDR, or the error of reading. */
int cp_ehfunc_start(struct cp_ehfunc *t, uint64_t vaddr, uint64_t *start);

enum cp_ehfunc_reach {
	CP_EHFUNC_SAME,	 /* one FDE covers both addresses */
	CP_EHFUNC_OTHER, /* another function begins between them */
	CP_EHFUNC_NO_FDE /* no FDE covers the second one, and no function begins between them */
};
/* Returns what the table says of the code from FROM, where a symbol stands, to VADDR. */
enum cp_ehfunc_reach cp_ehfunc_reach(struct cp_ehfunc *t, uint64_t from, uint64_t vaddr);

#endif
