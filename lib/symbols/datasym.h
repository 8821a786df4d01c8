/* SPDX-License-Identifier: BSD-3-Clause */
/* Names variables by address, from .symtab and .dynsym; used to name locks.
 *
 * lock_names.c calls this at a dump, under the collector's lock; see elf.h for the context. Each
 * table is read in one streaming pass, so memory does not grow with the table.
 */
#ifndef CP_DATASYM_H
#define CP_DATASYM_H

#include "symbols/elf.h"
#include "base/arena.h"

struct cp_datasym_query {
	uint64_t vaddr; /* first field: the sort key */
	/* out: */
	uint64_t start; /* vaddr of the variable that contains VADDR */
	uint64_t size;
	const char *name; /* raw, in the arena; NULL = no variable contains VADDR */
	uint64_t user;	  /* for the caller's use */
};

/* Name the queries (of N) that lie in a variable, and sort all queries. Returns 0, -ENOMEM, or the
 * error of reading. */
int cp_datasym_find(const struct cp_elf *e, struct cp_datasym_query *q, size_t n,
		    struct cp_arena *names);

#endif
