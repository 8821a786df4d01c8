/* Memory of our own: pages from mmap, never the program's heap.
 *
 * Nothing here locks: an arena and a vector belong to one thread at a time,
 * which their owner arranges. Every function is async-signal-safe.
 */
#ifndef CP_PAGES_H
#define CP_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* SIZE zeroed bytes of pages, or NULL. Where that is much, of huge ones if the kernel has some: a
 * million stacks are read and written in no order. */
void *cp_pages_map(size_t size);

/* A bump allocator. Zeroed struct = empty arena. Blocks are 8-byte aligned,
 * zeroed, and live until the whole arena is released. */
struct cp_arena {
	struct cp_arena_chunk *chunks; /* newest first; owned */
	size_t used;		       /* bytes of the newest chunk in use */
	size_t mapped;		       /* bytes mapped over all chunks */
	size_t limit;		       /* most bytes to map; 0 = no limit */
};

/* SIZE zeroed bytes, or NULL (out of memory, or over the arena's limit). */
void *cp_arena_alloc(struct cp_arena *a, size_t size);
/* Copy of the N bytes at S with NUL behind them, or NULL. */
char *cp_arena_text(struct cp_arena *a, const char *s, size_t n);
void cp_arena_release(struct cp_arena *a);

/* A growing array of fixed-size items in pages. Zeroed struct with .size set =
 * empty. Items move when it grows: hold indices, not pointers. */
struct cp_vec {
	void *items;
	size_t count, room; /* in items */
	size_t size;	    /* bytes an item */
};

/* Room for one more item at the end, zeroed, counted: its address, or NULL. */
void *cp_vec_add(struct cp_vec *v);
/* At least COUNT items, those that are new zeroed. false: there is no memory. */
bool cp_vec_extend(struct cp_vec *v, size_t count);
void cp_vec_release(struct cp_vec *v);
#define CP_VEC_AT(v, type, i) (&((type *)(v)->items)[i])

#endif
