/* SPDX-License-Identifier: BSD-3-Clause */
/* The allocator's functions while the page census is on (signal/census.h): the hooks call these
 * through the same pointers, so the census costs nothing while it is off. Each one calls the
 * allocator's own function, and tracks the block if one of its pages is watched.
 */
#include "modes/heap/hooks/heap_hooks.h"

#include <errno.h>
#include <string.h>

#include "modes/heap/allocator.h"
#include "modes/heap/signal/census.h"

static struct cp_heap_hot under; /* the allocator's functions */
static struct cp_allocator under_aligned;

static inline __attribute__((always_inline)) void *track(void *p, size_t size)
{
	return cp_unlikely(cp_census_takes(p, size)) ? cp_census_track(p, size) : p;
}

static __attribute__((noinline)) void untrack_rare(void *p)
{
	struct cp_census_block b;

	cp_census_remove((uintptr_t)p, &b);
}

static inline __attribute__((always_inline)) void untrack(void *p)
{
	if (cp_unlikely(cp_census_looks(p)))
		untrack_rare(p);
}

static __attribute__((aligned(64))) void *census_malloc(size_t size)
{
	return track(under.malloc(size), size);
}

static __attribute__((aligned(64))) void census_free(void *p)
{
	untrack(p);
	under.free(p);
}

static void *census_calloc(size_t n, size_t each)
{
	/* If the product overflows, the call fails and there is no block. */
	return track(under.calloc(n, each), n * each);
}

/* OLD was taken out before the call, and RESULT says what became of it: moved or resized if TO,
 * else unchanged or, if SIZE is 0, freed. */
static void *resized(void *p, const struct cp_census_block *old, void *to, size_t size)
{
	if (old && !to && size)
		cp_census_add((uintptr_t)p, old);
	return to ? track(to, size) : NULL;
}

static void *census_realloc(void *p, size_t size)
{
	struct cp_census_block old;
	bool had = cp_unlikely(cp_census_looks(p)) && cp_census_remove((uintptr_t)p, &old);

	return resized(p, had ? &old : NULL, under.realloc(p, size), size);
}

/* Defines census_NAME, which allocates SIZE bytes. */
#define TRACKED(name, parameters, arguments)                                                       \
	static void *census_##name parameters                                                      \
	{                                                                                          \
		return track(under_aligned.name arguments, size);                                  \
	}

TRACKED(memalign, (size_t alignment, size_t size), (alignment, size))
TRACKED(aligned_alloc, (size_t alignment, size_t size), (alignment, size))
TRACKED(valloc, (size_t size), (size))
TRACKED(pvalloc, (size_t size), (size))
TRACKED(mallocx, (size_t size, int flags), (size, flags))

/* Defines census_NAME, which frees P. */
#define UNTRACKED(name, parameters, arguments)                                                     \
	static void census_##name parameters                                                       \
	{                                                                                          \
		untrack(p);                                                                        \
		under_aligned.name arguments;                                                      \
	}

UNTRACKED(free_sized, (void *p, size_t size), (p, size))
UNTRACKED(free_aligned_sized, (void *p, size_t alignment, size_t size), (p, alignment, size))
UNTRACKED(dallocx, (void *p, int flags), (p, flags))
UNTRACKED(sdallocx, (void *p, size_t size, int flags), (p, size, flags))

static int census_posix_memalign(void **to, size_t alignment, size_t size)
{
	int err = under_aligned.posix_memalign(to, alignment, size);

	if (!err)
		track(*to, size);
	return err;
}

static void *census_rallocx(void *p, size_t size, int flags)
{
	struct cp_census_block old;
	bool had = cp_unlikely(cp_census_looks(p)) && cp_census_remove((uintptr_t)p, &old);

	return resized(p, had ? &old : NULL, under_aligned.rallocx(p, size, flags), size);
}

static size_t census_xallocx(void *p, size_t size, size_t extra, int flags)
{
	struct cp_census_block old;
	bool had = cp_unlikely(cp_census_looks(p)) && cp_census_remove((uintptr_t)p, &old);
	size_t now = under_aligned.xallocx(p, size, extra, flags);

	if (now >= size)
		track(p, size);
	else if (had)
		cp_census_add((uintptr_t)p, &old);
	return now;
}

/* Each pointer is stored once, because other threads call through it. */
#define SET(of, from, field, to)                                                                   \
	__atomic_store_n(&(of).field, (from).field ? (to) : NULL, __ATOMIC_RELEASE)
