/* SPDX-License-Identifier: BSD-3-Clause */
/* Resolves and names the program's allocator; see allocator.h. */
#include "modes/heap/allocator.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

#include "base/atomic.h"
#include "modes/heap/signal/heap_event.h"
#include "base/start_data.h"
#include "base/text.h"
#include "host/loaded.h"

/* dlsym needs a few hundred bytes in some five blocks, for its error messages. Each block is
 * tagged, so that free need not look at other blocks because of these. */
#define EARLY_BYTES CP_ALLOCATOR_EARLY_BYTES
#define EARLY_HEADER 16 /* the size, at the end of the previous block */

struct cp_allocator cp_allocator CP_START_DATA;

char cp_allocator_arena[EARLY_BYTES] __attribute__((aligned(CP_HEAP_TAG_ALIGN)));
static size_t early_used = CP_HEAP_TAG_ALIGN;
static uintptr_t home_low CP_START_DATA, home_high CP_START_DATA; /* malloc's module */
static char path[512] CP_START_DATA;

static const struct {
	const char *name;
	size_t at;
} wanted[] = {
#define WANT(field, symbol)                                                                        \
	{                                                                                          \
		symbol, offsetof(struct cp_allocator, field)                                       \
	}
	WANT(memalign, "memalign"),
	WANT(aligned_alloc, "aligned_alloc"),
	WANT(posix_memalign, "posix_memalign"),
	WANT(valloc, "valloc"),
	WANT(pvalloc, "pvalloc"),
	WANT(free_sized, "free_sized"),
	WANT(free_aligned_sized, "free_aligned_sized"),
	WANT(mallocx, "mallocx"),
	WANT(rallocx, "rallocx"),
	WANT(xallocx, "xallocx"),
	WANT(dallocx, "dallocx"),
	WANT(sdallocx, "sdallocx"),
	WANT(nallocx, "nallocx"),
	WANT(good_size, "mi_good_size"),
#undef WANT
};

void *cp_allocator_early(size_t size)
{
	size_t need, at;

	if (size > EARLY_BYTES)
		return NULL;
	need = (size + EARLY_HEADER + CP_HEAP_TAG_ALIGN - 1) & ~(CP_HEAP_TAG_ALIGN - 1);
	if (cp_load_relaxed(&early_used) + need > EARLY_BYTES)
		return NULL;
	at = cp_add_relaxed(&early_used, need);
	if (at + need > EARLY_BYTES)
		return NULL;
	memcpy(cp_allocator_arena + at - EARLY_HEADER, &size, sizeof(size));
	cp_heap_hot_filter_add((uintptr_t)cp_allocator_arena + at);
	return cp_allocator_arena + at;
}

size_t cp_allocator_early_size(const void *p)
{
	size_t size;

	memcpy(&size, (const char *)p - EARLY_HEADER, sizeof(size));
	return size;
}

void *cp_allocator_next(const char *name)
{
	/* If a plugin brought its own C++ library, RTLD_NEXT doesn't find that library. Its handle
	 * stays open, because the functions found there are used from now on. */
	static const char *const local[] = { "libc.so.6", "libstdc++.so.6", "libc++.so.1",
					     "libc++abi.so.1" };
	void *f = dlsym(RTLD_NEXT, name), *library;

	for (size_t i = 0; !f && i < sizeof(local) / sizeof(*local); i++) {
		library = dlopen(local[i], RTLD_LAZY | RTLD_NOLOAD);
		f = library ? dlsym(library, name) : NULL;
	}
	return f;
}

/* Called within operator new, so it must not take the loader's lock. */
bool cp_allocator_owns(const void *f)
{
	return (uintptr_t)f >= home_low && (uintptr_t)f < home_high;
}

static void set(void *slot, const char *name)
{
	void *f = dlsym(RTLD_NEXT, name);

	/* Function pointers and object pointers have the same size on every port. */
	memcpy(slot, &f, sizeof(f));
}

static void set_first(void *slot, const char *name)
{
	void *f = cp_allocator_next(name);

	memcpy(slot, &f, sizeof(f));
}

static void set_home(void)
{
	struct cp_loaded_object home;
	void *f;
	Dl_info info;

	memcpy(&f, &cp_heap_hot.malloc, sizeof(f));
	if (!cp_loaded_at(f, &home))
		return;
	home_low = home.low;
	home_high = home.high;
	/* The loader has no name for the program; dladdr has. */
	if (!*home.name && dladdr(f, &info) && info.dli_fname)
		home.name = info.dli_fname;
	cp_text_format(path, sizeof(path), "%s", home.name);
}

