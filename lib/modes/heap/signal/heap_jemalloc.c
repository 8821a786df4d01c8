/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions that jemalloc's hooks call; see heap_signal.h. */
#include "modes/heap/signal/heap_signal.h"

#include "modes/heap/signal/census.h"

/* Numbers of jemalloc's enum hook_alloc_e. All other functions have the size as their first
 * argument. */
enum { POSIX_MEMALIGN = 1, ALIGNED_ALLOC, CALLOC, MEMALIGN };
enum { EXPAND_XALLOCX = 2 };

unsigned cp_heap_jemalloc_realloc;
uint64_t cp_heap_jemalloc_interval;

/* Returns the size that the program requested, so that profiles from hooks and from interposed
 * functions agree. */
static size_t size_of(unsigned type, const uintptr_t args[3])
{
	switch (type) {
	case POSIX_MEMALIGN: return args[2];
	case CALLOC: return args[0] * args[1]; /* the call succeeded, so this doesn't overflow */
	case ALIGNED_ALLOC:
	case MEMALIGN: return args[1];
	default: return args[type >= cp_heap_jemalloc_realloc];
	}
}

void cp_heap_jemalloc_alloc(void *extra, unsigned type, void *result, uintptr_t raw,
			    const uintptr_t args[3])
{
	struct cp_heap_sample s;
	size_t size;

	if (!result)
		return;
	size = size_of(type, args);
	if (cp_census_takes(result, size))
		cp_census_track(result, size);
	if (cp_heap_takes(size) && cp_heap_event_begin(&s, size, __builtin_return_address(0)))
		cp_heap_event_commit(&s, result);
}

void cp_heap_jemalloc_dalloc(void *extra, unsigned type, void *address, const uintptr_t args[3])
{
	if (cp_census_looks(address))
		cp_census_remove((uintptr_t)address, &(struct cp_census_block){ 0 });
	if (cp_heap_looks(address))
		cp_heap_event_free(address);
}

/* Counts as a free and an allocation, as realloc and xallocx in lib/modes/heap/hooks do. An xallocx
 * counts only if every allocation is sampled. */
void cp_heap_jemalloc_expand(void *extra, unsigned type, void *address, size_t before, size_t after,
			     uintptr_t raw, const uintptr_t args[4])
{
	struct cp_live_block old;
	struct cp_heap_sample s;
	size_t size = args[1];
	bool in_place = type == EXPAND_XALLOCX, taken = cp_heap_takes(size), tracked;

	if (cp_census_looks(address))
		cp_census_remove((uintptr_t)address, &(struct cp_census_block){ 0 });
	if (cp_census_takes(address, size))
		cp_census_track(address, size);
	tracked = cp_heap_event_untrack(address, &old);
	if (in_place && !tracked)
		return;
	taken = taken && !(in_place && after < size) &&
		cp_heap_event_begin(&s, size, __builtin_return_address(0));
	if (in_place && (!taken || s.interval > 1)) {
		cp_heap_event_retrack(address, &old);
		return;
	}
	if (tracked)
		cp_heap_event_untracked_freed(&old);
	if (taken)
		cp_heap_event_commit(&s, address);
}

void cp_heap_jemalloc_sampled(const void *p, size_t size, void **frames, unsigned depth,
			      size_t usable)
{
	struct cp_live_block old;
	bool known = cp_heap_event_untrack((void *)(uintptr_t)p, &old);

	/* A realloc in place: jemalloc reports the new sample before it ends the old one. */
	if (known)
		cp_heap_event_untracked_freed(&old);
	cp_self.heap.resampled = known ? (uintptr_t)p : 0;
	cp_heap_event_commit_other((void *)(uintptr_t)p, usable, cp_heap_jemalloc_interval,
				   __builtin_return_address(0));
}

void cp_heap_jemalloc_freed(const void *p, size_t usable)
{
	bool is_old = cp_self.heap.resampled == (uintptr_t)p;

	cp_self.heap.resampled = 0;
	if (!is_old)
		cp_heap_event_free((void *)(uintptr_t)p);
}

void cp_heap_jemalloc_backtrace(void **frames, unsigned *depth, unsigned most)
{
	struct cp_regs regs = { 0 };

	cp_regs_here(&regs);
	/* The first frame is this function's own. */
	*depth = cp_capture_here(&regs, 1, frames, most);
	if (*depth || !most)
		return;
	frames[0] = __builtin_return_address(0);
	*depth = 1;
}
