/* SPDX-License-Identifier: BSD-3-Clause */
/* MiniDebugInfo: Fedora, RHEL and their relatives strip their files, but keep the names of local
 * functions in a section .gnu_debugdata, an ELF file that xz has packed. "MiniDebugInfo" in GDB's
 * manual describes it.
 */
#ifndef CT_DWARF_MINIDEBUG_H
#define CT_DWARF_MINIDEBUG_H

#include <gelf.h>
#include <libelf.h>

/* Returns the file inside the file FILE, or NULL if FILE has none, if it can't be unpacked, or if
 * liblzma.so.5 can't be loaded. *MEMORY: the file's bytes. Call elf_end with the result, then free
 * *MEMORY. */
Elf *ct_dwarf_minidebug_open(Elf *file, void **memory);

#endif
