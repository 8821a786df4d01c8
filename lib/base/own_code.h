/* SPDX-License-Identifier: BSD-3-Clause */
/* libcprof's code within a program that is linked with libcprof.a: a section of its own
 * (preload/static/libcprof.lds). Any context. */
#ifndef CP_OWN_CODE_H
#define CP_OWN_CODE_H

#include <stdbool.h>
#include <stdint.h>

/* The linker's; both NULL in libcprof.so, whose code is a module's. */
extern const char __start_cp_static_text[] __attribute__((weak, visibility("hidden")));
extern const char __stop_cp_static_text[] __attribute__((weak, visibility("hidden")));

/* Is this a program that is linked with libcprof.a? */
#define CP_OWN_CODE_IS_STATIC ((uintptr_t)__start_cp_static_text != 0)

/* Is ADDRESS in the section? */
static inline bool cp_own_code_has(uint64_t address)
{
	uint64_t low = (uintptr_t)__start_cp_static_text;

	return address - low < (uintptr_t)__stop_cp_static_text - low;
}

#endif
