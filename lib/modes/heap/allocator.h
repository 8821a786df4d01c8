/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of lib/modes/heap/, by the file that implements them. */
#ifndef CP_MODES_HEAP_ALLOCATOR_H
#define CP_MODES_HEAP_ALLOCATOR_H

#include "modes/heap/signal/heap_hot.h"

/* allocator.c
 *
 * The program's own allocator: every allocation function that libcprof interposes, as the program
 * would have got the function without libcprof, and the allocator's name.
 *
 * The first call of any interposed function resolves them all. The dynamic loader makes that call,
 * long before libcprof's constructor runs. Resolving allocates nothing.
 *
 * When libcprof has the loader open a library (unwind/unwind.h), the loader calls the interposed
 * malloc. The memory then comes from a small static arena, not from the program's allocator.
 */

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
	/* The size of a block that would be given: tcmalloc's, mimalloc's; see heap_views.c. */
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
/* Returns the functions that the hooks call, without those that lend memory of the arena: the page
 * census stands in front of them. */
struct cp_heap_hot cp_allocator_functions(void);
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

/* jemalloc_hooks.c
 *
 * The unwinder of jemalloc's own profiler.
 *
 * jemalloc unwinds by libgcc or libunwind, which take locks and allocate: with many threads,
 * exceptions and dlopen, programs crash or hang there. jemalloc 5.3.0 and later take another
 * unwinder (experimental.hooks.prof_backtrace). A program whose jemalloc profiles itself
 * (opt.prof) gets libcprof's.
 */

/* Set libcprof's unwinder in jemalloc, if there is one that profiles itself. IN_FILE: also look for
 * a jemalloc that is only in the symbol table of the program's file, which takes long. Returns true
 * if the unwinder is set. In the constructor. */
bool cp_jemalloc_hooks_backtrace(bool in_file);

/* Hooks into a jemalloc that is linked into the program, where nothing can be interposed. jemalloc
 * is found by its mallctl, and its experimental hooks (5.2 and later) are installed: those of each
 * allocation or, where these are gone (after 5.3.1), those of the blocks that jemalloc samples
 * itself.
 *
 * Building needs nothing of jemalloc. Running needs nothing of jemalloc if the program has none.
 */

typedef int cp_jemalloc_mallctl(const char *, void *, size_t *, void *, size_t);

/* Return the mallctl of the process's jemalloc, whether or not its allocations are interposed; NULL
 * if there is none. IN_FILE: search the symbol table of the program's file, too. Ordinary context.
 */
cp_jemalloc_mallctl *cp_jemalloc_hooks_mallctl(bool in_file);

/* Look for jemalloc, once. Ordinary context, without the collector's lock, because the search takes
 * the loader's lock. */
void cp_jemalloc_hooks_find(void);
/* Install the hooks, if jemalloc was found. Call with the collector's lock held. */
void cp_jemalloc_hooks_start(void);
void cp_jemalloc_hooks_stop(void);

/* Returns jemalloc's version ("5.3.0") if this run, or the run that just ended, has hooks
 * installed; else NULL. */
const char *cp_jemalloc_hooks_version(void);
/* Returns the mean bytes between jemalloc's own samples, if only these are seen; else 0. */
uint64_t cp_jemalloc_hooks_interval(void);
/* Returns why the hooks of a jemalloc that was found can't be used; else NULL. */
const char *cp_jemalloc_hooks_unusable(void);

/* heap_views.c
 *
 * The bytes that the program's allocator gives for a request, which it rounds up.
 *
 * The dump asks under the collector's lock, when the block may have been freed. So the answer is
 * computed from the size, as the allocator does, and not read from the block. */

/* The size classes of glibc (2.26 on, 64 bits) and jemalloc (4 on), for tests. */
uint64_t cp_heap_views_usable_glibc(uint64_t size, uint64_t address);
uint64_t cp_heap_views_usable_jemalloc(uint64_t size);

#endif
