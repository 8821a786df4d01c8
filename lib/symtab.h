/* One streaming pass over a symbol table: the best symbol for each of many addresses.
 *
 * For symbols.c, which says which tables to read in what order; see there for the
 * context. Invariant: targets are sorted by vaddr, and memory does not grow with the table.
 */
#ifndef CP_SYMTAB_H
#define CP_SYMTAB_H

#include "elf.h"
#include "sigsafe/pages.h"
#include "symbols.h"

/* A symbol that may name an address. */
struct cp_symtab_entry {
	uint64_t value;
	uint32_t name; /* in the table's names */
	uint8_t rank;  /* of its kind and binding, 0 = none; higher is better */
	bool sized;
};

struct cp_symtab_target {
	uint64_t vaddr;
	struct cp_symbol_query *query;
	/* Scratch of one pass: the best symbol whose size covers VADDR, and the symbol that starts
	 * last between the target before and this one. */
	struct cp_symtab_entry cover, below;
};

/* Name those of the N targets that the table covers; NAME and START (a vaddr) of their queries are
 * set. Returns 0, -ENOMEM, or the error of reading. */
int cp_symtab_pass(const struct cp_elf *e, const struct cp_elf_symtab *t,
		   struct cp_symtab_target *targets, size_t n, struct cp_arena *names);

#endif
