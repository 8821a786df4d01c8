/* Where functions begin in a module without symbols: from the unwind table, which survives
 * `strip` and which most distributions' libraries have for every function.
 *
 * For symbols.c, after the symbol tables; see elf.h for the context and the invariant. With
 * it all addresses of a nameless function share one frame instead of being a frame each.
 */
#ifndef CP_EHFUNC_H
#define CP_EHFUNC_H

#include "elf.h"

struct cp_ehfunc_entry {
	int32_t function, fde; /* relative to the header */
};

/* A module's .eh_frame_hdr: a table of (function, FDE) sorted by function. */
struct cp_ehfunc {
	const struct cp_elf *e;
	uint64_t header; /* vaddr that the table's entries are relative to */
	uint64_t table;	 /* its place in the source */
	uint32_t count;
	uint64_t start, size; /* of the function that was last found */
	uint32_t hint;	      /* the last answer: addresses are asked for in rising order */
	uint32_t block_start, block_count; /* entries in BLOCK */
	/* Two pages: a system call for one takes as long as for a few hundred entries, and all of a
	 * library's nameless functions are asked for, one after the other. */
	struct cp_ehfunc_entry block[1024];
};

/* 0, or -ENOENT: no table, or not in the form that linkers write (sorted pairs of 32-bit offsets).
 */
int cp_ehfunc_open(struct cp_ehfunc *t, const struct cp_elf *e);
/* The vaddr at which the function holding VADDR begins. 0, -ENOENT where no FDE covers it, or
 * the error of reading. */
int cp_ehfunc_start(struct cp_ehfunc *t, uint64_t vaddr, uint64_t *start);

#endif
