/* C++'s operator new and delete, in every form.
 *
 * Where the C++ library defines them they call malloc, which counts the allocation; here they are
 * only passed on. Allocators define them themselves (jemalloc, tcmalloc, mimalloc), and then
 * nothing goes through malloc: those are sampled here. Who defines a form is looked up before main.
 *
 * Passed on, an allocation would come by us twice. So where the C++ library's plain forms are all
 * that the program has, and its malloc is ours, most calls are given to the allocator at once: what
 * the library does, less a call. It is asked where that is not all there is to do: for a sample,
 * whose stack it is part of, and where there is no memory.
 *
 * It isn't when it is called: a look-up takes the loader's lock, and whoever holds that, in a
 * constructor of what is being loaded, may wait for this very thread. A plugin may bring the C++
 * library along for itself; until something fails, malloc and free do what that does.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "allocator.h"
#include "interpose.h"
#include "sigsafe/atomic.h"
#include "sigsafe/heap_event.h"

#define RARE __attribute__((noinline, cold))
#define HOT __attribute__((aligned(64)))
#define CALLER __builtin_return_address(0)

enum {
	NEW,
	NEW_ARRAY,
	NEW_NOTHROW,
	NEW_ARRAY_NOTHROW,
	NEW_ALIGNED,
	NEW_ARRAY_ALIGNED,
	NEW_ALIGNED_NOTHROW,
	NEW_ARRAY_ALIGNED_NOTHROW,
	DELETE,
	DELETE_ARRAY,
	DELETE_SIZED,
	DELETE_ARRAY_SIZED,
	DELETE_NOTHROW,
	DELETE_ARRAY_NOTHROW,
	DELETE_ALIGNED,
	DELETE_ARRAY_ALIGNED,
	DELETE_SIZED_ALIGNED,
	DELETE_ARRAY_SIZED_ALIGNED,
	DELETE_ALIGNED_NOTHROW,
	DELETE_ARRAY_ALIGNED_NOTHROW,
	FORMS
};

static const char *const names[FORMS] = {
	"_Znwm",
	"_Znam",
	"_ZnwmRKSt9nothrow_t",
	"_ZnamRKSt9nothrow_t",
	"_ZnwmSt11align_val_t",
	"_ZnamSt11align_val_t",
	"_ZnwmSt11align_val_tRKSt9nothrow_t",
	"_ZnamSt11align_val_tRKSt9nothrow_t",
	"_ZdlPv",
	"_ZdaPv",
	"_ZdlPvm",
	"_ZdaPvm",
	"_ZdlPvRKSt9nothrow_t",
	"_ZdaPvRKSt9nothrow_t",
	"_ZdlPvSt11align_val_t",
	"_ZdaPvSt11align_val_t",
	"_ZdlPvmSt11align_val_t",
	"_ZdaPvmSt11align_val_t",
	"_ZdlPvSt11align_val_tRKSt9nothrow_t",
	"_ZdaPvSt11align_val_tRKSt9nothrow_t",
};

/* Every form takes the arguments that it has, in this order, so one type serves each kind. */
union form {
	void *(*plain)(size_t);
	void *(*nothrow)(size_t, const void *);
	void *(*aligned)(size_t, size_t);
	void *(*aligned_nothrow)(size_t, size_t, const void *);
	void (*gone)(void *);
	void (*gone_with)(void *, uintptr_t);
	void (*gone_with_both)(void *, uintptr_t, uintptr_t);
};

static union form real[FORMS];

/* Whether a form is the allocator's, and calls none of the functions that we interpose: asked when
 * it is first called while samples are taken. */
static enum { UNASKED, PASSES_ON, OWN } whose[FORMS];

static bool looked; /* what is there before main was looked up */

static void set(unsigned form, void *f)
{
	/* Function pointers and object pointers are of one size on every port. */
	memcpy(&real[form], &f, sizeof(f));
}

/* false: there is none, anywhere. */
static bool look_up_now(unsigned form)
{
	if (!real[form].plain)
		set(form, cp_allocator_next(names[form]));
	return real[form].plain != NULL;
}

/* false: there is none, or it came later. */
static bool look_up(unsigned form)
{
	return cp_load_acquire(&looked) ? real[form].plain != NULL : look_up_now(form);
}

/* One for all: they call each other. */
#define DIRECT_NEW (1u << NEW | 1u << NEW_ARRAY)
#define DIRECT_DELETE                                                                              \
	(1u << DELETE | 1u << DELETE_ARRAY | 1u << DELETE_SIZED | 1u << DELETE_ARRAY_SIZED)

static const void *module_of(const void *f, const char **name)
{
	Dl_info info;

	if (!f || !dladdr(f, &info))
		return NULL;
	*name = info.dli_fname ? info.dli_fname : "";
	return info.dli_fbase;
}

