/* SPDX-License-Identifier: BSD-3-Clause */
/* Names for addresses in PLT stubs, which have no symbols: "memcpy@plt".
 *
 * symbols.c uses this after the symbol tables; see there for the context. A stub jumps through a
 * slot of the GOT, and the relocation of that slot names the function. Works for the PLTs of every
 * linker.
 */
#ifndef CP_PLT_H
#define CP_PLT_H

#include "symbols/symtab.h"

/* Name as many of the N targets as possible, as cp_symtab_pass does. DYNSYM is the module's.
 * Returns 0 or -ENOMEM. */
int cp_plt_name(const struct cp_elf *e, const struct cp_elf_symtab *dynsym,
		struct cp_symtab_target *targets, size_t n, struct cp_arena *names);

#endif
