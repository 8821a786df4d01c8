/* SPDX-License-Identifier: BSD-3-Clause */
/* jemalloc's own functions, for programs built to call them. Without jemalloc, these functions do
 * their documented work by means of malloc, because a program may find them here and call them. */

#include <malloc.h>
#include <stdlib.h>

#include "modes/heap/allocator.h"
#include "host/host.h"
#include "modes/heap/signal/heap_signal.h"

#define RARE __attribute__((noinline, cold))
#define CALLER __builtin_return_address(0)

/* Flags hold log2 of the alignment, and a bit that asks for zeroed memory. */
#define ALIGN_BITS 63
#define ZERO 0x40

INTERPOSE void *mallocx(size_t size, int flags);
INTERPOSE void *rallocx(void *p, size_t size, int flags);
INTERPOSE size_t xallocx(void *p, size_t size, size_t extra, int flags);
INTERPOSE void dallocx(void *p, int flags);
INTERPOSE void sdallocx(void *p, size_t size, int flags);

static size_t alignment_of(int flags)
{
	return (size_t)1 << (flags & ALIGN_BITS);
}

static void *without_jemalloc(size_t size, int flags)
{
	void *p = NULL;

	if (alignment_of(flags) <= _Alignof(max_align_t))
		return flags & ZERO ? calloc(1, size) : malloc(size);
	if (posix_memalign(&p, alignment_of(flags), size))
		return NULL;
	return flags & ZERO ? memset(p, 0, size) : p;
}

static RARE void *mallocx_slow(size_t size, int flags)
{
	struct cp_heap_sample s;

	if (!cp_heap_event_begin(&s, size, CALLER))
		return cp_allocator.mallocx(size, flags);
	return cp_heap_event_commit(&s, cp_allocator.mallocx(size, flags));
}

INTERPOSE void *mallocx(size_t size, int flags)
{
	if (!cp_allocator.mallocx)
		return without_jemalloc(size, flags);
	if (cp_heap_takes(size))
		return mallocx_slow(size, flags);
	return cp_allocator.mallocx(size, flags);
}

static RARE void *rallocx_slow(void *p, size_t size, int flags, bool taken)
{
	struct cp_live_block old;
	struct cp_heap_sample s;
	bool tracked = cp_heap_event_untrack(p, &old);
	bool sampled = taken && cp_heap_event_begin(&s, size, CALLER);
	void *to = cp_allocator.rallocx(p, size, flags);

	if (tracked && !to)
		cp_heap_event_retrack(p, &old);
	else if (tracked)
		cp_heap_event_untracked_freed(&old);
	return sampled ? cp_heap_event_commit(&s, to) : to;
}

INTERPOSE void *rallocx(void *p, size_t size, int flags)
{
	bool taken;

	if (!cp_allocator.rallocx)
		return realloc(p, size);
	taken = cp_heap_takes(size);
	if (taken || cp_heap_looks(p))
		return rallocx_slow(p, size, flags, taken);
	return cp_allocator.rallocx(p, size, flags);
}

/* xallocx grows and shrinks in place, so a block stays sampled or not sampled. In exact mode the
 * call counts as a free and an allocation, as for realloc. */
static RARE size_t xallocx_slow(void *p, size_t size, size_t extra, int flags, bool taken)
{
	struct cp_live_block old;
	struct cp_heap_sample s;
	bool tracked = cp_heap_event_untrack(p, &old);
	size_t now = cp_allocator.xallocx(p, size, extra, flags);

	if (!tracked)
		return now;
	if (now < size || !taken || !cp_heap_event_begin(&s, size, CALLER) || s.interval > 1) {
		cp_heap_event_retrack(p, &old);
		return now;
	}
	cp_heap_event_untracked_freed(&old);
	cp_heap_event_commit(&s, p);
	return now;
}

INTERPOSE size_t xallocx(void *p, size_t size, size_t extra, int flags)
{
	bool taken;

	if (!cp_allocator.xallocx)
		return malloc_usable_size(p);
	taken = cp_heap_takes(size);
	if (taken || cp_heap_looks(p))
		return xallocx_slow(p, size, extra, flags, taken);
	return cp_allocator.xallocx(p, size, extra, flags);
}

INTERPOSE void dallocx(void *p, int flags)
{
	if (!cp_allocator.dallocx) {
		free(p);
		return;
	}
	if (cp_heap_looks(p))
		cp_heap_event_free(p);
	cp_allocator.dallocx(p, flags);
}

INTERPOSE void sdallocx(void *p, size_t size, int flags)
{
	if (!cp_allocator.sdallocx) {
		free(p);
		return;
	}
	if (cp_heap_looks(p))
		cp_heap_event_free(p);
	cp_allocator.sdallocx(p, size, flags);
}
