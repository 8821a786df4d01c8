/* SPDX-License-Identifier: BSD-3-Clause */
/* The contents of a section with debug information, unpacked if they are compressed: by zlib, which
 * libelf does, or by zstd, which libelf does from elfutils 0.189 on and libzstd.so.1 before. */
#ifndef CT_DWARF_SECTION_H
#define CT_DWARF_SECTION_H

#include <libelf.h>

#include "dwarf/dwarf_data.h"

/* Gets the contents of SCN in ELF. OLD: the section is compressed in the old way, from before
 * SHF_COMPRESSED. *MEMORY: the bytes, for free, if they don't belong to SCN; else NULL. Returns 0,
 * -ENOENT (no contents) or -EOPNOTSUPP (they can't be unpacked). */
int ct_dwarf_section_load(Elf *elf, Elf_Scn *scn, bool old, struct ct_dw_bytes *bytes,
			  void **memory);

#endif
