/* SPDX-License-Identifier: BSD-3-Clause */
/* C++'s operator new and delete, in every form.
 *
 * If the C++ library defines the operators, they call malloc, which counts the allocation; the
 * functions here only pass calls on. Some allocators define the operators themselves (jemalloc,
 * tcmalloc, mimalloc); their operators don't go through malloc and are sampled here. The definition
 * of each form is looked up before main.
 *
 * An allocation that is passed on would enter libcprof twice. So if the C++ library's plain forms
 * are the only ones, and its malloc is libcprof's, most calls go straight to the allocator: the
 * same work as the library's, less one call. The library is called where more is needed: for a
 * sample, whose stack contains the library's frame, and when there is no memory.
 *
 * The definition isn't looked up at the call, because a look-up takes the loader's lock: a
 * constructor of a module being loaded may hold that lock and wait for this very thread. A plugin
 * may bring its own C++ library; until an allocation fails, malloc and free do the same work as
 * that library.
 */
#include <dlfcn.h>
#include <stdlib.h>

#include "modes/heap/allocator.h"
#include "profile/profile.h"
#include "modes/heap/hooks/heap_hooks.h"
#include "host/host.h"
#include "base/start_data.h"
#include "base/text.h"
#include "unwind/unwind.h"
#include "modes/heap/signal/heap_signal.h"

#define RARE __attribute__((noinline, cold))
#define HOT __attribute__((aligned(64)))
#define CALLER __builtin_return_address(0)

#define NAME(form, symbol, parameters, arguments, member, second, third) #symbol,
static const char *const names[FORMS] = { NEW_FORMS(NAME) DELETE_FORMS(NAME) };

union form cp_new_forms[FORMS] CP_START_DATA;
#define real cp_new_forms

/* Is a form the allocator's, so that it calls none of the interposed functions? Tested when the
 * form is first called while samples are taken. */
static enum { UNASKED, PASSES_ON, OWN } whose[FORMS];

static bool looked CP_START_DATA; /* forms were looked up before main */

static void set_form(unsigned form, void *f)
{
	/* Function pointers and object pointers have the same size on every port. */
	memcpy(&real[form], &f, sizeof(f));
}

/* Returns false if no module defines FORM. */
static bool look_up_now(unsigned form)
{
	if (!real[form].plain)
		set_form(form, cp_allocator_next(names[form]));
	return real[form].plain != NULL;
}

/* Returns false if no module defines FORM, or only one that was loaded later. */
static bool look_up(unsigned form)
{
	return cp_load_acquire(&looked) ? real[form].plain != NULL : look_up_now(form);
}

/* All forms or none are direct, because they call each other. */
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

/* Get the address range of NAME, one of libcprof's functions. */
static bool find_operator(struct cp_aggregate_range *o, const char *name)
{
	size_t size;
	void *f = cp_loaded_first_sized(name, &size);

	*o = (struct cp_aggregate_range){ (uintptr_t)f, (uintptr_t)f + size };
	return f;
}

/* Does the C++ library get libcprof's function for NAME? */
static bool is_ours(const char *name)
{
	const char *path;

	return module_of(cp_loaded_first(name), &path) == module_of(names, &path);
}

static bool is_cxx_library(const char *path)
{
	static const char *const known[] = { "libstdc++.so.", "libc++.so.", "libc++abi.so." };
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (cp_text_begins(name, known[i]))
			return true;
	return false;
}

/* Are all forms the C++ library's, none replaced, and do they call libcprof's malloc and free? A
 * program that defines some forms may rely on other forms calling them. */
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

void init_operators(void)
{
	struct cp_loaded_name found[FORMS];
	bool there;

	for (unsigned form = 0; form < FORMS; form++)
		found[form] = (struct cp_loaded_name){ .name = names[form] };
	cp_loaded_next(found, FORMS);
	there = found[NEW].next != NULL;
	for (unsigned form = 0; there && form < FORMS; form++)
		if (!real[form].plain)
			set_form(form, found[form].next);
	if (there && is_all_the_librarys() &&
	    find_operator(&cp_aggregate_programs[0], names[NEW]) &&
	    find_operator(&cp_aggregate_programs[1], names[NEW_ARRAY])) {
		cp_allocator_resolve();
		cp_heap_hot.cxx = true;
	}
	cp_store_release(&looked, true);
}

/* Do the C++ library's work while there is memory. Returns NULL if there is none: the caller then
 * calls the library, which calls a new handler, or throws. */
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

