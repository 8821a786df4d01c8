/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds jemalloc's mallctl and installs the hooks; see allocator.h.
 *
 * mallctl is a dynamic symbol, or a symbol in .symtab of the executable's file. In .symtab it is
 * found by two streaming passes: over the names, and, only if they contain one of the wanted names,
 * over the symbols.
 */
#include "modes/heap/allocator.h"

#include "cp-build.h"

#include "modes/heap/signal/heap_signal.h"
#include "unwind/unwind.h"
#include "symbols/symbols.h"
#include "base/libc.h"
#include "base/text.h"

#ifdef CP_WITHOUT_JEMALLOC

void cp_jemalloc_hooks_find(void)
{
}

void cp_jemalloc_hooks_start(void)
{
}

void cp_jemalloc_hooks_stop(void)
{
}

const char *cp_jemalloc_hooks_version(void)
{
	return NULL;
}

uint64_t cp_jemalloc_hooks_interval(void)
{
	return 0;
}

const char *cp_jemalloc_hooks_unusable(void)
{
	return NULL;
}

cp_jemalloc_mallctl *cp_jemalloc_hooks_mallctl(bool in_file)
{
	return NULL;
}

#else

#define SYMBOLS 512 /* symbols read at once: 12 KiB of stack */
#define NAMES 8192
#define WANTED 32

/* The argument of experimental.hooks.install, which checks the layout by its size. */
struct hooks {
	void (*alloc)(void *, unsigned, void *, uintptr_t, const uintptr_t[3]);
	void (*dalloc)(void *, unsigned, void *, const uintptr_t[3]);
	void (*expand)(void *, unsigned, void *, size_t, size_t, uintptr_t, const uintptr_t[4]);
	void *extra;
};

/* Names in a plain build, with redis's prefix, with Rust's prefix. */
static const char *const called[] = { "mallctl", "je_mallctl", "_rjem_mallctl" };
#define CALLED (sizeof(called) / sizeof(*called))
#define LONGEST 14 /* longest wanted name, with its NUL */

static cp_jemalloc_mallctl *mallctl_found;
static bool looked;
static void *handle; /* handle of the installed hooks */
static bool sampled; /* the hooks for jemalloc's own samples are installed */
static bool hooked;  /* in this run, or in the run that just ended */
static char version[64], unusable[160];

/* Offsets in the name table where wanted names begin. Linkers store one name in another's end. */
struct wanted {
	uint32_t at[WANTED];
	unsigned n;
};

static void take_name(struct wanted *w, const char *text, size_t at, size_t end, uint64_t base)
{
	for (size_t i = 0; i < CALLED; i++) {
		size_t n = strlen(called[i]);

		if (end - at >= n && w->n < WANTED && !memcmp(text + end - n, called[i], n))
			w->at[w->n++] = (uint32_t)(base + end - n);
	}
}

static int find_names(const struct cp_elf *e, const struct cp_elf_symtab *t, struct wanted *w)
{
	char text[NAMES];
	uint64_t step;

	/* Pieces overlap, so every name is complete in some piece. */
	for (uint64_t off = 0; off < t->names_size; off += step) {
		size_t n = t->names_size - off < NAMES ? (size_t)(t->names_size - off) : NAMES;
		size_t from = 0;
		int err = cp_elf_read(e, t->names_off + off, text, n);
		const char *nul;

		if (err)
			return err;
		while ((nul = memchr(text + from, 0, n - from))) {
			take_name(w, text, from, (size_t)(nul - text), off);
			from = (size_t)(nul - text) + 1;
		}
		step = n == NAMES ? NAMES - LONGEST : n;
	}
	return w->n ? 0 : -1;
}

static bool is_wanted(const struct cp_elf *e, const struct wanted *w, const Elf64_Sym *sym)
{
	if (ELF64_ST_TYPE(sym->st_info) != STT_FUNC || sym->st_shndx == SHN_UNDEF)
		return false;
	for (unsigned i = 0; i < w->n; i++)
		if (sym->st_name == w->at[i])
			return cp_elf_code_at(e, sym->st_value) != NULL;
	return false;
}

