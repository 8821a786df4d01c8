/* Names for kernel addresses, from /proc/kallsyms.
 *
 * Called at a dump, as symbols.h is: raw system calls, our own pages. The file is read once through
 * for all addresses together (some 10 MiB of text). Where the kernel hides its addresses
 * (kptr_restrict), it has zeros, and no name is found.
 */
#ifndef CP_KALLSYMS_H
#define CP_KALLSYMS_H

#include <stddef.h>

#include "sigsafe/pages.h"
#include "symbols.h"

/* Fill NAME and START of the N queries, whose OFFSET is an address. They are sorted in place. 0,
 * -ENOMEM, or why the file could not be read. */
int cp_kallsyms_find(struct cp_symbol_query *q, size_t n, struct cp_arena *names);
/* The same from an open file. */
int cp_kallsyms_read(int fd, struct cp_symbol_query *q, size_t n, struct cp_arena *names);

#endif
