/* Blocks of the smallest tagged size that the program has freed, for the next samples.
 *
 * An allocator that splits its memory as it is asked to (glibc's) begins a block at each place
 * where a tagged one was, for long: after some thousand samples one ordinary block in ten looks
 * like a sampled one, and free can't tell in advance. With these, samples take the same few places
 * again.
 *
 * Not over others: what they have of it is little, and some can discard blocks all at once, of
 * which one might be here.
 *
 * To the allocator they are in use, to the program they are free. They stay in the filter: who
 * frees one a second time comes to remove, and the allocator gets to see both.
 *
 * Lock-free, async-signal-safe; called by preload/malloc.c.
 */
#ifndef CP_HEAP_SPARES_H
#define CP_HEAP_SPARES_H

#include <stdbool.h>
#include <stddef.h>

#define CP_HEAP_SPARES 8u

/* P, of so many USABLE bytes, was sampled and is freed, and samples are asked for with a tag. true:
 * it isn't to be given back. */
bool cp_heap_spares_keep(void *p, size_t usable);
/* One for SIZE bytes; NULL: there is none. */
void *cp_heap_spares_take(size_t size);
/* true: P was one. Now it is only the caller's. */
bool cp_heap_spares_remove(const void *p);

#endif