/* Where NAME, a function of ours, is. */
static bool find_operator(struct cp_allocator_operator *o, const char *name)
{
	void *f = dlsym(RTLD_DEFAULT, name);
	const ElfW(Sym) * symbol;
	Dl_info info;

	if (!f || !dladdr1(f, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol)
		return false;
	*o = (struct cp_allocator_operator){ (uintptr_t)f, (uintptr_t)f + symbol->st_size };
	return true;
}

/* Is NAME, for the C++ library, ours? */
static bool is_ours(const char *name)
{
	const char *path;

	return module_of(dlsym(RTLD_DEFAULT, name), &path) == module_of(names, &path);
}

static bool is_cxx_library(const char *path)
{
	static const char *const known[] = { "libstdc++.so.", "libc++.so.", "libc++abi.so." };
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strncmp(name, known[i], strlen(known[i])))
			return true;
	return false;
}

/* The C++ library's forms, none replaced, and they call our malloc and free. A program that has
 * some of its own may count on it that others call those. */
static bool is_all_the_librarys(void)
{
	const char *path = "", *other;
	const void *library = NULL;

	for (unsigned form = 0; form < FORMS; form++) {
		void *f;

		if (!((DIRECT_NEW | DIRECT_DELETE) & 1u << form))
			continue;
		memcpy(&f, &real[form], sizeof(f));
		if (!library)
			library = module_of(f, &path);
		if (!library || module_of(f, &other) != library || !is_ours(names[form]))
			return false;
	}
	return is_cxx_library(path) && is_ours("malloc") && is_ours("free");
}

__attribute__((constructor)) static void look_all_up(void)
{
	/* A failure leaves a message with the loader, as if the program had asked. */
	bool there = dlsym(RTLD_NEXT, names[NEW]) != NULL;

	for (unsigned form = 0; there && form < FORMS; form++)
		if (!real[form].plain)
			set(form, dlsym(RTLD_NEXT, names[form]));
	if (there && is_all_the_librarys() &&
	    find_operator(&cp_allocator_operators[0], names[NEW]) &&
	    find_operator(&cp_allocator_operators[1], names[NEW_ARRAY]) && cp_allocator_resolve())
		cp_heap_hot.cxx = true;
	dlerror();
	cp_store_release(&looked, true);
}

/* What the C++ library does, as long as there is memory; without, it may have a handler to
 * ask, and throws. */
static void *instead_of_new(unsigned form, size_t size, size_t alignment)
{
	bool aligned = form >= NEW_ALIGNED;
	void *p = NULL;

	if (!aligned)
		p = malloc(size ? size : 1);
	else if (posix_memalign(&p, alignment < sizeof(p) ? sizeof(p) : alignment, size ? size : 1))
		p = NULL;
	return p;
}

static void *call_new(unsigned form, size_t size, size_t alignment, const void *nothrow)
{
	void *p = look_up(form) ? NULL : instead_of_new(form, size, alignment);

	if (p || !look_up_now(form))
		return p;
	switch (form) {
	case NEW:
	case NEW_ARRAY: return real[form].plain(size);
	case NEW_NOTHROW:
	case NEW_ARRAY_NOTHROW: return real[form].nothrow(size, nothrow);
	case NEW_ALIGNED:
	case NEW_ARRAY_ALIGNED: return real[form].aligned(size, alignment);
	default: return real[form].aligned_nothrow(size, alignment, nothrow);
	}
}

/* jemalloc's aligned forms call aligned_alloc, which counts: only a try tells. */
static bool is_seen_elsewhere(unsigned form)
{
	uint64_t left = cp_self.heap.left;
	bool seen;
	void *p;

	cp_self.heap.probing = 1;
	cp_self.heap.left = 0;
	p = call_new(form, 64, 64, NULL);
	seen = cp_self.heap.probing == 2;
	cp_self.heap.probing = 0;
	cp_self.heap.left = left;
	cp_heap_hot.free(p);
	return seen;
}

static bool is_own(unsigned form)
{
	void *f;

	if (whose[form] != UNASKED)
		return whose[form] == OWN;
	if (!look_up(form))
		return false;
	memcpy(&f, &real[form], sizeof(f));
	if (!cp_allocator_owns(f))
		whose[form] = PASSES_ON;
	else if (form >= DELETE)
		whose[form] = OWN;
	else if (cp_heap_hot.state == CP_HEAP_ON)
		whose[form] = is_seen_elsewhere(form) ? PASSES_ON : OWN;
	return whose[form] == OWN;
}

/* The form with an alignment, for a block that free knows by it. */
static unsigned aligned_form(unsigned form)
{
	return form < NEW_ALIGNED ? form + (NEW_ALIGNED - NEW) : form;
}

/* Asked before the allocator's own new, which would have the program's handler called, and throw.
 * Large blocks lie on pages as they are. */
