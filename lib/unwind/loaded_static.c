/* SPDX-License-Identifier: BSD-3-Clause */
/* The same as loaded.c, library.c and imports.c in a program that is linked statically: see
 * unwind.h.
 *
 * Such a program has no loader and no tables of symbols, so the linker makes the table: each name
 * that libcprof interposes, with libcprof's function and the original (preload/static/names.sh).
 * Nothing can be opened: zlib is used if the program is linked with it, and libunwind never.
 */
#include "unwind/unwind.h"

#include <errno.h>

#include "base/libc.h"
#include "base/own_code.h"
#include "base/text.h"

void (*cp_library_lend)(bool on);

/* The names that libcprof interposes or looks up, sorted, with libcprof's function and the one that
 * the program would call without it, which are the same where nothing is interposed. NULL: the
 * program has no such symbol. */
extern const struct static_name {
	const char *name;
	void *own, *original;
} cp_static_names[], cp_static_names_end[];

static const struct static_name *find(const char *name)
{
	const struct static_name *low = cp_static_names, *high = cp_static_names_end;

	while (low < high) {
		const struct static_name *middle = low + (high - low) / 2;
		int order = strcmp(middle->name, name);

		if (!order)
			return middle;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

void cp_loaded_next(struct cp_loaded_name *names, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		names[i].next = cp_loaded_next_one(names[i].name);
		names[i].libc = NULL;
	}
}

void *cp_loaded_next_one(const char *name)
{
	const struct static_name *n = find(name);

	return n ? n->original : NULL;
}

void *cp_loaded_first(const char *name)
{
	const struct static_name *n = find(name);

	return n ? n->own : NULL;
}

void *cp_loaded_first_sized(const char *name, size_t *size)
{
	*size = 0;
	return cp_loaded_first(name);
}

void *cp_loaded_in(const void *address, const char *name)
{
	return NULL;
}

void *cp_loaded_in_libc(const char *name)
{
	return cp_loaded_next_one(name);
}

/* The program. */
extern const char __executable_start[], _end[];

bool cp_loaded_is_own(const void *f)
{
	return cp_own_code_has((uintptr_t)f);
}

/* libcprof and libc's malloc count as objects of their own. */
bool cp_loaded_at(const void *address, struct cp_loaded_object *o)
{
	const char *libcs = address == cp_loaded_first("__libc_malloc") ? "libc.a" : "";

	if (cp_loaded_is_own(address))
		*o = (struct cp_loaded_object){ (uintptr_t)__start_cp_static_text,
						(uintptr_t)__stop_cp_static_text, "" };
	else if ((const char *)address >= __executable_start && (const char *)address < _end)
		*o = (struct cp_loaded_object){ (uintptr_t)__executable_start, (uintptr_t)_end,
						libcs };
	else
		return false;
	return true;
}

bool cp_loaded_named(const char *file, struct cp_loaded_object *o)
{
	return false;
}

/* ---- library.c ---- */

void cp_library_call_lending(void (*f)(void))
{
	f();
}

void *cp_library_open(const char *file, bool *was_loaded)
{
	static char zlib;

	if (was_loaded)
		*was_loaded = false;
	return cp_text_begins(file, "libz.") ? &zlib : NULL;
}

void cp_library_keep(const char *file)
{
}

void *cp_library_symbol(void *handle, const char *name)
{
	return cp_loaded_first(name);
}

#ifdef HAVE_LIBUNWIND
int cp_library_libunwind(struct cp_libunwind *to)
{
	return -ENOENT;
}
#endif

/* ---- imports.c: the program's calls are caught by the linker ---- */

bool cp_imports_are_caught(void)
{
	return false;
}

bool cp_imports_catch(const char *name, const void *f)
{
	return false;
}

void cp_imports_look(void)
{
}

void cp_imports_end(void)
{
}

void cp_imports_fork_child(void)
{
}
