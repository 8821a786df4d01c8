/* SPDX-License-Identifier: BSD-3-Clause */
/* Names from symbol tables, for code that DWARF does not describe. For symbolize.c. */
#ifndef CT_DWARF_SYMBOLS_H
#define CT_DWARF_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

struct ct_dwarf_symbol_query {
	uint64_t address; /* as linked */
	uint32_t tag;	  /* the caller's */
	char *name; /* out, freed by the caller: the linker's name, without a version; or NULL */
};

/* Gives names to those of the N queries that have none yet, from the symbol tables of the ELF file
 * FD. The queries are sorted by address. */
void ct_dwarf_symbols_find(int fd, struct ct_dwarf_symbol_query *q, size_t n);

#endif
