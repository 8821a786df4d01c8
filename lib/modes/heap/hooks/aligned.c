/* SPDX-License-Identifier: BSD-3-Clause */
/* Interposed allocation functions that take an alignment; see malloc.c. */
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>

#include "modes/heap/allocator.h"
#include "host/host.h"
#include "modes/heap/signal/heap_signal.h"

#define RARE __attribute__((noinline, cold))
#define CALLER __builtin_return_address(0)

static void *refuse_alignment(void)
{
	errno = ENOMEM;
	return NULL;
}

static RARE void *memalign_slow(size_t alignment, size_t size)
{
	struct cp_heap_sample s;

	cp_allocator_resolve();
	if (!cp_allocator.memalign)
		return refuse_alignment();
	if (!cp_heap_event_begin(&s, size, CALLER))
		return cp_allocator.memalign(alignment, size);
	return cp_heap_event_commit(&s, cp_allocator.memalign(alignment, size));
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
		return refuse_alignment();
	if (!cp_heap_event_begin(&s, size, CALLER))
		return cp_allocator.aligned_alloc(alignment, size);
	return cp_heap_event_commit(&s, cp_allocator.aligned_alloc(alignment, size));
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

static RARE void *valloc_slow(size_t size)
{
	struct cp_heap_sample s;

	cp_allocator_resolve();
	if (!cp_allocator.valloc)
		return refuse_alignment();
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
		return refuse_alignment();
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
