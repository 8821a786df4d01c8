/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of lib/modes/heap/hooks/, by the file that implements them. */
#ifndef CP_MODES_HEAP_HOOKS_HEAP_HOOKS_H
#define CP_MODES_HEAP_HOOKS_HEAP_HOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* census_calls.c
 *
 * Hooks of the page census. preload/init.c calls prepare before the first run.
 */

void cp_census_calls_prepare(void);

/* The forms of operator new and delete, which new.c has, as X(form, symbol, parameters, arguments,
 * member of union form, the second and the third argument of the slow way). Those of the C++
 * library that may be passed over come first. */

/* clang-format off */
#define DIRECT_NEW_FORMS(X) \
	X(NEW, _Znwm, (size_t size), (size), plain, 0, NULL) \
	X(NEW_ARRAY, _Znam, (size_t size), (size), plain, 0, NULL)
#define OTHER_NEW_FORMS(X) \
	X(NEW_NOTHROW, _ZnwmRKSt9nothrow_t, (size_t size, const void *t), (size, t), nothrow, 0, t) \
	X(NEW_ARRAY_NOTHROW, _ZnamRKSt9nothrow_t, (size_t size, const void *t), (size, t), nothrow, 0, t) \
	X(NEW_ALIGNED, _ZnwmSt11align_val_t, (size_t size, size_t a), (size, a), aligned, a, NULL) \
	X(NEW_ARRAY_ALIGNED, _ZnamSt11align_val_t, (size_t size, size_t a), (size, a), aligned, a, NULL) \
	X(NEW_ALIGNED_NOTHROW, _ZnwmSt11align_val_tRKSt9nothrow_t, \
	  (size_t size, size_t a, const void *t), (size, a, t), aligned_nothrow, a, t) \
	X(NEW_ARRAY_ALIGNED_NOTHROW, _ZnamSt11align_val_tRKSt9nothrow_t, \
	  (size_t size, size_t a, const void *t), (size, a, t), aligned_nothrow, a, t)
#define DELETE_FORMS(X) \
	X(DELETE, _ZdlPv, (void *p), (p), delete_plain, 0, 0) \
	X(DELETE_ARRAY, _ZdaPv, (void *p), (p), delete_plain, 0, 0) \
	X(DELETE_SIZED, _ZdlPvm, (void *p, uintptr_t x), (p, x), delete_with_one, x, 0) \
	X(DELETE_ARRAY_SIZED, _ZdaPvm, (void *p, uintptr_t x), (p, x), delete_with_one, x, 0) \
	X(DELETE_NOTHROW, _ZdlPvRKSt9nothrow_t, (void *p, uintptr_t x), (p, x), delete_with_one, x, 0) \
	X(DELETE_ARRAY_NOTHROW, _ZdaPvRKSt9nothrow_t, (void *p, uintptr_t x), (p, x), delete_with_one, x, 0) \
	X(DELETE_ALIGNED, _ZdlPvSt11align_val_t, (void *p, uintptr_t x), (p, x), delete_with_one, x, 0) \
	X(DELETE_ARRAY_ALIGNED, _ZdaPvSt11align_val_t, (void *p, uintptr_t x), (p, x), delete_with_one, x, 0) \
	X(DELETE_SIZED_ALIGNED, _ZdlPvmSt11align_val_t, (void *p, uintptr_t x, uintptr_t y), (p, x, y), delete_with_two, x, y) \
	X(DELETE_ARRAY_SIZED_ALIGNED, _ZdaPvmSt11align_val_t, (void *p, uintptr_t x, uintptr_t y), (p, x, y), delete_with_two, x, y) \
	X(DELETE_ALIGNED_NOTHROW, _ZdlPvSt11align_val_tRKSt9nothrow_t, (void *p, uintptr_t x, uintptr_t y), (p, x, y), delete_with_two, x, y) \
	X(DELETE_ARRAY_ALIGNED_NOTHROW, _ZdaPvSt11align_val_tRKSt9nothrow_t, (void *p, uintptr_t x, uintptr_t y), (p, x, y), delete_with_two, x, y)
#define NEW_FORMS(X) DIRECT_NEW_FORMS(X) OTHER_NEW_FORMS(X)

#define FORM(form, symbol, parameters, arguments, member, second, third) form,
enum { NEW_FORMS(FORM) DELETE_FORMS(FORM) FORMS };
#undef FORM
/* clang-format on */

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
