/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the symbol tables of the loaded objects; see loaded.h. */
#include "host/loaded.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

#include "base/atomic.h"
#include "base/start_data.h"
#include "unwind/module_list.h"

static int (*iterate)(cp_module_visit *, void *) CP_START_DATA;

static int walk(cp_module_visit *each, void *arg)
{
	if (!cp_load_relaxed(&iterate)) {
		void *f = dlsym(RTLD_NEXT, "dl_iterate_phdr");

		if (!f)
			return -1;
		/* Function pointers and object pointers have the same size on every port. */
		memcpy(&iterate, &f, sizeof(f));
		cp_module_list_set_libc(iterate);
	}
	return cp_module_list_of_libc(each, arg);
}

static bool holds(const struct dl_phdr_info *info, uintptr_t address)
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

struct search {
	uintptr_t address;
	struct cp_loaded_object *o;
};

static int find(struct dl_phdr_info *info, size_t size, void *arg)
{
	const struct search *s = arg;

	(void)size;
	if (!holds(info, s->address))
		return 0;
	*s->o = range_of(info);
	return 1;
}

bool cp_loaded_at(const void *address, struct cp_loaded_object *o)
{
	struct search s = { (uintptr_t)address, o };

	return walk(find, &s) == 1;
}

/* The tables of an object. */
struct tables {
	const uint32_t *hash;
	const ElfW(Sym) * symbols;
	const char *names;
	const ElfW(Half) * versions;
};

/* The loader writes absolute addresses into the dynamic section, except where it is read-only, as
 * the vdso's is. */
static const void *table_at(const struct dl_phdr_info *info, uintptr_t at)
{
	at = holds(info, at) ? at : info->dlpi_addr + at;
	return holds(info, at) ? (const void *)at : NULL;
}

static struct tables tables_of(const struct dl_phdr_info *info)
{
	struct tables t = { 0 };
	const ElfW(Dyn) *d = NULL;

	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			d = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	for (; d && d->d_tag != DT_NULL; d++)
		switch (d->d_tag) {
		case DT_GNU_HASH: t.hash = table_at(info, d->d_un.d_ptr); break;
		case DT_SYMTAB: t.symbols = table_at(info, d->d_un.d_ptr); break;
		case DT_STRTAB: t.names = table_at(info, d->d_un.d_ptr); break;
		case DT_VERSYM: t.versions = table_at(info, d->d_un.d_ptr); break;
		}
	return t;
}

/* Return the next symbol after AFTER (0: the first) whose name has the hash H, as an index; 0 if
 * there is none. Most names end at the filter: two bits of one word. */
static uint32_t next_symbol(const uint32_t *hash, uint32_t h, uint32_t after)
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

#define HIDDEN 0x8000 /* another version is the one that programs are linked with */

/* Return libc's function N, if it is a plain one in one default version. */
static void *of_libc(const struct dl_phdr_info *info, const struct tables *t,
		     const struct cp_loaded_name *n)
{
	for (uint32_t i = 0; (i = next_symbol(t->hash, n->hash, i)) != 0;) {
		const ElfW(Sym) *s = &t->symbols[i];

		if (!(t->versions[i] & HIDDEN) && !strcmp(t->names + s->st_name, n->name))
			return ELF64_ST_TYPE(s->st_info) == STT_FUNC
				       ? (void *)(info->dlpi_addr + s->st_value)
				       : NULL;
	}
	return NULL;
}

struct question {
	struct cp_loaded_name *names;
	unsigned count;
	bool by_libc; /* libc's own function lists the objects */
};

/* Two names with one hash count as the same, which costs a needless dlsym. */
static int ask(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct question *q = arg;
	bool is_libc = holds(info, (uintptr_t)&gnu_get_libc_version);
	struct tables t;

	(void)size;
	if (holds(info, (uintptr_t)&cp_loaded_look))
		return 0;
	if (is_libc)
		q->by_libc = holds(info, (uintptr_t)iterate);
	t = tables_of(info);
	for (unsigned i = 0; i < q->count; i++) {
		struct cp_loaded_name *n = &q->names[i];

		if (t.hash && !next_symbol(t.hash, n->hash, 0))
			continue;
		n->defined = true;
		n->elsewhere |= !is_libc;
		if (is_libc && t.hash && t.symbols && t.names && t.versions)
			n->libc = of_libc(info, &t, n);
	}
	return 0;
}

static uint32_t hash_of(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (unsigned char)*name;
	return h;
}

void cp_loaded_look(struct cp_loaded_name *names, unsigned count)
{
	struct question q = { names, count, false };

	for (unsigned i = 0; i < count; i++) {
		names[i].hash = hash_of(names[i].name);
		names[i].defined = names[i].elsewhere = false;
		names[i].libc = NULL;
	}
	walk(ask, &q);
	/* A replacement of dl_iterate_phdr may leave objects out. */
	for (unsigned i = 0; i < count && !q.by_libc; i++)
		names[i].defined = names[i].elsewhere = true;
}
