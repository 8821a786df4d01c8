/* SPDX-License-Identifier: BSD-3-Clause */
/* The program's own allocator: every allocation function that libcprof interposes, as the program
 * would have got the function without libcprof, and the allocator's name.
 *
 * The first call of any interposed function resolves them all. The dynamic loader makes that call,
 * long before libcprof's constructor runs. Resolving allocates nothing.
 *
 * When libcprof has the loader open a library (unwind/library.h), the loader calls the interposed
 * malloc. The memory then comes from a small static arena, not from the program's allocator.
 */
#ifndef CP_ALLOCATOR_H
#define CP_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "modes/heap/signal/heap_hot.h"

/* malloc, free, calloc, realloc and malloc_usable_size are in cp_heap_hot. NULL here means that the
 * program has no such function. */
struct cp_allocator {
	void *(*memalign)(size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
	void (*free_sized)(void *, size_t);
	void (*free_aligned_sized)(void *, size_t, size_t);
	/* jemalloc's interface */
	void *(*mallocx)(size_t, int);
	void *(*rallocx)(void *, size_t, int);
	size_t (*xallocx)(void *, size_t, size_t, int);
	void (*dallocx)(void *, int);
	void (*sdallocx)(void *, size_t, int);
	/* The size of a block that would be given: tcmalloc's, mimalloc's; see usable.h. */
	size_t (*nallocx)(size_t, int);
	size_t (*good_size)(size_t);
	/* The allocator is glibc's; mallocx belongs to the same module as malloc. */
	bool is_glibc, is_jemalloc;
};
extern struct cp_allocator cp_allocator __attribute__((visibility("hidden")));

/* Resolve the allocator's functions. */
void cp_allocator_resolve_now(void);
static inline void cp_allocator_resolve(void)
{
	/* Acquire: a thread that sees a known state also sees the functions. */
	if (cp_unlikely(cp_load_acquire(&cp_heap_hot.state) == CP_HEAP_UNKNOWN))
		cp_allocator_resolve_now();
}
/* Let the loader have memory of the arena: sets cp_library_lend. In the constructor. */
void cp_allocator_prepare_loader(void);

/* Returns the next definition of NAME after libcprof's; the module may have been loaded since the
 * start. Takes the loader's lock, whose holder may be waiting for the calling thread. */
void *cp_allocator_next(const char *name);
/* Does F belong to the same module as malloc? Any context. */
bool cp_allocator_owns(const void *f);

/* Returns "glibc", "jemalloc", "tcmalloc", "mimalloc", or the path of the module that defines
 * malloc. */
const char *cp_allocator_name(void);
/* Do the program's calls of malloc come to libcprof first? Returns NULL if they do. Otherwise
 * returns the reason why libcprof may not see them: it does if the function that comes first calls
 * the next one. Ordinary context. */
const char *cp_allocator_in_front(void);

/* Is P a block of the arena? */
#define CP_ALLOCATOR_LENT_BYTES ((size_t)128 << 10)
extern char cp_allocator_arena[] __attribute__((visibility("hidden")));
static inline bool cp_allocator_is_lent(const void *p)
{
	return (uintptr_t)p - (uintptr_t)cp_allocator_arena < CP_ALLOCATOR_LENT_BYTES;
}
/* Returns how many bytes may be read from P on. */
size_t cp_allocator_lent_size(const void *p);

#endif
