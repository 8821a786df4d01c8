/* SPDX-License-Identifier: BSD-3-Clause */
/* Resolves and names the program's allocator; see allocator.h. */
#include "modes/heap/allocator.h"

#include <dlfcn.h>
#include <errno.h>

#include "modes/heap/signal/heap_signal.h"
#include "base/libc.h"
#include "base/start_data.h"
#include "base/text.h"
#include "unwind/unwind.h"

/* To load zlib, the loader needs some kilobytes in some twenty blocks. */
#define LENT_BYTES CP_ALLOCATOR_LENT_BYTES
#define LENT_HEADER 16 /* the header, before the block, has its size */
#define LENT_ALIGN 16

struct cp_allocator cp_allocator CP_START_DATA;

char cp_allocator_arena[LENT_BYTES] __attribute__((aligned(LENT_ALIGN)));
static size_t lent_used;
static uintptr_t home_low CP_START_DATA, home_high CP_START_DATA; /* addresses of malloc's module */
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

/* Returns SIZE zeroed bytes of the arena, which are never given back; NULL if too few are left. */
static void *lend(size_t size)
{
	size_t need, at;

	if (size > LENT_BYTES)
		return NULL;
	/* One byte more, so that an empty block isn't at the arena's end. */
	need = (size + LENT_HEADER + LENT_ALIGN) & ~((size_t)LENT_ALIGN - 1);
	if (cp_load_relaxed(&lent_used) + need > LENT_BYTES)
		return NULL;
	at = cp_add_relaxed(&lent_used, need);
	if (at + need > LENT_BYTES)
		return NULL;
	memcpy(cp_allocator_arena + at, &size, sizeof(size));
	at += LENT_HEADER;
	cp_heap_hot_filter_add((uintptr_t)cp_allocator_arena + at);
	return cp_allocator_arena + at;
}

size_t cp_allocator_lent_size(const void *p)
{
	size_t size;

	memcpy(&size, (const char *)p - LENT_HEADER, sizeof(size));
	return size;
}

static struct cp_heap_hot own; /* the allocator's functions, which the lending ones call */
static uint32_t lenders;       /* number of threads that memory is lent to */

static void *lending_malloc(size_t size)
{
	void *p = cp_self.heap.lent ? lend(size) : NULL;

	return p ? p : own.malloc(size);
}

static void *lending_calloc(size_t n, size_t each)
{
	size_t size;
	void *p = NULL;

	if (cp_self.heap.lent && !__builtin_mul_overflow(n, each, &size))
		p = lend(size);
	return p ? p : own.calloc(n, each);
}

/* A block of the arena doesn't come here. */
static void *lending_realloc(void *p, size_t size)
{
	return p ? own.realloc(p, size) : lending_malloc(size);
}

/* Each pointer is stored once, because other threads call through it. */
#define SET(field, to) __atomic_store_n(&cp_heap_hot.field, to, __ATOMIC_RELEASE)

static bool is_lending(void)
{
	return cp_heap_hot.malloc == lending_malloc;
}

struct cp_heap_hot cp_allocator_functions(void)
{
	struct cp_heap_hot f = cp_heap_hot;

	if (is_lending()) {
		f.malloc = own.malloc;
		f.calloc = own.calloc;
		f.realloc = own.realloc;
	}
	return f;
}

/* Puts back the allocator's functions, or the page census's, which may be in the table. If the
 * census has replaced the lending ones meanwhile, they are gone already. */
static void switch_lending(bool on)
{
	cp_allocator_resolve();
	cp_self.heap.lent = on;
	if (on && cp_add_relaxed(&lenders, 1) == 0 && !is_lending()) {
		own = cp_heap_hot;
		SET(malloc, lending_malloc);
		SET(calloc, lending_calloc);
		SET(realloc, lending_realloc);
	} else if (!on && cp_add_relaxed(&lenders, -1) == 1 && is_lending()) {
		SET(malloc, own.malloc);
		SET(calloc, own.calloc);
		SET(realloc, own.realloc);
	}
}

void cp_allocator_prepare_loader(void)
{
	cp_library_lend = switch_lending;
}

void *cp_allocator_next(const char *name)
{
	/* If a plugin brought its own C++ library, it may come before libcprof. Its handle stays
	 * open, because the functions found there are used from now on. */
	static const char *const local[] = { "libstdc++.so.6", "libc++.so.1", "libc++abi.so.1" };
	void *f = cp_loaded_next_one(name);
	struct cp_loaded_object o;

	for (size_t i = 0; i < sizeof(local) / sizeof(*local); i++) {
		if (!cp_loaded_named(local[i], &o))
			continue;
		if (!f)
			f = cp_loaded_in((const void *)o.low, name);
		if ((uintptr_t)f - o.low < o.high - o.low)
			cp_library_keep(local[i]);
	}
	return f;
}

