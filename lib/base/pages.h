/* SPDX-License-Identifier: BSD-3-Clause */
/* The profiler's own memory: pages from mmap, never the program's heap. Every function is
 * async-signal-safe. arena.h and vec.h allocate from these pages.
 */
#ifndef CP_PAGES_H
#define CP_PAGES_H

#include <stddef.h>

/* Returns SIZE zeroed bytes of pages, or NULL. Large sizes get huge pages if the kernel has some,
 * because a million stacks are read and written in random order. */
void *cp_pages_map(size_t size);

/* Returns SIZE bytes for a stack, or NULL. The lowest page is a guard page: an overflow faults and
 * doesn't write into the mapping below. */
void *cp_pages_stack(size_t size);

/* The same, and a reserve (reserve.h) in the same mapping, below the stack. */
char *cp_pages_stack_and_reserve(size_t size);
/* Make the reserve larger if ROWS rows need it. Call with the collector's lock. */
void cp_pages_reserve_grow(size_t rows);
void cp_pages_reserve_fork_child(void);

#define CP_PAGES_SIZE ((size_t)4096)

/* Returns SIZE rounded up to whole pages. */
static inline size_t cp_pages_round(size_t size)
{
	return (size + CP_PAGES_SIZE - 1) & ~(CP_PAGES_SIZE - 1);
}

#endif
