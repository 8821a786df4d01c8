/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps freed blocks of the smallest tagged size for the next samples.
 *
 * glibc's allocator splits its memory as requested, so for a long time it places new blocks where
 * tagged blocks were. After some thousand samples, one ordinary block in ten looks like a sampled
 * one, and free can't tell in advance. With this list, samples reuse the same few places.
 *
 * The list is used with glibc only. Other allocators gain little from it, and some can discard many
 * blocks at once, including a block that is in this list.
 *
 * For the allocator these blocks are in use; for the program they are free. They stay in the
 * filter: if the program frees such a block a second time, remove is called, and the allocator gets
 * to see both frees.
 *
 * Lock-free, async-signal-safe. Called by lib/modes/heap/hooks/malloc.c.
 */
#ifndef CP_HEAP_FREELIST_H
#define CP_HEAP_FREELIST_H

#include <stdbool.h>
#include <stddef.h>

#define CP_HEAP_FREELIST 8u

/* Keep P, a sampled block of USABLE bytes that is being freed. Returns true if P was kept; then P
 * must not be given to the allocator. Keeps blocks only while samples are requested with a tag. */
bool cp_heap_freelist_keep(void *p, size_t usable);
/* Returns a block for SIZE bytes, or NULL if the list has none. */
void *cp_heap_freelist_take(size_t size);
/* Returns true if P was in the list. P then belongs to the caller alone. */
bool cp_heap_freelist_remove(const void *p);

#endif
