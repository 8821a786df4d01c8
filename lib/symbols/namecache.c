/* SPDX-License-Identifier: BSD-3-Clause */
/* The store of found names; see symbols.h.
 *
 *   | SLOTS numbers of entries, 0 = free | used | entry | entry | ...
 *
 * Entries are only added. An entry is complete before its number is in a slot, so readers need no
 * lock. Another process may have written anything here, so every number is checked, and a name is
 * copied before it is used.
 */
#include "symbols/symbols.h"

#include <string.h>

#include "base/atomic.h"
#include "base/sys.h"

#define SIZE ((size_t)512 << 10)
#define SLOTS 8192u
#define TRIES 8u /* slots that may hold an entry */
#define UNIT 8u	 /* a slot's number counts these bytes */
#define LENGTH_MAX 1024u
#define NO_NAME UINT32_MAX

struct store {
	uint32_t slots[SLOTS];
	uint64_t used; /* bytes after this struct */
};

struct entry {
	uint64_t module, offset, start, address;
	uint32_t length; /* of the name; NO_NAME: no symbol covers the place */
	char name[];
};

static struct store *store;

void cp_namecache_begin(void)
{
	struct store *none = NULL, *made;

	if (cp_load_acquire(&store))
		return;
	made = cp_sys_map_shared(SIZE);
	if (made && !cp_cas_acqrel(&store, &none, made))
		cp_sys_unmap(made, SIZE);
}

uint64_t cp_namecache_module(const struct cp_mapping *m)
{
	uint64_t file[2] = { m->inode, m->device };
	uint64_t key = cp_index_hash(m->path, strlen(m->path));

	if (m->anonymous && !m->vdso && !m->kernel)
		return 0;
	if (!strncmp(m->path, "/memfd:", 7))
		return 0;
	key = key << 32 | (cp_index_hash(file, sizeof(file)) ^
			   cp_index_hash(m->build_id, m->build_id_size) ^ m->deleted);
	return key ? key : 1;
}

static uint32_t first_slot(uint64_t module, uint64_t offset)
{
	uint64_t key[2] = { module, offset };

	return cp_index_hash(key, sizeof(key));
}

static const struct entry *entry_at(const struct store *s, uint32_t number)
{
	size_t at = (size_t)number * UNIT;

	return at >= sizeof(*s) && at <= SIZE - sizeof(struct entry)
		       ? (const struct entry *)((const char *)s + at)
		       : NULL;
}

static const struct entry *find_entry(const struct store *s, uint64_t module, uint64_t offset)
{
	uint32_t first = first_slot(module, offset);

	for (uint32_t i = 0; i < TRIES; i++) {
		uint32_t number = cp_load_acquire(&s->slots[(first + i) % SLOTS]);
		const struct entry *e = number ? entry_at(s, number) : NULL;

		if (!e)
			return NULL;
		if (e->module == module && e->offset == offset)
			return e;
	}
	return NULL;
}

/* Copy what E says into Q. Returns false if it can't. */
static bool copy_entry(const struct entry *e, struct cp_symbol_query *q, const struct store *s,
		       struct cp_arena *names)
{
	uint32_t length = cp_load_relaxed(&e->length);

	q->name = NULL;
	if (length != NO_NAME) {
		if (length > LENGTH_MAX || length > (size_t)((const char *)s + SIZE - e->name))
			return false;
		q->name = cp_arena_text(names, e->name, length);
		if (!q->name)
			return false;
	}
	q->start = e->start;
	q->address = e->address;
	return true;
}

size_t cp_namecache_answer(uint64_t module, struct cp_symbol_query *q, size_t n,
			   struct cp_arena *names)
{
	const struct store *s = cp_load_acquire(&store);
	size_t left = 0;

	if (!s || !module)
		return n;
	for (size_t i = 0; i < n; i++) {
		const struct entry *e = find_entry(s, module, q[i].offset);

		if (!e || !copy_entry(e, &q[i], s, names)) {
			struct cp_symbol_query unknown = q[i];

			q[i] = q[left];
			q[left++] = unknown;
		}
	}
	return left;
}

static void publish(struct store *s, uint32_t first, uint32_t number)
{
	for (uint32_t i = 0; i < TRIES; i++) {
		uint32_t free = 0;

		if (cp_cas_acqrel(&s->slots[(first + i) % SLOTS], &free, number))
			return;
	}
}

static void add_entry(struct store *s, uint64_t module, const struct cp_symbol_query *q)
{
	size_t length = q->name ? strlen(q->name) : 0;
	uint64_t bytes = (sizeof(struct entry) + length + UNIT - 1) / UNIT * UNIT, at;
	struct entry *e;

	if (length > LENGTH_MAX || cp_load_relaxed(&s->used) > SIZE - sizeof(*s) - bytes)
		return;
	at = cp_add_relaxed(&s->used, bytes);
	if (at > SIZE - sizeof(*s) - bytes)
		return;
	e = (struct entry *)((char *)(s + 1) + at);
	e->module = module;
	e->offset = q->offset;
	e->start = q->start;
	e->address = q->address;
	e->length = q->name ? (uint32_t)length : NO_NAME;
	memcpy(e->name, q->name ? q->name : "", length);
	publish(s, first_slot(module, q->offset), (uint32_t)((char *)e - (char *)s) / UNIT);
}

void cp_namecache_keep(uint64_t module, const struct cp_symbol_query *q, size_t n, bool named)
{
	cp_namecache_begin();
	for (size_t i = 0; store && module && i < n; i++)
		if (q[i].name || !named)
			add_entry(store, module, &q[i]);
}