static bool has_room(size_t size)
{
	void *p;

	if (size >= CP_HEAP_LARGE)
		return true;
	p = cp_allocator_try_aligned(CP_HEAP_TAG_ALIGN, size);
	if (!p)
		return false;
	cp_heap_hot.free(p);
	return true;
}

static void *sample(unsigned form, const struct cp_heap_sample *s, size_t alignment,
		    const void *nothrow)
{
	unsigned aligned = aligned_form(form);
	size_t enough = s->size < CP_HEAP_TAG_MIN ? CP_HEAP_TAG_MIN : s->size;
	void *p;

	if (!cp_heap_hot_tags() || alignment >= CP_HEAP_TAG_ALIGN || !look_up(aligned))
		return call_new(form, s->size, alignment, nothrow);
	/* One that calls another function of ours would be counted twice. */
	if (is_own(aligned))
		return has_room(enough) ? call_new(aligned, enough, CP_HEAP_TAG_ALIGN, nothrow)
					: call_new(form, s->size, alignment, nothrow);
	p = cp_allocator_try_aligned(CP_HEAP_TAG_ALIGN, enough);
	return p ? p : call_new(form, s->size, alignment, nothrow);
}

static RARE void *new_slow(unsigned form, size_t size, size_t alignment, const void *nothrow)
{
	struct cp_heap_sample s;

	if (!cp_allocator_resolve())
		return cp_allocator_early(size);
	/* When it is asked for the first time, its bytes weren't counted. */
	if (whose[form] == UNASKED && is_own(form) && !cp_heap_takes(size))
		return call_new(form, size, alignment, nothrow);
	if (!is_own(form) || !cp_heap_event_begin(&s, size, CALLER))
		return call_new(form, size, alignment, nothrow);
	return cp_heap_event_commit(&s, sample(form, &s, alignment, nothrow));
}

static inline bool is_plain(unsigned form, size_t size)
{
	if (cp_unlikely(!real[form].plain))
		return false;
	switch (whose[form]) {
	case OWN: return !cp_heap_takes(size);
	case PASSES_ON: return true;
	default: return cp_heap_hot.state == CP_HEAP_OFF;
	}
}

/* true: *P is what it gave. Not for a sample, nor where there is no memory. */
static inline __attribute__((always_inline)) bool is_allocated(void **p, size_t size)
{
	if (!cp_likely(cp_heap_hot.cxx) || cp_heap_takes(size))
		return false;
	*p = cp_heap_hot.malloc(size);
	return cp_likely(*p);
}

#define DIRECT_NEW_FORM(form, symbol)                                                              \
	INTERPOSE void *symbol(size_t size);                                                       \
	INTERPOSE HOT void *symbol(size_t size)                                                    \
	{                                                                                          \
		void *p;                                                                           \
                                                                                                   \
		if (is_allocated(&p, size))                                                        \
			return p;                                                                  \
		return is_plain(form, size) ? real[form].plain(size)                               \
					    : new_slow(form, size, 0, NULL);                       \
	}

#define NEW_FORM(form, symbol, parameters, arguments, member, alignment, nothrow)                  \
	INTERPOSE void *symbol parameters;                                                         \
	INTERPOSE void *symbol parameters                                                          \
	{                                                                                          \
		return is_plain(form, size) ? real[form].member arguments                          \
					    : new_slow(form, size, alignment, nothrow);            \
	}

#define ALIGNED (size_t size, size_t a)
#define NOTHROW (size_t size, const void *t)
#define BOTH (size_t size, size_t a, const void *t)
DIRECT_NEW_FORM(NEW, _Znwm)
DIRECT_NEW_FORM(NEW_ARRAY, _Znam)
NEW_FORM(NEW_NOTHROW, _ZnwmRKSt9nothrow_t, NOTHROW, (size, t), nothrow, 0, t)
NEW_FORM(NEW_ARRAY_NOTHROW, _ZnamRKSt9nothrow_t, NOTHROW, (size, t), nothrow, 0, t)
NEW_FORM(NEW_ALIGNED, _ZnwmSt11align_val_t, ALIGNED, (size, a), aligned, a, NULL)
NEW_FORM(NEW_ARRAY_ALIGNED, _ZnamSt11align_val_t, ALIGNED, (size, a), aligned, a, NULL)
NEW_FORM(NEW_ALIGNED_NOTHROW, _ZnwmSt11align_val_tRKSt9nothrow_t, BOTH, (size, a, t),
	 aligned_nothrow, a, t)
NEW_FORM(NEW_ARRAY_ALIGNED_NOTHROW, _ZnamSt11align_val_tRKSt9nothrow_t, BOTH, (size, a, t),
	 aligned_nothrow, a, t)

