/* SPDX-License-Identifier: BSD-3-Clause */
/* Names for addresses: decides which tables are read, in which order; see symbols.h. */
#include "symbols/symbols.h"

#include <errno.h>
#include <string.h>

#include "base/sys.h"

struct lookup {
	const struct cp_symbol_module *m;
	struct cp_elf
		layout; /* headers of the module's file or image, which convert offsets to vaddrs */
	struct cp_symtab_target *targets; /* targets without a name so far */
	size_t n;
	struct cp_arena *names;
	struct cp_ehfunc fdes; /* the module's unwind table */
	bool has_fdes;
	unsigned tables; /* number of tables that were read */
	int trouble;	 /* why a file could not be read, or 0 */
};

_Static_assert(offsetof(struct cp_symbol_query, offset) == 0, "sort key");
_Static_assert(offsetof(struct cp_symtab_target, vaddr) == 0, "sort key");

static bool same_module(const struct cp_elf *e, const struct cp_symbol_module *m)
{
	uint8_t id[CP_BUILD_ID_MAX];

	if (!m->build_id || !m->build_id_size)
		return !m->replaced;
	return cp_buildid_of_elf(e, id, sizeof(id)) == (int)m->build_id_size &&
	       !memcmp(id, m->build_id, m->build_id_size);
}

/* Open the file by another path. If this works, an error of the first path no longer matters. */
static int open_also(struct cp_elf *e, const char *path, int *trouble)
{
	int told = 0, r = cp_elf_open_watched(e, path, &told);

	if (trouble && (!r || !*trouble))
		*trouble = told;
	if (!r)
		e->src.trouble = trouble;
	return r;
}

int cp_symbols_open(struct cp_elf *e, const struct cp_symbol_module *m, int *trouble)
{
	const char *path = m->path ? m->path : "";

	if (path[0] == '/' && !cp_elf_open_watched(e, path, trouble)) {
		if (same_module(e, m))
			return 0;
		cp_elf_close(e);
	}
	if (m->also && !open_also(e, m->also, trouble))
		return 0;
	if (!m->image || cp_elf_open_image(e, m->image, m->image_size, !strcmp(path, "[vdso]")))
		return -ENOENT;
	return 0;
}

static void set_targets(struct lookup *l, struct cp_symbol_query *q, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t vaddr;

		q[i].name = NULL;
		q[i].start = 0;
		q[i].address = q[i].offset;
		if (cp_elf_vaddr_of(&l->layout, q[i].offset, &vaddr))
			continue;
		l->targets[l->n++] = (struct cp_symtab_target){ .vaddr = vaddr, .query = &q[i] };
	}
	cp_sort(l->targets, l->n, sizeof(*l->targets));
}

/* Remove targets that got a name; convert their starts to file offsets. */
static void settle_targets(struct lookup *l)
{
	size_t left = 0;

	for (size_t i = 0; i < l->n; i++) {
		struct cp_symtab_target *t = &l->targets[i];
		struct cp_symbol_query *q = t->query;

		if (!q->name)
			l->targets[left++] = *t;
		else if (cp_elf_offset_of(&l->layout, q->start, &q->start))
			q->start = q->offset; /* a symbol that starts outside of the file */
	}
	l->n = left;
}

/* Use the tables of a file. -ENOMEM ends the search; a table that can't be read is skipped. */
static int use(struct lookup *l, const struct cp_elf *e, const struct cp_elf_symtab *t)
{
	int r = cp_symtab_pass(e, t, l->has_fdes ? &l->fdes : NULL, l->targets, l->n, l->names);

	settle_targets(l);
	l->tables += !r;
	return r == -ENOMEM ? r : 0;
}

static int use_symtab(struct lookup *l)
{
	struct cp_elf_symtab t;

	return cp_elf_find_symtab(&l->layout, SHT_SYMTAB, &t) ? 0 : use(l, &l->layout, &t);
}

