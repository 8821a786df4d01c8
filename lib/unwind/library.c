/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads libraries without the program's malloc, and libunwind on a private handle. See unwind.h. */
#include "unwind/unwind.h"

#include <dlfcn.h>
#include <errno.h>

#include "base/libc.h"

void (*cp_library_lend)(bool on);

/* A failure leaves no message for the program's dlerror. */
static void *load_quietly(const char *file, int flags)
{
	void *handle = dlopen(file, flags);

	if (!handle)
		dlerror();
	return handle;
}

static void *load_with_lent_memory(const char *file, int flags)
{
	void *handle;

	cp_library_lend(true);
	handle = load_quietly(file, flags);
	cp_library_lend(false);
	return handle;
}

static bool is_lending(void)
{
	return cp_library_lend && cp_loaded_is_own(cp_loaded_first("malloc"));
}

void cp_library_call_lending(void (*f)(void))
{
	bool lends = is_lending();

	if (lends)
		cp_library_lend(true);
	f();
	if (lends)
		cp_library_lend(false);
}

/* Can a library be opened, without calls of the program's malloc? */
static bool may_load(void)
{
	return is_lending() || cp_loaded_first("malloc") == cp_loaded_in_libc("malloc");
}

void *cp_library_open(const char *file, bool *was_loaded)
{
	int flags = RTLD_NOW | RTLD_LOCAL | (cp_loaded_has_sanitizer() ? 0 : CP_LIBC_DEEPBIND);
	struct cp_loaded_object o;

	if (was_loaded)
		*was_loaded = cp_loaded_named(file, &o);
	if (is_lending())
		return load_with_lent_memory(file, flags);
	return may_load() ? load_quietly(file, flags) : NULL;
}

void cp_library_keep(const char *file)
{
	dlopen(file, RTLD_LAZY | RTLD_NOLOAD);
}

void *cp_library_symbol(void *handle, const char *name)
{
	struct link_map *map;

	return dlinfo(handle, RTLD_DI_LINKMAP, &map) ? NULL : cp_loaded_in(map->l_ld, name);
}

/* Loads libunwind's generic library on a private handle.
 *
 * It is never linked and never in the global scope: libunwind.so's weak `backtrace` would replace
 * glibc's in the program, and a program with its own libunwind must not bind to this one. Called by
 * unwind_libunwind.c's prepare, outside handlers.
 */

#ifdef HAVE_LIBUNWIND

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

int cp_library_libunwind(struct cp_libunwind *to)
{
	void *lib = cp_library_open(SONAME, NULL);
	struct cp_libunwind got;

	/* -EBUSY: the loader would call the program's malloc for it. */
	if (!lib)
		return may_load() ? -ENOENT : -EBUSY;
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

#endif
