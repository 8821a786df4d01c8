/* SPDX-License-Identifier: BSD-3-Clause */
/* One streaming pass over a symbol table: finds the best symbol for each of many addresses.
 *
 * symbols.c decides which tables to read in which order; see there for the context. Invariant:
 * targets are sorted by vaddr, and memory does not grow with the table.
 */
#ifndef CP_SYMTAB_H
#define CP_SYMTAB_H

#include "symbols/elf.h"
#include "base/arena.h"
#include "symbols/symbols.h"

/* A symbol that may name an address. */
struct cp_symtab_entry {
	uint64_t value;
	uint32_t name; /* offset in the table's names */
	uint8_t rank;  /* by kind and binding, 0 = no symbol; higher is better */
	bool sized;
};

struct cp_ehfunc;

struct cp_symtab_target {
	uint64_t vaddr;
	struct cp_symbol_query *query;
	/* State of one pass: the best symbol whose size covers VADDR, and the last symbol that
	 * starts between the previous target and this one. */
	struct cp_symtab_entry cover, below;
};

/* Name those of the N targets that the table covers, and set NAME and START (a vaddr) of their
 * queries. FDES: the module's unwind table, or NULL. Returns 0, -ENOMEM, or the error of reading.
 */
int cp_symtab_pass(const struct cp_elf *e, const struct cp_elf_symtab *t, struct cp_ehfunc *fdes,
		   struct cp_symtab_target *targets, size_t n, struct cp_arena *names);

#endif