static int use_debugfile(struct lookup *l)
{
	struct cp_debugfile_query q = {
		.path = l->m->path ? l->m->path : "",
		.module = l->layout.image ? NULL : &l->layout,
		.build_id = l->m->build_id,
		.build_id_size = l->m->build_id ? l->m->build_id_size : 0,
		.trouble = &l->trouble,
	};
	uint8_t id[CP_BUILD_ID_MAX];
	struct cp_elf_symtab t;
	struct cp_elf e;
	int r;

	if (!l->n)
		return 0;
	if (!q.build_id_size) {
		r = cp_buildid_of_elf(&l->layout, id, sizeof(id));
		q.build_id = id;
		q.build_id_size = r > 0 ? (size_t)r : 0;
	}
	if (cp_debugfile_open(&e, &q))
		return 0;
	r = 0;
	if (!cp_elf_find_symtab(&e, SHT_SYMTAB, &t))
		r = use(l, &e, &t);
	cp_elf_close(&e);
	return r;
}

static int use_dynsym(struct lookup *l)
{
	struct cp_elf_symtab t;
	int r = 0;

	if (l->n == 0 && l->tables)
		return 0;
	if (cp_elf_find_symtab(&l->layout, SHT_DYNSYM, &t) && cp_dynsym_find(&l->layout, &t))
		t = (struct cp_elf_symtab){ .count = 0 }; /* a static program has stubs, too */
	else
		r = use(l, &l->layout, &t);
	if (!r && l->n) {
		r = cp_plt_name(&l->layout, &t, l->targets, l->n, l->names);
		settle_targets(l);
	}
	return r == -ENOMEM ? r : 0;
}

/* Gives target T the start of its function, or of the code around it between two symbols that no
 * FDE covers, which is one function for a reader: else each address of it would be one. */
static void place_target(struct lookup *l, struct cp_symtab_target *t)
{
	struct cp_symbol_query *q = t->query;
	const struct cp_elf_range *code = cp_elf_code_at(&l->layout, t->vaddr);
	uint64_t gap;

	q->address = t->vaddr;
	if (l->has_fdes && !cp_ehfunc_start(&l->fdes, t->vaddr, &q->address)) {
		cp_elf_offset_of(&l->layout, q->address, &q->start);
		return;
	}
	if (!code)
		return;
	gap = l->has_fdes ? cp_ehfunc_gap(&l->fdes, t->vaddr) : 0;
	if (t->below.value + t->below.size > gap)
		gap = t->below.value + t->below.size;
	q->address = gap > code->start && gap <= t->vaddr ? gap : code->start;
	if (!cp_elf_offset_of(&l->layout, q->address, &q->start))
		q->start++;
}

/* Gives the remaining targets, which have no name, their places. */
static void name_by_place(struct lookup *l)
{
	for (size_t i = 0; i < l->n; i++)
		place_target(l, &l->targets[i]);
}

int cp_symbols_find(const struct cp_symbol_module *m, struct cp_symbol_query *q, size_t n,
		    struct cp_arena *names)
{
	struct lookup l = { .m = m, .names = names };
	int r;

	if (!n)
		return 0;
	r = cp_symbols_open(&l.layout, m, &l.trouble);
	if (r)
		return l.trouble ? l.trouble : r;
	cp_sort(q, n, sizeof(*q));
	l.targets = n <= SIZE_MAX / sizeof(*l.targets) ? cp_sys_map(n * sizeof(*l.targets)) : NULL;
	if (l.targets) {
		set_targets(&l, q, n);
		l.has_fdes = !cp_ehfunc_open(&l.fdes, &l.layout);
		r = use_symtab(&l);
		if (!r)
			r = use_debugfile(&l);
		if (!r)
			r = use_dynsym(&l);
		if (!r)
			name_by_place(&l);
		cp_sys_unmap(l.targets, n * sizeof(*l.targets));
	} else {
		r = -ENOMEM;
	}
	cp_elf_close(&l.layout);
	if (!r && l.n && l.trouble)
		return l.trouble;
	return r ? r : l.tables ? 0 : -ENOENT;
}
