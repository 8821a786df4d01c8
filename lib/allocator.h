/* The program's own allocator: every function of it that we interpose, as the program would have
 * got it without us, and who it is.
 *
 * Resolved at the first call of any of them, which is the dynamic loader's, long before our
 * constructor. While that lasts, what dlsym itself allocates comes from a small arena of ours.
 */
#ifndef CP_ALLOCATOR_H
#define CP_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sigsafe/heap_hot.h"

/* malloc, free, calloc, realloc and malloc_usable_size are in cp_heap_hot. Here, NULL: the program
 * has no such function. */
struct cp_allocator {
	void *(*memalign)(size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
	void (*free_sized)(void *, size_t);
	void (*free_aligned_sized)(void *, size_t, size_t);
	/* jemalloc's */
	void *(*mallocx)(size_t, int);
	void *(*rallocx)(void *, size_t, int);
	size_t (*xallocx)(void *, size_t, size_t, int);
	void (*dallocx)(void *, int);
	void (*sdallocx)(void *, size_t, int);
	/* It is glibc's: heap_spares.h is for that one. In others a program may discard blocks all
	 * at once (jemalloc's arenas), those that it has freed too. */
	bool is_glibc;
	/* posix_memalign, malloc_usable_size and mallocx belong to malloc. */
	bool aligns, tells_size, is_jemalloc;
};
/* Of jemalloc's interface: flags hold log2 of the alignment, and a bit for zeroes. */
#define CP_MALLOCX_ZERO 0x40
extern struct cp_allocator cp_allocator __attribute__((visibility("hidden")));

/* false: this thread is in the middle of it; use the arena. */
bool cp_allocator_resolve_now(void);
static inline bool cp_allocator_resolve(void)
{
	/* Acquire: who finds it known finds the functions. */
	return cp_likely(cp_load_acquire(&cp_heap_hot.state) != CP_HEAP_UNKNOWN) ||
	       cp_allocator_resolve_now();
}

/* NAME, which may have been loaded since, as the next definition after ours. Takes the loader's
 * lock: who holds it may wait for the calling thread. */
void *cp_allocator_next(const char *name);
/* Does F belong to the same module as malloc? Any context. */
bool cp_allocator_owns(const void *f);

/* Of our functions, those that do what one of the program's own would do, and call what that calls:
 * their frames are the program's. [low, high); before the first sample. */
#define CP_ALLOCATOR_OPERATORS 2
struct cp_allocator_operator {
	uintptr_t low, high;
};
extern struct cp_allocator_operator cp_allocator_operators[CP_ALLOCATOR_OPERATORS]
	__attribute__((visibility("hidden")));
static inline bool cp_allocator_is_operator(uint64_t pc)
{
	bool is = false;

	for (unsigned i = 0; i < CP_ALLOCATOR_OPERATORS; i++)
		is |= pc >= cp_allocator_operators[i].low && pc < cp_allocator_operators[i].high;
	return is;
}

/* "glibc", "jemalloc", "tcmalloc", "mimalloc", or the path of the module that defines malloc. */
const char *cp_allocator_name(void);
/* Calls of malloc by the program reach us: asked by one of our own. NULL: yes; else why not.
 * Ordinary context. */
const char *cp_allocator_unseen(void);

/* The arena: SIZE zeroed bytes, or NULL when it is used up; never given back. */
void *cp_allocator_early(size_t size);
#define CP_ALLOCATOR_EARLY_BYTES ((size_t)128 << 10)
extern char cp_allocator_arena[] __attribute__((visibility("hidden")));
static inline bool cp_allocator_is_early(const void *p)
{
	return (uintptr_t)p - (uintptr_t)cp_allocator_arena < CP_ALLOCATOR_EARLY_BYTES;
}
/* How many bytes from P on may be read. */
size_t cp_allocator_early_size(const void *p);

/* SIZE bytes at a multiple of ALIGNMENT, by the program's posix_memalign, which is there. NULL, and
 * errno as it was: there is no memory for so much, which doesn't say that there is none for less.
 */
void *cp_allocator_try_aligned(size_t alignment, size_t size);

#endif
