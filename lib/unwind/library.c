/* SPDX-License-Identifier: BSD-3-Clause */
/* See library.h. */
#include "unwind/unwind.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>

void (*cp_library_lend)(bool on);

bool cp_library_has_sanitizer(void)
{
	return cp_loaded_first("__asan_init") || cp_loaded_first("__tsan_init") ||
	       cp_loaded_first("__msan_init");
}

/* A failure leaves no message for the program's dlerror. */
static void *load(const char *file, int flags)
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
	handle = load(file, flags);
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

bool cp_library_may_load(void)
{
	return is_lending() || cp_loaded_first("malloc") == cp_loaded_in_libc("malloc");
}

void *cp_library_open(const char *file, bool *was_loaded)
{
	int flags = RTLD_NOW | RTLD_LOCAL | (cp_library_has_sanitizer() ? 0 : RTLD_DEEPBIND);
	struct cp_loaded_object o;

	if (was_loaded)
		*was_loaded = cp_loaded_named(file, &o);
	if (is_lending())
		return load_with_lent_memory(file, flags);
	return cp_library_may_load() ? load(file, flags) : NULL;
}

void *cp_library_symbol(void *handle, const char *name)
{
	struct link_map *map;

	return dlinfo(handle, RTLD_DI_LINKMAP, &map) ? NULL : cp_loaded_in(map->l_ld, name);
}
