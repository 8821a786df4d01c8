/* Variables by address, from .symtab and .dynsym: which lock is it?
 *
 * For lock_names.c, at a dump, under the collector's lock; see elf.h for the context. One streaming
 * pass a table, so memory does not grow with it.
 */
#ifndef CP_DATASYM_H
#define CP_DATASYM_H

#include "elf.h"
#include "sigsafe/pages.h"

struct cp_datasym_query {
	uint64_t vaddr; /* first: the sort key */
	/* out: */
	uint64_t start; /* vaddr of the variable that holds it */
	uint64_t size;
	const char *name; /* raw, in the arena; NULL = none does */
	uint64_t user;	  /* the caller's */
};

/* Name those of the N queries that lie in a variable; they get sorted. 0, -ENOMEM, or the error of
 * reading. */
int cp_datasym_find(const struct cp_elf *e, struct cp_datasym_query *q, size_t n,
		    struct cp_arena *names);

#endif
