/* Names for addresses in PLT stubs, which have no symbols: "memcpy@plt".
 *
 * For symbols.c, after the symbol tables; see there for the context. A stub jumps through a slot
 * of the GOT; the relocation of that slot says whose it is. Works for every linker's kinds of PLT.
 */
#ifndef CP_PLT_H
#define CP_PLT_H

#include "symtab.h"

/* Names what it can of the N targets, as cp_symtab_pass does. DYNSYM is the module's. 0, -ENOMEM.
 */
int cp_plt_name(const struct cp_elf *e, const struct cp_elf_symtab *dynsym,
		struct cp_symtab_target *targets, size_t n, struct cp_arena *names);

#endif
