/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads libunwind's generic library on a private handle.
 *
 * It is never linked and never in the global scope: libunwind.so's weak `backtrace` would replace
 * glibc's in the program, and a program with its own libunwind must not bind to this one. Called by
 * unwind_libunwind.c's prepare, outside handlers.
 */
#include "unwind/signal/unwind_signal.h"

#ifdef HAVE_LIBUNWIND

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

#include "unwind/unwind.h"

#if defined(__x86_64__)
#define SONAME "libunwind-x86_64.so.8"
#define SYMBOL(name) "_Ux86_64_" name
#elif defined(__aarch64__)
#define SONAME "libunwind-aarch64.so.8"
#define SYMBOL(name) "_Uaarch64_" name
#endif

#define WANT(member, symbol)                                                                       \
	{                                                                                          \
		SYMBOL(symbol), offsetof(struct cp_libunwind, member)                              \
	}

static const struct {
	const char *symbol;
	size_t at;
} wanted[] = {
	WANT(create_addr_space, "create_addr_space"),
	WANT(set_caching_policy, "set_caching_policy"),
	WANT(flush_cache, "flush_cache"),
	WANT(init_remote, "init_remote"),
	WANT(step, "step"),
	WANT(get_reg, "get_reg"),
	WANT(search_unwind_table, "dwarf_search_unwind_table"),
};

int cp_libunwind_private_load(struct cp_libunwind *to)
{
	void *lib = cp_library_open(SONAME, NULL);
	struct cp_libunwind got;

	/* -EBUSY: the loader would call the program's malloc for it. */
	if (!lib)
		return cp_library_may_load() ? -ENOENT : -EBUSY;
	for (unsigned i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		void *f = cp_library_symbol(lib, wanted[i].symbol);

		if (!f) {
			dlclose(lib);
			return -ENOSYS;
		}
		*(void **)((char *)&got + wanted[i].at) = f;
	}
	*to = got;
	return 0;
}

#else
/* ISO C does not allow an empty file. */
extern int cp_libunwind_is_missing;
#endif
