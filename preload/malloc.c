/* malloc and its kin: each call is forwarded to the program's allocator, whichever that is; a
 * sampled one is recorded on the way (lib/sigsafe/heap_event.h).
 *
 * Each function is a few instructions that end in a jump to the allocator's; what is rare is
 * apart, not inlined, so that it costs the others nothing. The rare part is called in tail
 * position, too: the caller's frame is then the program's.
 */
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "allocator.h"
#include "interpose.h"
#include "sigsafe/heap_event.h"
#include "sigsafe/heap_exact.h"
#include "sigsafe/heap_spares.h"

/* Not cold: where all is sampled, all comes here. */
#define RARE __attribute__((noinline))
#define CALLER __builtin_return_address(0)
#define HOT __attribute__((aligned(64)))

/* Declared here for libcs that lack them. */
INTERPOSE void cfree(void *p);
INTERPOSE void free_sized(void *p, size_t size);
INTERPOSE void free_aligned_sized(void *p, size_t alignment, size_t size);

/* SIZE bytes that free will know by their address; NULL: not possible, or no memory, which is for
 * the call itself to say, if it finds none either. */
static void *tagged(size_t size)
{
	size_t enough = size < CP_HEAP_TAG_MIN ? CP_HEAP_TAG_MIN : size;
	void *p;

	if (!cp_heap_hot_tags())
		return NULL;
	p = cp_heap_spares_take(size);
	return p ? p : cp_allocator_try_aligned(CP_HEAP_TAG_ALIGN, enough);
}

static RARE void *malloc_sampled(size_t size)
{
	struct cp_heap_sample s;
	void *p;

	if (!cp_allocator_resolve())
		return cp_allocator_early(size);
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

/* jemalloc gives zeroes with an alignment, without touching what is zero already. */
static void *large_tagged_zeros(size_t size)
{
	if (!cp_heap_hot_tags() || !cp_allocator.is_jemalloc || size > PTRDIFF_MAX)
		return NULL;
	return cp_allocator.mallocx(size, CP_HEAP_TAG_BITS | CP_MALLOCX_ZERO);
}

/* All that the program is told of: allocators clear a block to its end, and who asks for the size
 * of what calloc gave may count on that. */
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

	if (!cp_allocator_resolve())
		return cp_allocator_early(size);
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

	/* What overflows is SIZE_MAX to us; the allocator refuses it. */
	if (__builtin_mul_overflow(n, each, &size))
		size = SIZE_MAX;
	if (cp_heap_takes(size))
		return calloc_slow(n, each, size);
	return cp_heap_hot.calloc(n, each);
}

static void free_sampled(void *p)
{
	if (!cp_heap_hot_tags() || !cp_allocator.is_glibc || !cp_allocator.tells_size ||
	    !cp_heap_spares_keep(p, cp_heap_hot.usable_size(p)))
		cp_heap_hot.free(p);
}

/* WORD: see cp_heap_exact_free. */
static RARE void free_rest(void *p, uint64_t word)
{
	/* What is in the table is none of the arena's. */
	if (word) {
		cp_heap_exact_free_rest(p, word);
		free_sampled(p);
		return;
	}
	if (cp_allocator_is_early(p) || !cp_allocator_resolve())
		return;
	if (cp_heap_event_free(p)) {
		free_sampled(p);
		return;
	}
	/* Freed twice: that is for the allocator to tell. */
	if (cp_heap_spares_remove(p))
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

/* A sampled block is larger than was asked for: its size says nothing to the allocator. That is so
 * after a stop, too, and where there was no memory to keep it. */
static RARE void free_sized_slow(void *p, size_t size)
{
	if (cp_allocator_is_early(p) || !cp_allocator_resolve())
		return;
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
	if (cp_allocator_is_early(p) || !cp_allocator_resolve())
		return;
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
	if (cp_allocator_is_early(p))
		return cp_allocator_early_size(p);
	if (!cp_allocator_resolve())
		return 0;
	return cp_heap_event_usable(p, cp_heap_hot.usable_size(p));
}

INTERPOSE HOT size_t malloc_usable_size(void *p)
{
	if (cp_heap_looks(p))
		return usable_slow(p);
	return cp_heap_hot.usable_size(p);
}

static void *move_early(void *p, size_t size)
{
	size_t have = cp_allocator_early_size(p);
	void *to = malloc(size);

	return to ? memcpy(to, p, have < size ? have : size) : NULL;
}

/* A new block that free will know, with P's contents; P is freed. NULL: not possible, and P as it
 * was. */
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

	if (cp_allocator_is_early(p))
		return move_early(p, size);
	if (!cp_allocator_resolve())
		return cp_allocator_early(size);
	/* Out of the table before the allocator may give the address to somebody else. */
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
