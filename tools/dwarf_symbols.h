/* Names from symbol tables, for code that DWARF says nothing about. For symbolize.c. */
#ifndef CT_DWARF_SYMBOLS_H
#define CT_DWARF_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

struct ct_dwarf_symbol_query {
	uint64_t address; /* as linked */
	uint32_t tag;	  /* the caller's */
	char *name;	  /* out, to be freed: as the linker sees it, without a version; or NULL */
};

/* Fill the names of those of the N queries, which are sorted by address, that have none yet, from
 * the symbol tables of the ELF file FD. */
void ct_dwarf_symbols_find(int fd, struct ct_dwarf_symbol_query *q, size_t n);

#endif
