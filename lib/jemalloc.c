/* jemalloc's hooks: where its mallctl is, and what is asked of it; see jemalloc.h.
 *
 * mallctl is a dynamic symbol, or one in .symtab of the executable's file, which is found by two
 * streaming passes: over the names, and only where they hold one of ours, over the symbols.
 */
#include "jemalloc.h"

#include "cp-build.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

#include "allocator.h"
#include "elf.h"
#include "sigsafe/heap_jemalloc.h"
#include "sigsafe/text.h"

#ifdef CP_WITHOUT_JEMALLOC

void cp_jemalloc_find(void)
{
}

bool cp_jemalloc_start(void)
{
	return false;
}

void cp_jemalloc_stop(void)
{
}

const char *cp_jemalloc_version(void)
{
	return NULL;
}

const char *cp_jemalloc_unusable(void)
{
	return NULL;
}

#else

#define SYMBOLS 512 /* read at once: 12 KiB of stack */
#define NAMES 8192
#define WANTED 32

typedef int mallctl_function(const char *, void *, size_t *, void *, size_t);

/* What experimental.hooks.install takes: its layout is checked by size there. */
struct hooks {
	void (*alloc)(void *, unsigned, void *, uintptr_t, const uintptr_t[3]);
	void (*dalloc)(void *, unsigned, void *, const uintptr_t[3]);
	void (*expand)(void *, unsigned, void *, size_t, size_t, uintptr_t, const uintptr_t[4]);
	void *extra;
};

/* As built plain, with redis's prefix, with Rust's. */
static const char *const called[] = { "mallctl", "je_mallctl", "_rjem_mallctl" };
#define CALLED (sizeof(called) / sizeof(*called))
#define LONGEST 14 /* with its NUL */

static mallctl_function *mallctl_found;
static bool looked;
static void *handle; /* of the installed hooks */
static bool hooked;  /* in this run, or in the one that just ended */
static char version[64], unusable[160];

/* Offsets in the names where the names we look for begin; linkers keep one name in another's end.
 */
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

	/* Pieces overlap, so that no name is cut in all of them. */
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

/* vaddr of the function, or 0. */
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

/* Address of mallctl by the executable's own symbols, or 0. */
static uintptr_t find_inside(void)
{
	uint64_t headers, found = 0;
	struct cp_elf_symtab t;
	struct wanted w = { .n = 0 };
	struct cp_elf e;

	if (cp_elf_open(&e, "/proc/self/exe"))
		return 0;
	if (!cp_elf_find_symtab(&e, SHT_SYMTAB, &t) && !find_names(&e, &t, &w))
		found = find_symbol(&e, &t, &w);
	/* The kernel says where the program headers are; the file, where they'd be unmoved. */
	if (found && !cp_elf_vaddr_of(&e, e.phoff, &headers))
		found += getauxval(AT_PHDR) - headers;
	else
		found = 0;
	cp_elf_close(&e);
	return (uintptr_t)found;
}

void cp_jemalloc_find(void)
{
	uintptr_t inside;
	void *f = NULL;

	if (looked)
		return;
	looked = true;
	for (size_t i = 0; !f && i < CALLED; i++)
		f = dlsym(RTLD_DEFAULT, called[i]);
	/* That of the malloc that ours forwards to is seen already. */
	if (f && cp_allocator_owns(f))
		return;
	inside = f ? (uintptr_t)f : find_inside();
	memcpy(&mallctl_found, &inside, sizeof(mallctl_found));
}

/* "5.3.0-0-g54eaed1..." is 5.3.0 as released. What lies between releases, or after those that we
 * know, may number its hooks otherwise. */
static bool is_known(const char *text)
{
	static const struct {
		const char *release;
		unsigned realloc;
	} known[] = { { "5.2.0-0-", 7 }, { "5.2.1-0-", 7 }, { "5.3.0-0-", 7 } };

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strncmp(text, known[i].release, strlen(known[i].release))) {
			cp_heap_jemalloc_realloc = known[i].realloc;
			cp_format(version, sizeof(version), "%s", text);
			version[strcspn(version, "-")] = '\0';
			return true;
		}
	cp_format(unusable, sizeof(unusable), "the hooks of jemalloc %s are not known", text);
	return false;
}

bool cp_jemalloc_start(void)
{
	struct hooks hooks = { cp_heap_jemalloc_alloc, cp_heap_jemalloc_dalloc,
			       cp_heap_jemalloc_expand, NULL };
	const char *text = NULL;
	size_t size = sizeof(text), handle_size = sizeof(handle);
	int err;

	if (handle)
		return true;
	hooked = false;
	unusable[0] = '\0';
	if (!mallctl_found || mallctl_found("version", &text, &size, NULL, 0) || !text ||
	    !is_known(text))
		return false;
	err = mallctl_found("experimental.hooks.install", &handle, &handle_size, &hooks,
			    sizeof(hooks));
	hooked = !err && handle;
	if (hooked)
		return true;
	handle = NULL;
	cp_format(unusable, sizeof(unusable), "jemalloc %s takes no hooks (error %d)", version,
		  err);
	return false;
}

void cp_jemalloc_stop(void)
{
	if (handle)
		mallctl_found("experimental.hooks.remove", NULL, NULL, &handle, sizeof(handle));
	handle = NULL;
}

const char *cp_jemalloc_version(void)
{
	return hooked ? version : NULL;
}

const char *cp_jemalloc_unusable(void)
{
	return unusable[0] ? unusable : NULL;
}

#endif
