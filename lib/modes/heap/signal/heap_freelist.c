/* SPDX-License-Identifier: BSD-3-Clause */
/* Freed blocks kept for the next samples; see heap_freelist.h. */
#include "modes/heap/signal/heap_freelist.h"

#include "base/atomic.h"
#include "modes/heap/signal/heap_hot.h"

/* The largest block that an allocator may give for TAG_MIN bytes with the tag. */
#define MOST (2 * CP_HEAP_TAG_ALIGN)

static uintptr_t spares[CP_HEAP_FREELIST]; /* 0 = free slot */

bool cp_heap_freelist_keep(void *p, size_t usable)
{
	uintptr_t a = (uintptr_t)p, none;

	/* A block that could not be aligned on request may be smaller, and aligned by chance. */
	if (a & (CP_HEAP_TAG_ALIGN - 1) || usable < CP_HEAP_TAG_MIN || usable > MOST)
		return false;
	cp_heap_hot_filter_add(a);
	for (unsigned i = 0; i < CP_HEAP_FREELIST; i++) {
		none = 0;
		/* Release: the thread that takes the block sees all writes to it by the allocator
		 * and by libcprof. */
		if (!cp_load_relaxed(&spares[i]) && cp_cas_acqrel(&spares[i], &none, a))
			return true;
	}
	cp_heap_hot_filter_remove(a);
	return false;
}

void *cp_heap_freelist_take(size_t size)
{
	uintptr_t a;

	for (unsigned i = 0; size <= CP_HEAP_TAG_MIN && i < CP_HEAP_FREELIST; i++) {
		/* Acquire: pairs with the release in keep. */
		a = cp_load_relaxed(&spares[i]) ? cp_exchange_acqrel(&spares[i], 0) : 0;
		if (!a)
			continue;
		cp_heap_hot_filter_remove(a);
		return (void *)a;
	}
	return NULL;
}

bool cp_heap_freelist_remove(const void *p)
{
	uintptr_t a = (uintptr_t)p, seen;

	for (unsigned i = 0; a && i < CP_HEAP_FREELIST; i++) {
		seen = a;
		if (cp_load_relaxed(&spares[i]) != a || !cp_cas_acqrel(&spares[i], &seen, 0))
			continue;
		cp_heap_hot_filter_remove(a);
		return true;
	}
	return false;
}
