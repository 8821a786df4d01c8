/* SPDX-License-Identifier: BSD-3-Clause */
/* Unpacked copies of compressed debug files, by build id, in a cache directory of the user's.
 *
 * Distributions compress debug files. Unpacking libc's takes 30 ms, more than everything else at
 * the end of a short program, and every process of a tree would do it again. The copies are whole
 * ELF files; they are read and checked like any other debug file, build id included.
 *
 * If the user has no such directory, nothing is kept. A failure here only means that the original
 * is read. Any number of processes may use the directory at the same time.
 */
#ifndef CT_DWARF_UNPACKED_H
#define CT_DWARF_UNPACKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the path of the copy of the debug file with the build id ID (SIZE bytes), whether or not
 * the copy exists; free it. Returns NULL if nothing is kept. */
char *ct_dwarf_unpacked_path(const uint8_t *id, size_t size);

/* Writes a copy of the debug file FD under its build id, and removes the oldest copies if there are
 * too many. Returns false if no copy was written: the file isn't compressed or is too large, or
 * there is no directory for it. */
bool ct_dwarf_unpacked_keep(const uint8_t *id, size_t size, int fd);

#endif
