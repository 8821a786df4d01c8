/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the dynamic symbol table as the loader does: from PT_DYNAMIC, without section headers. For
 * images in memory and for files whose sections were stripped. See elf.h for the context and the
 * invariant. */
#ifndef CP_DYNSYM_H
#define CP_DYNSYM_H

#include "symbols/elf.h"

/* Returns 0, -ENOENT if there is no usable table, or the error of reading. */
int cp_dynsym_find(const struct cp_elf *e, struct cp_elf_symtab *t);

#endif
