/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of locks; see lock.h. */
#include "modes/lock/lock.h"

#include "symbols/demangle.h"
#include "base/text.h"
#include "modes/lock/signal/lock_signal.h"

/* Longer names of variables are cut. */
#define NAME_MAX_BYTES 200
/* The largest of libc's locks. A variable of this size with a lock in it is the lock. */
#define LOCK_MAX sizeof(pthread_rwlock_t)

struct item {
	uint64_t address;
	const char *name; /* in the arena; NULL = the address is the name */
	bool within;	  /* ADDRESS may be anywhere in the lock */
};

/* Where a module's data is, from its program headers; .bss is in no file. */
struct extent {
	uint64_t image, low, high; /* first byte of the module; [low, high) */
};

struct cp_lock_names cp_lock_names_of_mode;

static bool same_address(uint32_t item, const void *key, const void *context)
{
	const struct cp_lock_names *n = context;

	return CP_VEC_AT(&n->items, struct item, item)->address == *(const uint64_t *)key;
}

static uint32_t find_name(const struct cp_lock_names *n, uint64_t address)
{
	return cp_index_find(&n->index, cp_index_hash(&address, sizeof(address)), same_address,
			     &address, n);
}

void cp_lock_names_note(struct cp_lock_names *n, uint64_t address, bool within)
{
	struct item *i;

	if (!address || find_name(n, address) != CP_INDEX_NONE)
		return;
	n->items.size = sizeof(struct item);
	i = cp_vec_add(&n->items);
	if (!i)
		return;
	i->address = address;
	i->within = within;
	if (cp_index_add(&n->index, cp_index_hash(&address, sizeof(address)),
			 (uint32_t)(n->items.count - 1)) < 0)
		n->items.count--;
}

static struct cp_symbol_module module_of(const struct cp_mapping *m)
{
	static char exe[CP_THREAD_FILE_PATH];

	return (struct cp_symbol_module){
		.path = m->path,
		.build_id = m->build_id_size ? m->build_id : NULL,
		.build_id_size = m->build_id_size,
		.image = m->image,
		.image_size = m->image_limit - m->image,
		.replaced = m->deleted,
		.also = m->self_exe ? cp_thread_file_path(exe, "exe") : NULL,
	};
}

static const struct extent *known_extent(const struct cp_lock_names *n, uint64_t image)
{
	for (size_t i = 0; i < n->extents.count; i++) {
		const struct extent *x = CP_VEC_AT(&n->extents, struct extent, i);

		if (x->image == image)
			return x;
	}
	return NULL;
}

static const struct extent *read_extent(struct cp_lock_names *n, const struct cp_mapping *m)
{
	const struct cp_symbol_module module = module_of(m);
	struct extent *x;
	struct cp_elf e;

	n->extents.size = sizeof(struct extent);
	x = cp_vec_add(&n->extents);
	if (!x)
		return NULL;
	*x = (struct extent){ m->image, UINT64_MAX, 0 };
	if (cp_symbols_open(&e, &module, NULL))
		return x;
	for (unsigned i = 0; i < e.nloads; i++) {
		uint64_t low = m->image + e.loads[i].vaddr - e.base_vaddr;

		x->low = low < x->low ? low : x->low;
		x->high = low + e.loads[i].memsz > x->high ? low + e.loads[i].memsz : x->high;
	}
	cp_elf_close(&e);
	return x;
}

/* Make a name: "pool", "pool+0x28", or "libfoo.so.1+0x1234". */
static const char *compose(struct cp_lock_names *n, const struct cp_datasym_query *q,
			   const char *path, uint64_t offset)
{
	const struct item *item = CP_VEC_AT(&n->items, struct item, q->user);
	char readable[NAME_MAX_BYTES], text[NAME_MAX_BYTES + 32];
	const char *name = q->name, *slash = strrchr(path, '/');
	size_t size;

	if (name && cp_demangle(name, readable, sizeof(readable)))
		name = readable;
	if (name)
		offset = item->within && q->size <= LOCK_MAX ? 0 : q->vaddr - q->start;
	else
		name = slash ? slash + 1 : path;
	size = offset ? cp_text_format(text, sizeof(text), "%s+0x%lx", name, (unsigned long)offset)
		      : cp_text_format(text, sizeof(text), "%s", name);
	return cp_arena_text(&n->arena, text, size < sizeof(text) ? size : sizeof(text) - 1);
}

static void name_queries(struct cp_lock_names *n, const struct cp_mapping *m,
			 struct cp_vec *queries)
{
	const struct cp_symbol_module module = module_of(m);
	struct cp_datasym_query *q = queries->items;
	struct cp_elf e;

	if (cp_symbols_open(&e, &module, NULL))
		return;
	for (size_t i = 0; i < queries->count; i++)
		q[i].vaddr += e.base_vaddr;
	/* If the table can't be read, a lock is named by its offset in the module. */
	(void)cp_datasym_find(&e, q, queries->count, &n->arena);
	for (size_t i = 0; i < queries->count; i++)
		CP_VEC_AT(&n->items, struct item, q[i].user)->name =
			compose(n, &q[i], m->path, q[i].vaddr - e.base_vaddr);
	cp_elf_close(&e);
}

static void name_in(struct cp_lock_names *n, const struct cp_mapping *m)
{
	const struct extent *x = known_extent(n, m->image);
	struct cp_vec queries = { .size = sizeof(struct cp_datasym_query) };

	if (!x)
		x = read_extent(n, m);
	for (size_t i = n->done; x && i < n->items.count; i++) {
		const struct item *item = CP_VEC_AT(&n->items, struct item, i);
		struct cp_datasym_query *q;

		if (item->name || item->address < x->low || item->address >= x->high)
			continue;
		q = cp_vec_add(&queries);
		if (!q)
			break;
		q->vaddr = item->address - m->image;
		q->user = i;
	}
	if (queries.count)
		name_queries(n, m, &queries);
	cp_vec_release(&queries);
}

void cp_lock_names_find(struct cp_lock_names *n, const struct cp_modules *modules)
{
	if (n->done == n->items.count)
		return;
	for (uint32_t i = 0; i < modules->mappings.count; i++) {
		const struct cp_mapping *m = cp_modules_at(modules, i);

		if (m->live && m->image && !m->anonymous)
			name_in(n, m);
	}
	n->done = n->items.count;
}

void cp_lock_names_update(struct cp_lock_names *n, const struct cp_aggregate *a, size_t first)
{
	for (size_t i = first; i < a->stacks.count; i++)
		cp_lock_names_note(
			n, cp_lock_of_tag(CP_VEC_AT(&a->stacks, struct cp_stack, i)->tag), false);
	cp_lock_names_find(n, a->modules);
}

const char *cp_lock_names_of(const struct cp_lock_names *n, uint64_t address)
{
	uint32_t item = find_name(n, address);

	return item == CP_INDEX_NONE ? NULL : CP_VEC_AT(&n->items, struct item, item)->name;
}

void cp_lock_names_release(struct cp_lock_names *n)
{
	cp_arena_release(&n->arena);
	cp_vec_release(&n->items);
	cp_vec_release(&n->extents);
	cp_index_release(&n->index);
	n->done = 0;
}
