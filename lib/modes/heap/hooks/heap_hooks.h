/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of lib/modes/heap/hooks/, by the file that implements them. */
#ifndef CP_MODES_HEAP_HOOKS_HEAP_HOOKS_H
#define CP_MODES_HEAP_HOOKS_HEAP_HOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* census_calls.c
 *
 * Hooks of the page census: census_calls.c for C's functions, census_forms.c for C++'s operators.
 * preload/init.c calls prepare before the first run.
 */

void cp_census_calls_prepare(void);

/* Make the allocator's own operators track blocks, or stop them. */
void cp_census_forms_switch_freeing(bool on);
void cp_census_forms_switch_allocating(bool on);

/* The forms of operator new and delete; new.c has them. */

enum {
	NEW,
	NEW_ARRAY,
	NEW_NOTHROW,
	NEW_ARRAY_NOTHROW,
	NEW_ALIGNED,
	NEW_ARRAY_ALIGNED,
	NEW_ALIGNED_NOTHROW,
	NEW_ARRAY_ALIGNED_NOTHROW,
	DELETE,
	DELETE_ARRAY,
	DELETE_SIZED,
	DELETE_ARRAY_SIZED,
	DELETE_NOTHROW,
	DELETE_ARRAY_NOTHROW,
	DELETE_ALIGNED,
	DELETE_ARRAY_ALIGNED,
	DELETE_SIZED_ALIGNED,
	DELETE_ARRAY_SIZED_ALIGNED,
	DELETE_ALIGNED_NOTHROW,
	DELETE_ARRAY_ALIGNED_NOTHROW,
	FORMS
};

/* Every form takes its arguments in this order, so one type serves each kind. */
union form {
	void *(*plain)(size_t);
	void *(*nothrow)(size_t, const void *);
	void *(*aligned)(size_t, size_t);
	void *(*aligned_nothrow)(size_t, size_t, const void *);
	void (*delete_plain)(void *);
	void (*delete_with_one)(void *, uintptr_t);
	void (*delete_with_two)(void *, uintptr_t, uintptr_t);
};

/* The functions that follow libcprof's, or those of the census that call them. */
extern union form cp_new_forms[FORMS] __attribute__((visibility("hidden")));

/* Is FORM the allocator's operator, called through the census's function? */
bool cp_new_forms_is_wrapped(unsigned form);

#endif
