/* SPDX-License-Identifier: BSD-3-Clause */
/* See allocator.h. */
#include "modes/heap/allocator.h"

#include "cp-build.h"

#include <stddef.h>

#include "modes/heap/signal/heap_signal.h"
#include "unwind/unwind.h"

#ifdef CP_WITHOUT_JEMALLOC

bool cp_jemalloc_backtrace_begin(bool in_file)
{
	(void)in_file;
	return false;
}

#else

#define HOOK "experimental.hooks.prof_backtrace"

bool cp_jemalloc_backtrace_begin(bool in_file)
{
	cp_jemalloc_mallctl *ctl = cp_jemalloc_hooks_mallctl(in_file);
	cp_heap_jemalloc_unwinder *had = NULL, *ours = cp_heap_jemalloc_backtrace;
	size_t size = sizeof(had), flag_size = sizeof(bool);
	bool profiles = false;

	if (!ctl || ctl("opt.prof", &profiles, &flag_size, NULL, 0) || !profiles)
		return false;
	/* Versions before 5.3.0 have no such hook. */
	if (ctl(HOOK, &had, &size, NULL, 0) || !had || !cp_unwinder_choice_default())
		return false;
	return ctl(HOOK, NULL, NULL, &ours, sizeof(ours)) == 0;
}

#endif
