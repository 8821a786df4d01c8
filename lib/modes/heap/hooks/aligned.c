/* SPDX-License-Identifier: BSD-3-Clause */
/* Interposed allocation functions that take an alignment; see malloc.c. */
#include <errno.h>
#include <malloc.h>
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
