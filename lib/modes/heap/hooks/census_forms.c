/* SPDX-License-Identifier: BSD-3-Clause */
/* Allocators' own operator new and delete while the page census is on; see census_calls.c. The C++
 * library's call malloc and free, which are hooked. */
#include "modes/heap/hooks/heap_hooks.h"

#include <string.h>

#include "modes/heap/allocator.h"
#include "modes/heap/signal/census.h"

static union form under[FORMS]; /* the allocator's operators; empty: not wrapped */

static inline __attribute__((always_inline)) void *track(void *p, size_t size)
{
	return cp_unlikely(cp_census_takes(p, size)) ? cp_census_track_new(p, size) : p;
}

static inline __attribute__((always_inline)) void untrack(void *p)
{
	struct cp_census_block b;

	if (cp_unlikely(cp_census_looks(p)))
		cp_census_remove((uintptr_t)p, &b);
}

#define NEW_FORM(form, parameters, arguments, member)                                              \
	static void *on_##form parameters                                                          \
	{                                                                                          \
		return track(under[form].member arguments, size);                                  \
	}
#define DELETE_FORM(form, parameters, arguments, member)                                           \
	static void on_##form parameters                                                           \
	{                                                                                          \
		untrack(p);                                                                        \
		under[form].member arguments;                                                      \
	}
#define NOTHROW (size_t size, const void *t)
#define ALIGNED (size_t size, size_t a)
#define BOTH (size_t size, size_t a, const void *t)
#define WITH (void *p, uintptr_t x)
#define WITH_BOTH (void *p, uintptr_t x, uintptr_t y)

/* clang-format off */
#define NEW_FORMS(X) \
	X(NEW, (size_t size), (size), plain) \
	X(NEW_ARRAY, (size_t size), (size), plain) \
	X(NEW_NOTHROW, NOTHROW, (size, t), nothrow) \
	X(NEW_ARRAY_NOTHROW, NOTHROW, (size, t), nothrow) \
	X(NEW_ALIGNED, ALIGNED, (size, a), aligned) \
	X(NEW_ARRAY_ALIGNED, ALIGNED, (size, a), aligned) \
	X(NEW_ALIGNED_NOTHROW, BOTH, (size, a, t), aligned_nothrow) \
	X(NEW_ARRAY_ALIGNED_NOTHROW, BOTH, (size, a, t), aligned_nothrow)
#define DELETE_FORMS(X) \
	X(DELETE, (void *p), (p), delete_plain) \
	X(DELETE_ARRAY, (void *p), (p), delete_plain) \
	X(DELETE_SIZED, WITH, (p, x), delete_with_one) \
	X(DELETE_ARRAY_SIZED, WITH, (p, x), delete_with_one) \
	X(DELETE_NOTHROW, WITH, (p, x), delete_with_one) \
	X(DELETE_ARRAY_NOTHROW, WITH, (p, x), delete_with_one) \
	X(DELETE_ALIGNED, WITH, (p, x), delete_with_one) \
	X(DELETE_ARRAY_ALIGNED, WITH, (p, x), delete_with_one) \
	X(DELETE_SIZED_ALIGNED, WITH_BOTH, (p, x, y), delete_with_two) \
	X(DELETE_ARRAY_SIZED_ALIGNED, WITH_BOTH, (p, x, y), delete_with_two) \
	X(DELETE_ALIGNED_NOTHROW, WITH_BOTH, (p, x, y), delete_with_two) \
	X(DELETE_ARRAY_ALIGNED_NOTHROW, WITH_BOTH, (p, x, y), delete_with_two)

NEW_FORMS(NEW_FORM)
DELETE_FORMS(DELETE_FORM)

#define ENTRY(form, parameters, arguments, member) [form] = { .member = on_##form },
static const union form ours[FORMS] = { NEW_FORMS(ENTRY) DELETE_FORMS(ENTRY) };
/* clang-format on */

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
		under[form] = cp_new_forms[form];
		__atomic_store_n(&cp_new_forms[form].plain, ours[form].plain, __ATOMIC_RELEASE);
	} else if (!on && cp_new_forms_is_wrapped(form)) {
		__atomic_store_n(&cp_new_forms[form].plain, under[form].plain, __ATOMIC_RELEASE);
	}
}

void cp_census_forms_switch_freeing(bool on)
{
	for (unsigned form = DELETE; form < FORMS; form++)
		switch_form(form, on);
}

void cp_census_forms_switch_allocating(bool on)
{
	for (unsigned form = 0; form < DELETE; form++)
		switch_form(form, on);
}
