/* SPDX-License-Identifier: BSD-3-Clause */
/* A bump allocator over the profiler's own pages (pages.h).
 *
 * Nothing here locks. An arena belongs to one thread at a time; its owner makes sure of this. Every
 * function is async-signal-safe.
 */
#ifndef CP_ARENA_H
#define CP_ARENA_H

#include <stddef.h>

/* A zeroed struct is an empty arena. Blocks are 8-byte aligned and zeroed, and live until the whole
 * arena is released. */
struct cp_arena {
	struct cp_arena_chunk *chunks; /* newest first; owned */
	size_t used;		       /* bytes of the newest chunk in use */
	size_t mapped;		       /* bytes mapped over all chunks */
	size_t limit;		       /* most bytes to map; 0 = no limit */
};

/* Returns SIZE zeroed bytes, or NULL (out of memory, or over the arena's limit). */
void *cp_arena_alloc(struct cp_arena *a, size_t size);
/* Returns a NUL-terminated copy of the N bytes at S, or NULL. */
char *cp_arena_text(struct cp_arena *a, const char *s, size_t n);
void cp_arena_release(struct cp_arena *a);

#endif
