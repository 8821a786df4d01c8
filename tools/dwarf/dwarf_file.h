/* SPDX-License-Identifier: BSD-3-Clause */
/* ELF files with DWARF: their sections, their supplementary files, and split units. */
#ifndef CT_DWARF_FILE_H
#define CT_DWARF_FILE_H

#include "dwarf/dwarf_data.h"

/* Finds the sections of the ELF file FD, and decompresses them if necessary. SPLIT: finds those
 * named .dwo. F must be zeroed. Returns 0, -ENOENT (no .debug_info), -EOPNOTSUPP (it can't be
 * unpacked), -EINVAL (not an ELF file that this reader supports) or -ENOMEM. The caller still has
 * to close FD. */
int ct_dwarf_file_load(struct ct_dw_file *f, int fd, bool split);
/* The same, with a descriptor that F owns. */
int ct_dwarf_file_open(struct ct_dw_file *f, const char *path, bool split);
/* Also releases F->alt. */
void ct_dwarf_file_close(struct ct_dw_file *f);

/* Returns whether sections with this name are read. */
bool ct_dwarf_file_reads(const char *name);

/* Opens the supplementary file (dwz) that F names, beside PATH or below one of ROOTS, into F->alt.
 * F->alt stays NULL if the file is missing or is not the right one. */
void ct_dwarf_file_supplement(struct ct_dw_file *f, const char *path, const char *const *roots);

/* Returns the split unit of SKELETON: from PACKAGE (.dwp; may be NULL), else from the unit's .dwo
 * file, which is looked for by name, in the directory of compilation and beside PATH. The caller
 * closes and frees the unit's file. Returns NULL if the unit was not found. */
struct ct_dw_unit *ct_dwarf_split_open(struct ct_dw_unit *skeleton,
				       const struct ct_dw_file *package, const char *path);

#endif
