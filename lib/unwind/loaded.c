/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the symbol tables of the loaded modules; see unwind.h. */
#include "unwind/unwind.h"

#include <dlfcn.h>

#include "base/libc.h"
#include "base/start_data.h"

static bool module_holds(const struct dl_phdr_info *info, uintptr_t address)
{
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && address - (info->dlpi_addr + p->p_vaddr) < p->p_memsz)
			return true;
	}
	return false;
}

static struct cp_loaded_object range_of(const struct dl_phdr_info *info)
{
	struct cp_loaded_object o = { UINTPTR_MAX, 0, info->dlpi_name ? info->dlpi_name : "" };

	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD)
			continue;
		if (start < o.low)
			o.low = start;
		if (start + p->p_memsz > o.high)
			o.high = start + p->p_memsz;
	}
	return o;
}

/* The tables of a module. */
struct tables {
	const uint32_t *hash;
	const uint32_t *old_hash; /* DT_HASH; read only if there is no other */
	const ElfW(Sym) * symbols;
	const char *names;
	const ElfW(Half) * versions; /* NULL if symbols have no versions */
};

/* The loader writes absolute addresses into the dynamic section, except where it is read-only, as
 * the vdso's is. */
static const void *table_at(uintptr_t bias, uintptr_t at)
{
	return (const void *)(at < bias ? bias + at : at);
}

static struct tables tables_of(uintptr_t bias, const ElfW(Dyn) * d)
{
	struct tables t = { 0 };

	for (; d && d->d_tag != DT_NULL; d++)
		switch (d->d_tag) {
		case DT_GNU_HASH: t.hash = table_at(bias, d->d_un.d_ptr); break;
		case DT_HASH: t.old_hash = table_at(bias, d->d_un.d_ptr); break;
		case DT_SYMTAB: t.symbols = table_at(bias, d->d_un.d_ptr); break;
		case DT_STRTAB: t.names = table_at(bias, d->d_un.d_ptr); break;
		case DT_VERSYM: t.versions = table_at(bias, d->d_un.d_ptr); break;
		}
	return t;
}

static struct tables tables_of_module(const struct dl_phdr_info *info)
{
	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			return tables_of(
				info->dlpi_addr,
				(const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr));
	return (struct tables){ 0 };
}

uint32_t cp_loaded_hash(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (unsigned char)*name;
	return h;
}

/* Return the next symbol after AFTER (0: the first) whose name has the hash H, as an index; 0 if
 * there is none. Most names end at the filter: two bits of one word. */
static uint32_t next_hashed(const uint32_t *hash, uint32_t h, uint32_t after)
{
	uint32_t buckets = hash[0], first = hash[1], words = hash[2], shift = hash[3];
	const ElfW(Addr) *filter = (const void *)(hash + 4);
	const uint32_t *bucket = (const void *)(filter + words), *chain = bucket + buckets;
	unsigned bits = 8 * sizeof(*filter);
	uint32_t i = after + 1;

	if (!after) {
		ElfW(Addr) word = filter[h / bits % words];

		if (!(word >> h % bits & word >> (h >> shift) % bits & 1))
			return 0;
		i = bucket[h % buckets];
	} else if (chain[after - first] & 1) {
		return 0;
	}
	for (; i >= first; i++) {
		if ((chain[i - first] | 1) == (h | 1))
			return i;
		if (chain[i - first] & 1)
			break;
	}
	return 0;
}

/* The same with either kind of hash table; the old kind gives all symbols. */
static uint32_t next_symbol(const struct tables *t, uint32_t h, uint32_t after)
{
	if (t->hash)
		return next_hashed(t->hash, h, after);
	return t->old_hash && after + 1 < t->old_hash[1] ? after + 1 : 0;
}

#define HIDDEN 0x8000 /* the bit of versions that programs are not linked with */

static uint32_t version_of(const struct tables *t, uint32_t symbol)
{
	return t->versions ? t->versions[symbol] : 0;
}

/* Numbers of versions rise with their age: the oldest has the lowest. */
static bool is_better(const struct tables *t, uint32_t symbol, uint32_t than, bool oldest)
{
	uint32_t a = version_of(t, symbol), b = version_of(t, than);

	if (!than)
		return true;
	return !oldest && (a ^ b) & HIDDEN ? b & HIDDEN : (a & ~HIDDEN) < (b & ~HIDDEN);
}