/* Used if the allocator has no malloc_usable_size. */
static size_t no_usable_size(void *p)
{
	(void)p;
	return 0;
}

/* Set cp_heap_hot.usable_size. The pointer is stored once and is never NULL, because another thread
 * may call it at any time, also while this function runs. */
static void set_usable_size(void)
{
	size_t (*found)(void *) = no_usable_size;
	void *f = dlsym(RTLD_NEXT, "malloc_usable_size");

	cp_allocator.tells_size = cp_allocator_owns(f);
	if (f)
		memcpy(&found, &f, sizeof(f));
	cp_heap_hot.usable_size = found;
}

/* Few allocators have all functions. */
static void look_up_wanted(void)
{
	struct cp_loaded_name names[sizeof(wanted) / sizeof(*wanted)];

	for (unsigned i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
		names[i].name = wanted[i].name;
	cp_loaded_look(names, sizeof(wanted) / sizeof(*wanted));
	for (unsigned i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
		if (names[i].defined)
			set((char *)&cp_allocator + wanted[i].at, wanted[i].name);
}

static void look_up(void)
{
	void *f;

	look_up_wanted();
	set_first(&cp_heap_hot.realloc, "realloc");
	set_first(&cp_heap_hot.calloc, "calloc");
	set_first(&cp_heap_hot.free, "free");
	set_first(&cp_heap_hot.malloc, "malloc");
	set_home();
	memcpy(&f, &cp_allocator.posix_memalign, sizeof(f));
	cp_allocator.aligns = cp_allocator_owns(f);
	set_usable_size();
	cp_allocator.is_glibc = !strcmp(cp_allocator_name(), "glibc");
	memcpy(&f, &cp_allocator.mallocx, sizeof(f));
	cp_allocator.is_jemalloc = cp_allocator_owns(f);
	memcpy(&f, &cp_allocator.nallocx, sizeof(f));
	/* jemalloc's nallocx needs a thread that libc knows. */
	if (cp_allocator.is_jemalloc || !cp_allocator_owns(f))
		cp_allocator.nallocx = NULL;
	memcpy(&f, &cp_allocator.good_size, sizeof(f));
	if (!cp_allocator_owns(f))
		cp_allocator.good_size = NULL;
}

bool cp_allocator_resolve_now(void)
{
	if (cp_self.heap.resolving)
		return false;
	/* Threads that come here at the same time find the same functions. */
	cp_self.heap.resolving = 1;
	look_up();
	cp_self.heap.resolving = 0;
	cp_heap_hot_rest();
	/* Release: a thread that sees the new state also sees the functions. */
	cp_store_release(&cp_heap_hot.state, CP_HEAP_OFF);
	return true;
}

const char *cp_allocator_name(void)
{
	static const char *const known[][2] = { { "libjemalloc", "jemalloc" },
						{ "libtcmalloc", "tcmalloc" },
						{ "libmimalloc", "mimalloc" },
						{ "libc.so", "glibc" },
						{ "libc-", "glibc" } };
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (cp_text_begins(name, known[i][0]))
			return known[i][1];
	return path;
}

const char *cp_allocator_unseen(void)
{
	static char why[700];
	void *f = dlsym(RTLD_DEFAULT, "malloc"), *give_back, *block;
	void *(*allocate)(size_t);
	void (*release)(void *);
	uint64_t left = cp_self.heap.left;
	Dl_info info;
	bool seen;

	if (!f)
		return "no malloc is found";
	memcpy(&allocate, &f, sizeof(f));
	give_back = dlsym(RTLD_DEFAULT, "free");
	memcpy(&release, &give_back, sizeof(give_back));
	cp_self.heap.probing = 1;
	cp_self.heap.left = 0;
	block = allocate(24);
	cp_self.heap.left = left;
	seen = block && cp_self.heap.probing == 2;
	cp_self.heap.probing = 0;
	/* If hooks see the block, it doesn't come from the malloc that follows libcprof's. */
	if (release)
		release(block);
	if (seen)
		return NULL;
	cp_text_format(why, sizeof(why), "malloc is %s's, which comes before libcprof's",
		       dladdr(f, &info) && info.dli_fname ? info.dli_fname : "another module");
	return why;
}

void *cp_allocator_try_aligned(size_t alignment, size_t size)
{
	int saved = errno;
	void *p;

	if (cp_allocator.posix_memalign(&p, alignment, size) == 0)
		return p;
	errno = saved;
	return NULL;
}
