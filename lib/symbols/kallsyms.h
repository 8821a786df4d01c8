/* SPDX-License-Identifier: BSD-3-Clause */
/* Names for kernel addresses, from /proc/kallsyms.
 *
 * Called at a dump, like symbols.h: raw system calls, own pages. The file (some 10 MiB of text) is
 * read once for all addresses together. Where the kernel hides its addresses (kptr_restrict), the
 * file has zeros, and no name is found.
 */
#ifndef CP_KALLSYMS_H
#define CP_KALLSYMS_H

#include <stddef.h>

#include "base/arena.h"
#include "symbols/symbols.h"

/* Fill NAME and START of the N queries, whose OFFSET is an address. Sorts the queries in place.
 * Returns 0, -ENOMEM, or the error of reading the file. */
int cp_kallsyms_find(struct cp_symbol_query *q, size_t n, struct cp_arena *names);
/* The same, from an open file. */
int cp_kallsyms_read(int fd, struct cp_symbol_query *q, size_t n, struct cp_arena *names);

#endif