/* Return the module's definition of NAME, or NULL. */
static const ElfW(Sym) *
	definition(const struct tables *t, const char *name, uint32_t hash, bool oldest)
{
	uint32_t best = 0;

	if (!t->symbols || !t->names)
		return NULL;
	for (uint32_t i = 0; (i = next_symbol(t, hash, i)) != 0;)
		if (t->symbols[i].st_shndx != SHN_UNDEF &&
		    ELF64_ST_BIND(t->symbols[i].st_info) != STB_LOCAL &&
		    !strcmp(t->names + t->symbols[i].st_name, name) &&
		    is_better(t, i, best, oldest))
			best = i;
	return best ? &t->symbols[best] : NULL;
}

/* Find libc's dl_iterate_phdr: the program may define another one. No module that comes before libc
 * in the loader's list ever leaves it. */
static void *find_iterate(void)
{
	void *libc = NULL, *f = NULL;

	for (const struct link_map *m = _r_debug.r_map; m && !f; m = m->l_next) {
		struct tables t = tables_of(m->l_addr, m->l_ld);
		const ElfW(Sym) *s =
			definition(&t, CP_LIBC_SYMBOL, cp_loaded_hash(CP_LIBC_SYMBOL), false);

		libc = s ? (void *)(m->l_addr + s->st_value) : NULL;
		if (libc != CP_LIBC_ADDRESS)
			continue;
		s = definition(&t, "dl_iterate_phdr", cp_loaded_hash("dl_iterate_phdr"), false);
		f = s ? (void *)(m->l_addr + s->st_value) : NULL;
	}
	/* In a namespace of its own. */
	return f ? f : dlsym(RTLD_NEXT, "dl_iterate_phdr");
}

static int walk_modules(cp_module_visit *each, void *arg)
{
	static uint32_t known CP_START_DATA;
	int (*iterate)(cp_module_visit *, void *);
	void *f;

	if (!cp_load_acquire(&known)) {
		f = find_iterate();
		if (!f)
			return -1;
		/* Function pointers and object pointers have the same size on every port. */
		memcpy(&iterate, &f, sizeof(f));
		cp_module_list_set_libc(iterate);
		cp_store_release(&known, 1);
	}
	return cp_module_list_of_libc(each, arg);
}

static bool is_file(const struct dl_phdr_info *info, const char *file)
{
	const char *name = info->dlpi_name ? info->dlpi_name : "", *slash = strrchr(name, '/');

	return !strcmp(slash ? slash + 1 : name, file);
}

/* Before glibc 2.34, libc consisted of several libraries. */
static bool is_of_libc(const struct dl_phdr_info *info)
{
	return module_holds(info, (uintptr_t)CP_LIBC_ADDRESS) || is_file(info, "libpthread.so.0") ||
	       is_file(info, "librt.so.1") || is_file(info, "libutil.so.1");
}

struct search {
	uintptr_t address;
	const char *file; /* file name; NULL: the module that has ADDRESS is wanted */
	struct cp_loaded_object *o;
};

static int find_loaded(struct dl_phdr_info *info, size_t size, void *arg)
{
	const struct search *s = arg;

	if (s->file ? !is_file(info, s->file) : !module_holds(info, s->address))
		return 0;
	*s->o = range_of(info);
	return 1;
}

bool cp_loaded_at(const void *address, struct cp_loaded_object *o)
{
	struct search s = { (uintptr_t)address, NULL, o };

	return walk_modules(find_loaded, &s) == 1;
}

bool cp_loaded_named(const char *file, struct cp_loaded_object *o)
{
	struct search s = { 0, file, o };

	return walk_modules(find_loaded, &s) == 1;
}

/* Return the address of SYMBOL of the module INFO. The loader itself finds a function that has an
 * implementation for each kind of processor; dlsym of a symbol that exists allocates nothing. */
static void *address_of(const struct dl_phdr_info *info, const ElfW(Sym) * s, const char *name,
			void *scope)
{
	char *tls = info->dlpi_tls_data;

	switch (ELF64_ST_TYPE(s->st_info)) {
	case STT_TLS: return tls ? tls + s->st_value : NULL;
	case STT_GNU_IFUNC: return dlsym(scope, name);
	default:
		return s->st_shndx == SHN_ABS ? (void *)s->st_value
					      : (void *)(info->dlpi_addr + s->st_value);
	}
}

static bool is_own_module(const struct dl_phdr_info *info)
{
	return module_holds(info, (uintptr_t)&cp_loaded_next);
}

static int compare_with_libc(struct dl_phdr_info *info, size_t size, void *unused)
{
	return module_holds(info, (uintptr_t)CP_LIBC_ADDRESS) ? 1 : is_own_module(info) ? 2 : 0;
}

/* Does libc come before libcprof? Then libcprof was loaded when the program ran already, or it was
 * linked so, and no module calls libcprof by itself. The order never changes. */
static bool is_late(void)
{
	static uint32_t known CP_START_DATA;
	uint32_t now = cp_load_relaxed(&known);

	if (!now) {
		now = walk_modules(compare_with_libc, NULL) == 1 ? 1 : 2;
		cp_store_relaxed(&known, now);
	}
	return now == 1;
}

