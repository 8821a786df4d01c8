/* SPDX-License-Identifier: BSD-3-Clause */
/* malloc and related functions: each call is forwarded to the program's allocator. A sampled call
 * is recorded on the way (lib/modes/heap/signal/heap_event.h).
 *
 * Each function is a few instructions that end in a jump to the allocator's function. Rare cases
 * are in separate functions that are not inlined, so that they cost the common case nothing. A rare
 * function is called in tail position, too, so the caller's frame is then the program's.
 */
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "modes/heap/allocator.h"
#include "host/hooks/interpose.h"
#include "modes/heap/signal/census.h"
#include "modes/heap/signal/heap_event.h"
#include "modes/heap/signal/heap_exact.h"
#include "modes/heap/signal/heap_freelist.h"

/* Not cold: when every allocation is sampled, all calls come here. */
#define RARE __attribute__((noinline))
#define CALLER __builtin_return_address(0)
#define HOT __attribute__((aligned(64)))

/* Declared here for libcs that lack them. */
INTERPOSE void cfree(void *p);
INTERPOSE void free_sized(void *p, size_t size);
INTERPOSE void free_aligned_sized(void *p, size_t alignment, size_t size);

/* Returns SIZE bytes that free will recognize by their address. Returns NULL if that isn't possible
 * or there is no memory; the plain call that follows reports a lack of memory if it fails, too. */
static void *tagged(size_t size)
{
	size_t enough = size < CP_HEAP_TAG_MIN ? CP_HEAP_TAG_MIN : size;
	void *p;

	if (!cp_allocator_tags(size))
		return NULL;
	p = cp_heap_freelist_take(size);
	if (!p)
		return cp_allocator_try_aligned(CP_HEAP_TAG_ALIGN, enough);
	return cp_census_takes(p, enough) ? cp_census_track(p, enough) : p;
}

static RARE void *malloc_sampled(size_t size)
{
	struct cp_heap_sample s;
	void *p;

	cp_allocator_resolve();
	if (!cp_heap_event_begin(&s, size, CALLER))
		return cp_heap_hot.malloc(size);
	p = tagged(size);
	return cp_heap_event_commit(&s, p ? p : cp_heap_hot.malloc(size));
}

static RARE HOT void *malloc_slow(size_t size)
{
	void *p;

	if (cp_unlikely(!cp_heap_exact_is_on()))
		return malloc_sampled(size);
	p = cp_heap_hot.malloc(size);
	return cp_heap_exact_commit(p, size, cp_call_here());
}

INTERPOSE HOT void *malloc(size_t size)
{
	if (cp_heap_takes(size))
		return malloc_slow(size);
	return cp_heap_hot.malloc(size);
}

/* jemalloc gives zeroed memory with an alignment, without touching memory that is already zero. */
static void *large_tagged_zeros(size_t size)
{
	if (!cp_heap_hot_tags() || !cp_allocator.is_jemalloc || size > PTRDIFF_MAX)
		return NULL;
	return cp_allocator.mallocx(size, CP_HEAP_TAG_BITS | CP_MALLOCX_ZERO);
}

/* Clear the whole size that the program is told: allocators clear a block to its end, and a program
 * that asks for the usable size of a block from calloc may rely on that. */
static void *tagged_zeros(size_t size)
{
	size_t told;
	void *p;

	if (size >= CP_HEAP_LARGE)
		return large_tagged_zeros(size);
	told = cp_heap_event_told(size);
	p = tagged(told);
	return p ? memset(p, 0, told) : NULL;
}

static RARE void *calloc_sampled(size_t n, size_t each, size_t size)
{
	struct cp_heap_sample s;
	void *p;

	cp_allocator_resolve();
	if (!cp_heap_event_begin(&s, size, CALLER))
		return cp_heap_hot.calloc(n, each);
	p = tagged_zeros(size);
	return cp_heap_event_commit(&s, p ? p : cp_heap_hot.calloc(n, each));
}

static RARE HOT void *calloc_slow(size_t n, size_t each, size_t size)
{
	void *p;

	if (cp_unlikely(!cp_heap_exact_is_on()))
		return calloc_sampled(n, each, size);
	p = cp_heap_hot.calloc(n, each);
	return cp_heap_exact_commit(p, size, cp_call_here());
}

INTERPOSE HOT void *calloc(size_t n, size_t each)
{
	size_t size;

	/* An overflow counts as SIZE_MAX here; the allocator refuses it. */
	if (__builtin_mul_overflow(n, each, &size))
		size = SIZE_MAX;
	if (cp_heap_takes(size))
		return calloc_slow(n, each, size);
	return cp_heap_hot.calloc(n, each);
}

static void free_sampled(void *p)
{
	size_t usable;

	if (!cp_heap_hot_tags() || !cp_allocator.is_glibc || !cp_allocator.tells_size) {
		cp_heap_hot.free(p);
		return;
	}
	usable = cp_heap_hot.usable_size(p);
	/* Before it is kept, because another thread may take it at once. */
	cp_census_forget(p);
	if (!cp_heap_freelist_keep(p, usable))
		cp_heap_hot.free(p);
}

