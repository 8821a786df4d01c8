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

#define NEW_FORM(form, symbol, parameters, arguments, member, alignment, nothrow)                  \
	static void *on_##form parameters                                                          \
	{                                                                                          \
		return track(under[form].member arguments, size);                                  \
	}
#define DELETE_FORM(form, symbol, parameters, arguments, member, first, second)                    \
	static void on_##form parameters                                                           \
	{                                                                                          \
		untrack(p);                                                                        \
		under[form].member arguments;                                                      \
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
