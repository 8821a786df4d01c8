/* SPDX-License-Identifier: BSD-3-Clause */
/* malloc and related functions: each call is forwarded to the program's allocator. A sampled call
 * is recorded on the way (lib/modes/heap/signal/heap_signal.h).
 *
 * Each function is a few instructions that end in a jump to the allocator's function. Rare cases
 * are in separate functions that are not inlined, so that they cost the common case nothing. A rare
 * function is called in tail position, too, so the caller's frame is then the program's.
 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "host/host.h"
#include "modes/heap/allocator.h"
#include "modes/heap/signal/heap_exact.h"
#include "modes/heap/signal/heap_signal.h"

/* Not cold: when every allocation is sampled, all calls come here. */
#define RARE __attribute__((noinline))
#define CALLER __builtin_return_address(0)
#define HOT __attribute__((aligned(64)))

/* Declared here for libcs that lack them. */
INTERPOSE void cfree(void *p);
INTERPOSE void free_sized(void *p, size_t size);
INTERPOSE void free_aligned_sized(void *p, size_t alignment, size_t size);

static RARE void *malloc_sampled(size_t size)
{
	struct cp_heap_sample s;

	cp_allocator_resolve();
	if (!cp_heap_event_begin(&s, size, CALLER))
		return cp_heap_hot.malloc(size);
	return cp_heap_event_commit(&s, cp_heap_hot.malloc(size));
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

static RARE void *calloc_sampled(size_t n, size_t each, size_t size)
{
	struct cp_heap_sample s;

	cp_allocator_resolve();
	if (!cp_heap_event_begin(&s, size, CALLER))
		return cp_heap_hot.calloc(n, each);
	return cp_heap_event_commit(&s, cp_heap_hot.calloc(n, each));
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

/* WORD is as in cp_heap_exact_free. */
static RARE void free_rest(void *p, uint64_t word)
{
	/* A block in the table isn't from the arena. */
	if (word) {
		cp_heap_exact_free_rest(p, word);
	} else {
		if (cp_allocator_is_lent(p))
			return;
		cp_allocator_resolve();
		cp_heap_event_free(p);
	}
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

static RARE void free_sized_slow(void *p, size_t size)
{
	if (cp_allocator_is_lent(p))
		return;
	cp_allocator_resolve();
	cp_heap_event_free(p);
	if (cp_allocator.free_sized)
		cp_allocator.free_sized(p, size);
	else
		cp_heap_hot.free(p);
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
	cp_heap_event_free(p);
	if (cp_allocator.free_aligned_sized)
		cp_allocator.free_aligned_sized(p, alignment, size);
	else
		cp_heap_hot.free(p);
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
	return cp_heap_hot.usable_size(p);
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
	to = cp_heap_hot.realloc(p, size);
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

/* The functions that take an alignment. */

static void *refuse_alignment(void)
{
	errno = ENOMEM;
	return NULL;
}

/* Defines the interposed function NAME, which returns a block of SIZE bytes. */
#define ALIGNED(name, parameters, arguments)                                                       \
	static RARE void *name##_slow parameters                                                   \
	{                                                                                          \
		struct cp_heap_sample s;                                                           \
                                                                                                   \
		cp_allocator_resolve();                                                            \
		if (!cp_allocator.name)                                                            \
			return refuse_alignment();                                                 \
		if (!cp_heap_event_begin(&s, size, CALLER))                                        \
			return cp_allocator.name arguments;                                        \
		return cp_heap_event_commit(&s, cp_allocator.name arguments);                      \
	}                                                                                          \
                                                                                                   \
	INTERPOSE void *name parameters                                                            \
	{                                                                                          \
		if (cp_heap_takes(size) || !cp_allocator.name)                                     \
			return name##_slow arguments;                                              \
		return cp_allocator.name arguments;                                                \
	}

ALIGNED(memalign, (size_t alignment, size_t size), (alignment, size))
ALIGNED(aligned_alloc, (size_t alignment, size_t size), (alignment, size))
ALIGNED(valloc, (size_t size), (size))
ALIGNED(pvalloc, (size_t size), (size))

static RARE int posix_memalign_slow(void **to, size_t alignment, size_t size)
{
	struct cp_heap_sample s;
	int err;

	cp_allocator_resolve();
	if (!cp_allocator.posix_memalign)
		return ENOMEM;
	if (!cp_heap_event_begin(&s, size, CALLER))
		return cp_allocator.posix_memalign(to, alignment, size);
	err = cp_allocator.posix_memalign(to, alignment, size);
	if (!err)
		cp_heap_event_commit(&s, *to);
	return err;
}

INTERPOSE int posix_memalign(void **to, size_t alignment, size_t size)
{
	if (cp_heap_takes(size) || !cp_allocator.posix_memalign)
		return posix_memalign_slow(to, alignment, size);
	return cp_allocator.posix_memalign(to, alignment, size);
}