/* Returns the vaddr of the function, or 0. */
static uint64_t find_symbol(const struct cp_elf *e, const struct cp_elf_symtab *t,
			    const struct wanted *w)
{
	Elf64_Sym chunk[SYMBOLS];
	uint64_t part;

	for (uint64_t i = 0; i < t->count; i += part) {
		part = t->count - i < SYMBOLS ? t->count - i : SYMBOLS;
		if (cp_elf_read(e, t->off + i * sizeof(*chunk), chunk, part * sizeof(*chunk)))
			return 0;
		for (uint64_t k = 0; k < part; k++)
			if (is_wanted(e, w, &chunk[k]))
				return chunk[k].st_value;
	}
	return 0;
}

/* Returns mallctl's address according to the executable's own symbols, or 0. */
static uintptr_t find_inside(void)
{
	uint64_t headers, found = 0;
	struct cp_elf_symtab t;
	struct wanted w = { .n = 0 };
	struct cp_elf e;

	if (cp_elf_open(&e, cp_libc_program_file()))
		return 0;
	if (!cp_elf_find_symtab(&e, SHT_SYMTAB, &t) && !find_names(&e, &t, &w))
		found = find_symbol(&e, &t, &w);
	/* The difference between the program headers' address from the kernel and their vaddr in
	 * the file is the load bias. */
	if (found && !cp_elf_vaddr_of(&e, e.phoff, &headers))
		found += cp_libc_auxval(AT_PHDR) - headers;
	else
		found = 0;
	cp_elf_close(&e);
	return (uintptr_t)found;
}

/* Returns mallctl's address as a dynamic symbol, or NULL. */
static void *find_dynamic(void)
{
	void *f = NULL;

	for (size_t i = 0; !f && i < CALLED; i++)
		f = cp_loaded_first(called[i]);
	return f;
}

cp_jemalloc_mallctl *cp_jemalloc_hooks_mallctl(bool in_file)
{
	uintptr_t at = (uintptr_t)find_dynamic();
	cp_jemalloc_mallctl *f;

	if (!at && in_file)
		at = find_inside();
	memcpy(&f, &at, sizeof(f));
	return f;
}

void cp_jemalloc_hooks_find(void)
{
	void *f;

	if (looked)
		return;
	looked = true;
	f = find_dynamic();
	/* The interposed functions already see the jemalloc that they forward to. */
	if (!f || !cp_allocator_owns(f))
		mallctl_found = cp_jemalloc_hooks_mallctl(true);
}

/* "5.3.0-0-g54eaed1..." is the release 5.3.0, "5.3.0-1-ge13ca99..." a commit later: that of Rust's
 * tikv-jemallocator 0.6. Other versions may number their hooks differently. */
static bool is_known(const char *text)
{
	static const struct {
		const char *release;
		unsigned realloc;
	} known[] = { { "5.2.0-0-", 7 },
		      { "5.2.1-0-", 7 },
		      { "5.3.0-0-", 7 },
		      { "5.3.0-1-", 7 },
		      { "5.3.1-0-", 8 } };

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (cp_text_begins(text, known[i].release)) {
			cp_heap_jemalloc_realloc = known[i].realloc;
			return true;
		}
	return false;
}

/* TEXT is "5.3.0", or "5.3.0-1" between releases. */
static void set_version(const char *text)
{
	char *rest;

	cp_text_format(version, sizeof(version), "%s", text);
	rest = strstr(version, "-0-g");
	if (!rest)
		rest = strstr(version, "-g");
	if (rest)
		*rest = '\0';
}

/* Returns true from 5.3.1 on: the arguments of the hooks for samples have changed before. */
static bool has_sample_hooks(const char *text)
{
	uint64_t release = 0;

	for (unsigned i = 0; i < 3; i++) {
		uint64_t part = 0;

		while (*text >= '0' && *text <= '9')
			part = part * 10 + (uint64_t)(*text++ - '0');
		text += *text == '.';
		release = release << 16 | part;
	}
	return release >= (UINT64_C(5) << 32 | 3 << 16 | 1);
}

static bool install_all(void)
{
	struct hooks hooks = { cp_heap_jemalloc_alloc, cp_heap_jemalloc_dalloc,
			       cp_heap_jemalloc_expand, NULL };
	size_t size = sizeof(handle);
	int err =
		mallctl_found("experimental.hooks.install", &handle, &size, &hooks, sizeof(hooks));

	if (!err && handle)
		return true;
	handle = NULL;
	cp_text_format(unusable, sizeof(unusable), "jemalloc %s takes no hooks (error %d)", version,
		       err);
	return false;
}

