/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads libunwind's generic library on a private handle.
 *
 * It is never linked and never in the global scope: libunwind.so's weak `backtrace` would replace
 * glibc's in the program, and a program with its own libunwind must not bind to this one. Called by
 * unwind_libunwind.c's prepare, outside handlers.
 */
#include "unwind/signal/unwind_libunwind.h"

#ifdef HAVE_LIBUNWIND

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

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

/* RTLD_NOW: a lazy binding in a handler would take the loader's lock. RTLD_DEEPBIND: the library
 * calls its own functions by name, and a program may export one of those names. Sanitizers end the
 * program on that flag, so it is left out with them. */
static int flags(void)
{
	bool sanitized = dlsym(RTLD_DEFAULT, "__asan_init") || dlsym(RTLD_DEFAULT, "__msan_init") ||
			 dlsym(RTLD_DEFAULT, "__tsan_init");

	return RTLD_NOW | RTLD_LOCAL | (sanitized ? 0 : RTLD_DEEPBIND);
}

int cp_libunwind_private_load(struct cp_libunwind *to)
{
	void *lib = dlopen(SONAME, flags());
	struct cp_libunwind got;

	if (!lib)
		return -ENOENT;
	for (unsigned i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		void *f = dlsym(lib, wanted[i].symbol);

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
