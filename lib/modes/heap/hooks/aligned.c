/* SPDX-License-Identifier: BSD-3-Clause */
/* Interposed allocation functions that take an alignment; see malloc.c. */
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>

#include "modes/heap/allocator.h"
#include "host/hooks/interpose.h"
#include "modes/heap/signal/heap_event.h"

#define RARE __attribute__((noinline, cold))
#define CALLER __builtin_return_address(0)

/* Returns an alignment for SIZE bytes that is at least as good and that free recognizes. Returns an
 * ALIGNMENT that isn't a power of two unchanged, for the allocator to judge. */
static size_t better(size_t alignment, size_t size)
{
	bool power = alignment && !(alignment & (alignment - 1));

	return power && alignment < CP_HEAP_TAG_ALIGN && cp_allocator_tags(size) ? CP_HEAP_TAG_ALIGN
										 : alignment;
}

/* Some allocators require a multiple of the alignment. */
static size_t enough(size_t size)
{
	if (!cp_allocator_tags(size) || size > SIZE_MAX - CP_HEAP_TAG_ALIGN)
		return size;
	return size ? (size + CP_HEAP_TAG_ALIGN - 1) & ~(CP_HEAP_TAG_ALIGN - 1) : CP_HEAP_TAG_ALIGN;
}

static void *refuse(void)
{
	errno = ENOMEM;
	return NULL;
}

typedef void *(*aligned_function)(size_t, size_t);

static void *sample(const struct cp_heap_sample *s, aligned_function allocate, size_t alignment)
{
	int saved = errno;
	void *p = allocate(better(alignment, s->size), enough(s->size));

	if (p)
		return p;
	errno = saved;
	return allocate(alignment, s->size);
}

static int posix_sample(const struct cp_heap_sample *s, void **to, size_t alignment)
{
	/* An alignment below a pointer's size is an error and stays one. */
	void *p = alignment < sizeof(void *)
			  ? NULL
			  : cp_allocator_try_aligned(better(alignment, s->size), enough(s->size));

	if (!p)
		return cp_allocator.posix_memalign(to, alignment, s->size);
	*to = p;
	return 0;
}

static RARE void *memalign_slow(size_t alignment, size_t size)
{
	struct cp_heap_sample s;

	cp_allocator_resolve();
	if (!cp_allocator.memalign)
		return refuse();
	if (!cp_heap_event_begin(&s, size, CALLER))
		return cp_allocator.memalign(alignment, size);
	return cp_heap_event_commit(&s, sample(&s, cp_allocator.memalign, alignment));
}

INTERPOSE void *memalign(size_t alignment, size_t size)
{
	if (cp_heap_takes(size) || !cp_allocator.memalign)
		return memalign_slow(alignment, size);
	return cp_allocator.memalign(alignment, size);
}

static RARE void *aligned_alloc_slow(size_t alignment, size_t size)
{
	struct cp_heap_sample s;

	cp_allocator_resolve();
	if (!cp_allocator.aligned_alloc)
		return refuse();
	if (!cp_heap_event_begin(&s, size, CALLER))
		return cp_allocator.aligned_alloc(alignment, size);
	return cp_heap_event_commit(&s, sample(&s, cp_allocator.aligned_alloc, alignment));
}

INTERPOSE void *aligned_alloc(size_t alignment, size_t size)
{
	if (cp_heap_takes(size) || !cp_allocator.aligned_alloc)
		return aligned_alloc_slow(alignment, size);
	return cp_allocator.aligned_alloc(alignment, size);
}

static RARE int posix_memalign_slow(void **to, size_t alignment, size_t size)
{
	struct cp_heap_sample s;
	int err;

	cp_allocator_resolve();
	if (!cp_allocator.posix_memalign)
		return ENOMEM;
	if (!cp_heap_event_begin(&s, size, CALLER))
		return cp_allocator.posix_memalign(to, alignment, size);
	err = posix_sample(&s, to, alignment);
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

/* The block is page-aligned anyway, so free recognizes it. */
static RARE void *valloc_slow(size_t size)
{
	struct cp_heap_sample s;

	cp_allocator_resolve();
	if (!cp_allocator.valloc)
		return refuse();
	if (!cp_heap_event_begin(&s, size, CALLER))
		return cp_allocator.valloc(size);
	return cp_heap_event_commit(&s, cp_allocator.valloc(size));
}

INTERPOSE void *valloc(size_t size)
{
	if (cp_heap_takes(size) || !cp_allocator.valloc)
		return valloc_slow(size);
	return cp_allocator.valloc(size);
}

static RARE void *pvalloc_slow(size_t size)
{
	struct cp_heap_sample s;

	cp_allocator_resolve();
	if (!cp_allocator.pvalloc)
		return refuse();
	if (!cp_heap_event_begin(&s, size, CALLER))
		return cp_allocator.pvalloc(size);
	return cp_heap_event_commit(&s, cp_allocator.pvalloc(size));
}

INTERPOSE void *pvalloc(size_t size)
{
	if (cp_heap_takes(size) || !cp_allocator.pvalloc)
		return pvalloc_slow(size);
	return cp_allocator.pvalloc(size);
}
