/* The dynamic symbol table as the loader finds it: from PT_DYNAMIC, without section
 * headers. For images in memory and for files stripped of their sections; see elf.h
 * for the context and the invariant.
 */
#ifndef CP_DYNSYM_H
#define CP_DYNSYM_H

#include "elf.h"

/* 0, -ENOENT without a usable one, or the error of reading. */
int cp_dynsym_find(const struct cp_elf *e, struct cp_elf_symtab *t);

#endif