/* Called within operator new, so it must not take the loader's lock. */
bool cp_allocator_owns(const void *f)
{
	return (uintptr_t)f >= home_low && (uintptr_t)f < home_high;
}

static void set_function(void *slot, const char *name)
{
	void *f = cp_loaded_next_one(name);

	/* Function pointers and object pointers have the same size on every port. */
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
	return 0;
}

/* Set cp_heap_hot.usable_size. The pointer is stored once and is never NULL, because another thread
 * may call it at any time, also while this function runs. */
static void set_usable_size(void)
{
	size_t (*found)(void *) = no_usable_size;
	void *f = cp_loaded_next_one("malloc_usable_size");

	if (f)
		memcpy(&found, &f, sizeof(f));
	cp_heap_hot.usable_size = found;
}

/* Few allocators have all functions. */
static void look_up_wanted(void)
{
	struct cp_loaded_name names[sizeof(wanted) / sizeof(*wanted)];

	for (unsigned i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
		names[i] = (struct cp_loaded_name){ .name = wanted[i].name };
	cp_loaded_next(names, sizeof(wanted) / sizeof(*wanted));
	for (unsigned i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		void *f = names[i].next ? names[i].next : names[i].libc;

		memcpy((char *)&cp_allocator + wanted[i].at, &f, sizeof(f));
	}
}

/* Functions of a libc whose own ones call malloc and aligned_alloc. Those would be the interposed
 * ones, which would count the block a second time. */

/* Blocks that the allocator maps one by one, so they are zero. */
#define FRESH ((size_t)256 << 10)
static void *(*plain_malloc)(size_t)CP_START_DATA;

static void *calloc_by_malloc(size_t n, size_t each)
{
	size_t size;
	void *p;

	if (__builtin_mul_overflow(n, each, &size)) {
		errno = ENOMEM;
		return NULL;
	}
	p = plain_malloc(size);
	return p && size < FRESH ? memset(p, 0, size) : p;
}

static int posix_memalign_by_other(void **to, size_t alignment, size_t size)
{
	void *p;

	if (alignment < sizeof(void *))
		return EINVAL;
	p = cp_allocator.aligned_alloc(alignment, size);
	if (!p)
		return errno;
	*to = p;
	return 0;
}

static void *valloc_by_other(size_t size)
{
	return cp_allocator.aligned_alloc(4096, size);
}

static void unnest(void)
{
	void *f;

	memcpy(&f, &cp_heap_hot.malloc, sizeof(f));
	if (!CP_LIBC_NESTS || cp_loaded_in_libc("malloc") != f)
		return;
	plain_malloc = cp_heap_hot.malloc;
	cp_heap_hot.calloc = calloc_by_malloc;
	cp_allocator.posix_memalign = posix_memalign_by_other;
	cp_allocator.memalign = cp_allocator.aligned_alloc;
	cp_allocator.valloc = valloc_by_other;
}

static void look_up(void)
{
	void *f;

	look_up_wanted();
	set_function(&cp_heap_hot.realloc, "realloc");
	set_function(&cp_heap_hot.calloc, "calloc");
	set_function(&cp_heap_hot.free, "free");
	set_function(&cp_heap_hot.malloc, "malloc");
	set_home();
	set_usable_size();
	unnest();
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

void cp_allocator_resolve_now(void)
{
	/* Threads that come here at the same time find the same functions. */
	look_up();
	cp_heap_hot_look(CP_HEAP_LOOK_NONE);
	/* Release: a thread that sees the new state also sees the functions. */
	cp_store_release(&cp_heap_hot.state, CP_HEAP_OFF);
}

const char *cp_allocator_name(void)
{
	static const char *const known[][2] = {
		{ "libjemalloc", "jemalloc" }, { "libtcmalloc", "tcmalloc" },
		{ "libmimalloc", "mimalloc" }, { "libc.so", CP_LIBC_NAME },
		{ "libc.a", CP_LIBC_NAME },    { "ld-musl", "musl" },
		{ "libc-", "glibc" }
	};
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (cp_text_begins(name, known[i][0]))
			return known[i][1];
	return path;
}

const char *cp_allocator_in_front(void)
{
	static char why[700];
	void *f = cp_loaded_first("malloc");
	Dl_info info;

	if (!f)
		return "no malloc is found";
	if (cp_loaded_is_own(f) || cp_imports_catch("malloc", f))
		return NULL;
	cp_text_format(why, sizeof(why), "malloc is %s's, which comes before libcprof's",
		       dladdr(f, &info) && info.dli_fname ? info.dli_fname : "another module");
	return why;
}
