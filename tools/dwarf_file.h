/* ELF files with DWARF: their sections, what belongs to them, and split units. */
#ifndef CT_DWARF_FILE_H
#define CT_DWARF_FILE_H

#include "dwarf_data.h"

/* Sections of the ELF file FD, decompressed where needed; SPLIT: those named .dwo. F is zeroed
 * before. 0, -ENOENT (no .debug_info), -EINVAL (no ELF file that we read), -ENOMEM. FD stays the
 * caller's. */
int ct_dw_file_load(struct ct_dw_file *f, int fd, bool split);
/* The same with a descriptor of its own. */
int ct_dw_file_open(struct ct_dw_file *f, const char *path, bool split);
/* Also what F->alt is. */
void ct_dw_file_close(struct ct_dw_file *f);

/* Open the supplementary file (dwz) that F names, which lies beside PATH or below one of ROOTS,
 * into F->alt. Without one, or one that isn't it, F->alt stays NULL. */
void ct_dw_file_supplement(struct ct_dw_file *f, const char *path, const char *const *roots);

/* A package of split units (.dwp), and the unit that a skeleton stands for: from the package (which
 * may be NULL), else from its .dwo file, looked for by name, in its directory and beside PATH. The
 * unit's file is the caller's to close and free. NULL: not found. */
struct ct_dw_unit *ct_dw_split_open(struct ct_dw_unit *skeleton, const struct ct_dw_file *package,
				    const char *path);

#endif