/* WORD: see cp_heap_exact_free. */
static RARE void free_rest(void *p, uint64_t word)
{
	/* A block in the table isn't from the arena. */
	if (word) {
		cp_heap_exact_free_rest(p, word);
		free_sampled(p);
		return;
	}
	if (cp_allocator_is_lent(p))
		return;
	cp_allocator_resolve();
	if (cp_heap_event_free(p)) {
		free_sampled(p);
		return;
	}
	/* A double free: pass both on, so that the allocator reports it. */
	if (cp_heap_freelist_remove(p))
		cp_heap_hot.free(p);
	cp_heap_hot.free(p);
}

static RARE HOT void free_slow(void *p)
{
	uint64_t word;

	if (cp_likely(cp_heap_exact_free(p, &word)))
		cp_heap_hot.free(p);
	else
		free_rest(p, word);
}

INTERPOSE HOT void free(void *p)
{
	if (cp_heap_looks(p))
		free_slow(p);
	else
		cp_heap_hot.free(p);
}

INTERPOSE void cfree(void *p)
{
	free(p);
}

/* A sampled block may be larger than requested, so the allocator must not be given the requested
 * size. That holds after a stop, too, and for a block that there was no memory to record. */
static RARE void free_sized_slow(void *p, size_t size)
{
	if (cp_allocator_is_lent(p))
		return;
	cp_allocator_resolve();
	if (cp_heap_event_free_sized(p) || !cp_allocator.free_sized)
		cp_heap_hot.free(p);
	else
		cp_allocator.free_sized(p, size);
}

INTERPOSE void free_sized(void *p, size_t size)
{
	if (cp_heap_looks(p))
		free_sized_slow(p, size);
	else if (cp_allocator.free_sized)
		cp_allocator.free_sized(p, size);
	else
		cp_heap_hot.free(p);
}

static RARE void free_aligned_slow(void *p, size_t alignment, size_t size)
{
	if (cp_allocator_is_lent(p))
		return;
	cp_allocator_resolve();
	if (cp_heap_event_free_sized(p) || !cp_allocator.free_aligned_sized)
		cp_heap_hot.free(p);
	else
		cp_allocator.free_aligned_sized(p, alignment, size);
}

INTERPOSE void free_aligned_sized(void *p, size_t alignment, size_t size)
{
	if (cp_heap_looks(p))
		free_aligned_slow(p, alignment, size);
	else if (cp_allocator.free_aligned_sized)
		cp_allocator.free_aligned_sized(p, alignment, size);
	else
		cp_heap_hot.free(p);
}

static RARE size_t usable_slow(void *p)
{
	if (cp_allocator_is_lent(p))
		return cp_allocator_lent_size(p);
	cp_allocator_resolve();
	return cp_heap_event_usable(p, cp_heap_hot.usable_size(p));
}

INTERPOSE HOT size_t malloc_usable_size(void *p)
{
	if (cp_heap_looks(p))
		return usable_slow(p);
	return cp_heap_hot.usable_size(p);
}

static void *move_lent(void *p, size_t size)
{
	size_t have = cp_allocator_lent_size(p);
	void *to = malloc(size);

	return to ? memcpy(to, p, have < size ? have : size) : NULL;
}

/* Returns a new block that free will recognize, with P's contents, and frees P. Returns NULL if
 * that isn't possible; then P is unchanged. */
static void *move_tagged(void *p, size_t size)
{
	void *to = size && size < CP_HEAP_LARGE && cp_allocator.tells_size ? tagged(size) : NULL;
	size_t have;

	if (!to || !p)
		return to;
	have = cp_heap_hot.usable_size(p);
	memcpy(to, p, have < size ? have : size);
	cp_heap_hot.free(p);
	return to;
}

static void *reallocate(void *p, size_t size, const struct cp_heap_sample *s)
{
	void *to = s ? move_tagged(p, size) : NULL;

	return to ? to : cp_heap_hot.realloc(p, size);
}

static RARE void *realloc_slow(void *p, size_t size, bool taken)
{
	struct cp_heap_sample s;
	struct cp_live_block old;
	bool sampled, tracked;
	void *to;

	if (cp_allocator_is_lent(p))
		return move_lent(p, size);
	cp_allocator_resolve();
	/* Take P out of the table before the allocator may give the address to another thread. */
	tracked = cp_heap_event_untrack(p, &old);
	sampled = taken && cp_heap_event_begin(&s, size, CALLER);
	to = reallocate(p, size, sampled ? &s : NULL);
	if (tracked && !to && size)
		cp_heap_event_retrack(p, &old);
	else if (tracked)
		cp_heap_event_untracked_freed(&old);
	return sampled ? cp_heap_event_commit(&s, to) : to;
}

INTERPOSE HOT void *realloc(void *p, size_t size)
{
	bool taken = cp_heap_takes(size);

	if (taken || cp_heap_looks(p))
		return realloc_slow(p, size, taken);
	return cp_heap_hot.realloc(p, size);
}

INTERPOSE void *reallocarray(void *p, size_t n, size_t each)
{
	size_t size;

	if (__builtin_mul_overflow(n, each, &size)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(p, size);
}