static bool is_true(const char *name)
{
	bool value = false;
	size_t size = sizeof(value);

	return !mallctl_found(name, &value, &size, NULL, 0) && value;
}

/* Set the hooks SAMPLE and FREED; NULL removes one. */
static int set_sample_hooks(cp_heap_jemalloc_sample *sample, cp_heap_jemalloc_sample_free *freed)
{
	int err = mallctl_found("experimental.hooks.prof_sample_free", NULL, NULL, &freed,
				sizeof(freed));

	return err ? err
		   : mallctl_found("experimental.hooks.prof_sample", NULL, NULL, &sample,
				   sizeof(sample));
}

/* Does the program use these hooks itself? */
static bool are_taken(void)
{
	cp_heap_jemalloc_sample *sample = NULL;
	cp_heap_jemalloc_sample_free *freed = NULL;
	size_t size = sizeof(sample), free_size = sizeof(freed);

	return mallctl_found("experimental.hooks.prof_sample", &sample, &size, NULL, 0) ||
	       mallctl_found("experimental.hooks.prof_sample_free", &freed, &free_size, NULL, 0) ||
	       sample || freed;
}

/* Versions after 5.3.1 report only the blocks that jemalloc samples itself. */
static bool install_samples(void)
{
	size_t shift = 0, size = sizeof(shift);
	const char *why = NULL;

	if (!is_true("config.prof"))
		why = "it must be built with --enable-prof";
	else if (!is_true("opt.prof") || !is_true("prof.active"))
		why = "it must run with MALLOC_CONF=prof:true,prof_active:true";
	else if (mallctl_found("prof.lg_sample", &shift, &size, NULL, 0) || are_taken())
		why = "others use its hooks for them";
	cp_heap_jemalloc_interval = shift ? UINT64_C(1) << (shift & 63) : 2;
	if (!why && set_sample_hooks(cp_heap_jemalloc_sampled, cp_heap_jemalloc_freed))
		why = "it does not take the hooks for them";
	if (why)
		cp_text_format(unusable, sizeof(unusable),
			       "jemalloc %s tells of its own samples only: %s", version, why);
	return !why;
}

void cp_jemalloc_hooks_start(void)
{
	const char *text = NULL;
	size_t size = sizeof(text);

	if (handle || sampled)
		return;
	hooked = false;
	unusable[0] = '\0';
	if (!mallctl_found || mallctl_found("version", &text, &size, NULL, 0) || !text)
		return;
	set_version(text);
	if (is_known(text))
		hooked = install_all();
	else if (has_sample_hooks(text))
		hooked = sampled = install_samples();
	else
		cp_text_format(unusable, sizeof(unusable), "the hooks of jemalloc %s are not known",
			       text);
}

void cp_jemalloc_hooks_stop(void)
{
	if (handle)
		mallctl_found("experimental.hooks.remove", NULL, NULL, &handle, sizeof(handle));
	handle = NULL;
	if (sampled)
		set_sample_hooks(NULL, NULL);
	sampled = false;
}

const char *cp_jemalloc_hooks_version(void)
{
	return hooked ? version : NULL;
}

uint64_t cp_jemalloc_hooks_interval(void)
{
	return hooked ? cp_heap_jemalloc_interval : 0;
}

const char *cp_jemalloc_hooks_unusable(void)
{
	return unusable[0] ? unusable : NULL;
}

#endif

/* Reads backtraces out of jemalloc's own samples. */

#ifdef CP_WITHOUT_JEMALLOC

bool cp_jemalloc_hooks_backtrace(bool in_file)
{
	return false;
}

#else

#define HOOK "experimental.hooks.prof_backtrace"

bool cp_jemalloc_hooks_backtrace(bool in_file)
{
	cp_jemalloc_mallctl *ctl = cp_jemalloc_hooks_mallctl(in_file);
	cp_heap_jemalloc_unwinder *had = NULL, *ours = cp_heap_jemalloc_backtrace;
	size_t size = sizeof(had), flag_size = sizeof(bool);
	bool profiles = false;

	if (!ctl || ctl("opt.prof", &profiles, &flag_size, NULL, 0) || !profiles)
		return false;
	/* Versions before 5.3.0 have no such hook. */
	if (ctl(HOOK, &had, &size, NULL, 0) || !had || !cp_unwinders_default())
		return false;
	return ctl(HOOK, NULL, NULL, &ours, sizeof(ours)) == 0;
}

#endif