static void call_delete(unsigned form, void *p, uintptr_t first, uintptr_t second)
{
	if (!look_up(form)) {
		free(p);
		return;
	}
	switch (form) {
	case DELETE:
	case DELETE_ARRAY: real[form].gone(p); break;
	case DELETE_SIZED_ALIGNED:
	case DELETE_ARRAY_SIZED_ALIGNED:
	case DELETE_ALIGNED_NOTHROW:
	case DELETE_ARRAY_ALIGNED_NOTHROW: real[form].gone_with_both(p, first, second); break;
	default: real[form].gone_with(p, first);
	}
}

/* One that could not be kept looks like any other, and isn't as large as the program says. */
static void delete_without_size(unsigned form, void *p, uintptr_t first, uintptr_t second)
{
	switch (form) {
	case DELETE_SIZED: call_delete(DELETE, p, 0, 0); break;
	case DELETE_ARRAY_SIZED: call_delete(DELETE_ARRAY, p, 0, 0); break;
	case DELETE_SIZED_ALIGNED: call_delete(DELETE_ALIGNED, p, second, 0); break;
	case DELETE_ARRAY_SIZED_ALIGNED: call_delete(DELETE_ARRAY_ALIGNED, p, second, 0); break;
	default: call_delete(form, p, first, second);
	}
}

static RARE void delete_slow(unsigned form, void *p, uintptr_t first, uintptr_t second)
{
	if (cp_allocator_is_early(p) || !cp_allocator_resolve())
		return;
	/* A sampled block is larger, and more aligned, than the program says. Where the C++ library
	 * calls free, that is where it is looked up. */
	if (!is_own(form))
		call_delete(form, p, first, second);
	else if (cp_heap_event_free(p))
		call_delete((form - DELETE) % 2 ? DELETE_ARRAY : DELETE, p, 0, 0);
	else if (cp_heap_hot_tagged())
		delete_without_size(form, p, first, second);
	else
		call_delete(form, p, first, second);
}

static inline bool is_plain_delete(unsigned form, const void *p)
{
	return cp_likely(real[form].gone) && (whose[form] == PASSES_ON || !cp_heap_looks(p));
}

static inline __attribute__((always_inline)) bool is_direct_delete(unsigned form, const void *p)
{
	return DIRECT_DELETE & 1u << form && cp_likely(cp_heap_hot.cxx) && !cp_heap_looks(p);
}

#define DELETE_FORM(form, symbol, parameters, arguments, member, first, second)                    \
	INTERPOSE void symbol parameters;                                                          \
	INTERPOSE HOT void symbol parameters                                                       \
	{                                                                                          \
		if (is_direct_delete(form, p))                                                     \
			cp_heap_hot.free(p);                                                       \
		else if (is_plain_delete(form, p))                                                 \
			real[form].member arguments;                                               \
		else                                                                               \
			delete_slow(form, p, first, second);                                       \
	}

#define WITH (void *p, uintptr_t x)
#define WITH_BOTH (void *p, uintptr_t x, uintptr_t y)
DELETE_FORM(DELETE, _ZdlPv, (void *p), (p), gone, 0, 0)
DELETE_FORM(DELETE_ARRAY, _ZdaPv, (void *p), (p), gone, 0, 0)
DELETE_FORM(DELETE_SIZED, _ZdlPvm, WITH, (p, x), gone_with, x, 0)
DELETE_FORM(DELETE_ARRAY_SIZED, _ZdaPvm, WITH, (p, x), gone_with, x, 0)
DELETE_FORM(DELETE_NOTHROW, _ZdlPvRKSt9nothrow_t, WITH, (p, x), gone_with, x, 0)
DELETE_FORM(DELETE_ARRAY_NOTHROW, _ZdaPvRKSt9nothrow_t, WITH, (p, x), gone_with, x, 0)
DELETE_FORM(DELETE_ALIGNED, _ZdlPvSt11align_val_t, WITH, (p, x), gone_with, x, 0)
DELETE_FORM(DELETE_ARRAY_ALIGNED, _ZdaPvSt11align_val_t, WITH, (p, x), gone_with, x, 0)
DELETE_FORM(DELETE_SIZED_ALIGNED, _ZdlPvmSt11align_val_t, WITH_BOTH, (p, x, y), gone_with_both, x,
	    y)
DELETE_FORM(DELETE_ARRAY_SIZED_ALIGNED, _ZdaPvmSt11align_val_t, WITH_BOTH, (p, x, y),
	    gone_with_both, x, y)
DELETE_FORM(DELETE_ALIGNED_NOTHROW, _ZdlPvSt11align_val_tRKSt9nothrow_t, WITH_BOTH, (p, x, y),
	    gone_with_both, x, y)
DELETE_FORM(DELETE_ARRAY_ALIGNED_NOTHROW, _ZdaPvSt11align_val_tRKSt9nothrow_t, WITH_BOTH, (p, x, y),
	    gone_with_both, x, y)