#define ALIGNED(of, field, to) SET(of, under_aligned, field, on ? (to) : under_aligned.field)

/* A tracked block must be seen when it is freed, so freeing is switched on first and off last. */
static void switch_freeing(bool on)
{
	SET(cp_heap_hot, under, free, on ? census_free : under.free);
	ALIGNED(cp_allocator, free_sized, census_free_sized);
	ALIGNED(cp_allocator, free_aligned_sized, census_free_aligned_sized);
	ALIGNED(cp_allocator, dallocx, census_dallocx);
	ALIGNED(cp_allocator, sdallocx, census_sdallocx);
}

static void switch_allocating(bool on)
{
	SET(cp_heap_hot, under, malloc, on ? census_malloc : under.malloc);
	SET(cp_heap_hot, under, calloc, on ? census_calloc : under.calloc);
	SET(cp_heap_hot, under, realloc, on ? census_realloc : under.realloc);
	ALIGNED(cp_allocator, memalign, census_memalign);
	ALIGNED(cp_allocator, aligned_alloc, census_aligned_alloc);
	ALIGNED(cp_allocator, posix_memalign, census_posix_memalign);
	ALIGNED(cp_allocator, valloc, census_valloc);
	ALIGNED(cp_allocator, pvalloc, census_pvalloc);
	ALIGNED(cp_allocator, mallocx, census_mallocx);
	ALIGNED(cp_allocator, rallocx, census_rallocx);
	ALIGNED(cp_allocator, xallocx, census_xallocx);
}

/* Allocators' own operator new and delete. The C++ library's call malloc and free, which are
 * hooked. */

static union form under_forms[FORMS]; /* the allocator's operators; empty: not wrapped */

static inline __attribute__((always_inline)) void *track_new(void *p, size_t size)
{
	return cp_unlikely(cp_census_takes(p, size)) ? cp_census_track_new(p, size) : p;
}

#define NEW_FORM(form, symbol, parameters, arguments, member, alignment, nothrow)                  \
	static void *on_##form parameters                                                          \
	{                                                                                          \
		return track_new(under_forms[form].member arguments, size);                        \
	}
#define DELETE_FORM(form, symbol, parameters, arguments, member, first, second)                    \
	static void on_##form parameters                                                           \
	{                                                                                          \
		untrack(p);                                                                        \
		under_forms[form].member arguments;                                                \
	}
NEW_FORMS(NEW_FORM)
DELETE_FORMS(DELETE_FORM)

#define ENTRY(form, symbol, parameters, arguments, member, second, third)                          \
	[form] = { .member = on_##form },
static const union form ours[FORMS] = { NEW_FORMS(ENTRY) DELETE_FORMS(ENTRY) };

bool cp_new_forms_is_wrapped(unsigned form)
{
	return cp_new_forms[form].plain == ours[form].plain;
}

/* One store for each form, because other threads call through it. */
static void switch_form(unsigned form, bool on)
{
	void *f;

	memcpy(&f, &cp_new_forms[form], sizeof(f));
	if (on && !cp_new_forms_is_wrapped(form) && f && cp_allocator_owns(f)) {
		under_forms[form] = cp_new_forms[form];
		__atomic_store_n(&cp_new_forms[form].plain, ours[form].plain, __ATOMIC_RELEASE);
	} else if (!on && cp_new_forms_is_wrapped(form)) {
		__atomic_store_n(&cp_new_forms[form].plain, under_forms[form].plain,
				 __ATOMIC_RELEASE);
	}
}

static void switch_freeing_forms(bool on)
{
	for (unsigned form = DELETE; form < FORMS; form++)
		switch_form(form, on);
}

static void switch_allocating_forms(bool on)
{
	for (unsigned form = 0; form < DELETE; form++)
		switch_form(form, on);
}

static void switch_all(bool on)
{
	static bool is_on;

	if (on == is_on)
		return;
	is_on = on;
	if (on) {
		under = cp_allocator_functions();
		under_aligned = cp_allocator;
		switch_freeing(true);
		switch_freeing_forms(true);
		switch_allocating(true);
		switch_allocating_forms(true);
		return;
	}
	switch_allocating_forms(false);
	switch_allocating(false);
	switch_freeing_forms(false);
	switch_freeing(false);
}

void cp_census_calls_prepare(void)
{
	cp_census_switch = switch_all;
}