struct question {
	struct cp_loaded_name *names;
	unsigned count, module;
	bool late;
	bool follows; /* the walk has passed libcprof; or, if it was loaded late, the program */
};

static int ask_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct question *q = arg;
	struct tables t;

	if (is_own_module(info)) {
		q->follows = true;
		return 0;
	}
	/* The program comes first. */
	if (q->late && q->module++)
		q->follows = true;
	if (!q->follows && !is_of_libc(info))
		return 0;
	t = tables_of_module(info);
	for (unsigned i = 0; i < q->count; i++) {
		struct cp_loaded_name *n = &q->names[i];
		void **to = q->follows ? &n->next : &n->libc;
		const ElfW(Sym) * s;

		if (*to)
			continue;
		s = definition(&t, n->name, n->hash, n->oldest);
		if (s)
			*to = address_of(info, s, n->name, q->late ? RTLD_DEFAULT : RTLD_NEXT);
	}
	return 0;
}

void cp_loaded_next(struct cp_loaded_name *names, unsigned count)
{
	struct question q = { names, count, 0, is_late(), false };

	for (unsigned i = 0; i < count; i++) {
		names[i].hash = cp_loaded_hash(names[i].name);
		names[i].next = names[i].libc = NULL;
	}
	walk_modules(ask_module, &q);
}

void *cp_loaded_next_one(const char *name)
{
	struct cp_loaded_name n = { .name = name };

	cp_loaded_next(&n, 1);
	return n.next ? n.next : n.libc;
}

struct sought {
	const char *name;
	uint32_t hash;
	const void *address; /* in the module; NULL: any module */
	void *found;
	size_t size;
};

static int seek(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct sought *q = arg;
	struct tables t;
	const ElfW(Sym) * s;

	if (q->address && !module_holds(info, (uintptr_t)q->address))
		return 0;
	t = tables_of_module(info);
	s = definition(&t, q->name, q->hash, false);
	q->found = s ? address_of(info, s, q->name, RTLD_DEFAULT) : NULL;
	q->size = s ? s->st_size : 0;
	return s || q->address;
}

void *cp_loaded_in(const void *address, const char *name)
{
	struct sought q = { name, cp_loaded_hash(name), address, NULL, 0 };

	walk_modules(seek, &q);
	return q.found;
}

void *cp_loaded_first(const char *name)
{
	return cp_loaded_in(NULL, name);
}

void *cp_loaded_first_sized(const char *name, size_t *size)
{
	struct sought q = { name, cp_loaded_hash(name), NULL, NULL, 0 };

	walk_modules(seek, &q);
	*size = q.size;
	return q.found;
}

void *cp_loaded_in_libc(const char *name)
{
	return cp_loaded_in(CP_LIBC_ADDRESS, name);
}

static int is_own(struct dl_phdr_info *info, size_t size, void *f)
{
	return module_holds(info, (uintptr_t)&cp_loaded_is_own)
		       ? 1 + module_holds(info, (uintptr_t)f)
		       : 0;
}

bool cp_loaded_is_own(const void *f)
{
	return walk_modules(is_own, (void *)f) == 2;
}

/* Return the number of the last symbol that T's hash table leads to. */
static uint32_t last_hashed(const struct tables *t)
{
	uint32_t buckets = t->hash[0], first = t->hash[1], words = t->hash[2], last = 0;
	const ElfW(Addr) *filter = (const void *)(t->hash + 4);
	const uint32_t *bucket = (const void *)(filter + words), *chain = bucket + buckets;

	for (uint32_t i = 0; i < buckets; i++)
		last = bucket[i] > last ? bucket[i] : last;
	while (last && !(chain[last - first] & 1))
		last++;
	return last;
}

/* The number of a version that names none. */
#define NO_VERSION 1

static int visit_own(struct dl_phdr_info *info, size_t size, void *arg)
{
	cp_loaded_visit *visit = *(cp_loaded_visit **)arg;
	struct tables t;

	if (!is_own_module(info))
		return 0;
	t = tables_of_module(info);
	for (uint32_t last = t.hash ? last_hashed(&t) : 0, i = t.hash ? t.hash[1] : 1; i <= last;
	     i++) {
		const ElfW(Sym) *s = &t.symbols[i];

		if (s->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(s->st_info) == STT_FUNC &&
		    version_of(&t, i) == NO_VERSION)
			visit(t.names + s->st_name, (void *)(info->dlpi_addr + s->st_value));
	}
	return 1;
}

void cp_loaded_own_functions(cp_loaded_visit *visit)
{
	walk_modules(visit_own, &visit);
}