/* Returns whether FORM is the allocator's and doesn't pass calls on. Returns false, too, if only a
 * call can tell that: see call_to_learn. */
static bool is_own(unsigned form)
{
	void *f;

	if (whose[form] != UNASKED)
		return whose[form] == OWN;
	if (!look_up(form))
		return false;
	memcpy(&f, &real[form], sizeof(f));
	if (!cp_new_forms_is_wrapped(form) && !cp_allocator_owns(f))
		whose[form] = PASSES_ON;
	else if (form >= DELETE)
		whose[form] = OWN;
	return whose[form] == OWN;
}

/* A larger allocation may fail and throw, past the end of the test. */
#define LEARNS_MAX ((size_t)64 << 10)

static bool is_to_learn(unsigned form, size_t size)
{
	return whose[form] == UNASKED && !is_own(form) && whose[form] == UNASKED &&
	       cp_heap_hot.state == CP_HEAP_ON && size <= LEARNS_MAX && look_up(form);
}

/* Do the program's first call of FORM, and see whether an interposed function is called, too:
 * jemalloc's aligned forms call aligned_alloc, which counts. The interposed function doesn't count
 * this call. */
static void *call_to_learn(unsigned form, size_t size, size_t alignment, const void *nothrow)
{
	uint64_t left = cp_self.heap.left;
	void *p;

	cp_self.heap.probing = 1;
	cp_self.heap.left = 0;
	p = call_new(form, size, alignment, nothrow);
	whose[form] = cp_self.heap.probing == 2 ? PASSES_ON : OWN;
	cp_self.heap.probing = 0;
	cp_self.heap.left = left;
	return p;
}

static RARE void *new_slow(unsigned form, size_t size, size_t alignment, const void *nothrow)
{
	struct cp_heap_sample s;
	void *p;

	cp_allocator_resolve();
	if (is_to_learn(form, size)) {
		p = call_to_learn(form, size, alignment, nothrow);
		return cp_heap_takes(size) && cp_heap_event_begin(&s, size, CALLER)
			       ? cp_heap_event_commit(&s, p)
			       : p;
	}
	/* On the first call of a form, its bytes haven't been counted yet. */
	if (whose[form] == UNASKED && is_own(form) && !cp_heap_takes(size))
		return call_new(form, size, alignment, nothrow);
	if (!is_own(form) || !cp_heap_event_begin(&s, size, CALLER))
		return call_new(form, size, alignment, nothrow);
	return cp_heap_event_commit(&s, call_new(form, size, alignment, nothrow));
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

/* Returns true if the allocator gave *P. Returns false for a sample, and when there is no memory.
 */
static inline __attribute__((always_inline)) bool is_allocated(void **p, size_t size)
{
	if (!cp_likely(cp_heap_hot.cxx) || cp_heap_takes(size))
		return false;
	*p = cp_heap_hot.malloc(size);
	return cp_likely(*p);
}

#define DIRECT_NEW_FORM(form, symbol, parameters, arguments, member, alignment, nothrow)           \
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

DIRECT_NEW_FORMS(DIRECT_NEW_FORM)
OTHER_NEW_FORMS(NEW_FORM)

static void call_delete(unsigned form, void *p, uintptr_t first, uintptr_t second)
{
	if (!look_up(form)) {
		free(p);
		return;
	}
	switch (form) {
	case DELETE:
	case DELETE_ARRAY: real[form].delete_plain(p); break;
	case DELETE_SIZED_ALIGNED:
	case DELETE_ARRAY_SIZED_ALIGNED:
	case DELETE_ALIGNED_NOTHROW:
	case DELETE_ARRAY_ALIGNED_NOTHROW: real[form].delete_with_two(p, first, second); break;
	default: real[form].delete_with_one(p, first);
	}
}

static RARE void delete_slow(unsigned form, void *p, uintptr_t first, uintptr_t second)
{
	if (cp_allocator_is_lent(p))
		return;
	cp_allocator_resolve();
	/* If the C++ library calls free, free looks the block up. */
	if (is_own(form))
		cp_heap_event_free(p);
	call_delete(form, p, first, second);
}

static inline bool is_plain_delete(unsigned form, const void *p)
{
	return cp_likely(real[form].delete_plain) &&
	       (whose[form] == PASSES_ON || !cp_heap_looks(p));
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

DELETE_FORMS(DELETE_FORM)
