/* SPDX-License-Identifier: BSD-3-Clause */
/* Interned sets of labels; see thread.h. */
#include "sample/thread.h"

#include <string.h>

#include "base/sys.h"

#define BUCKETS (UINT32_C(1) << 17)
#define SETS_MAX (BUCKETS / 2)
#define ARENA ((size_t)16 << 20)

struct set {
	uint32_t hash, size;
	char text[];
};

/* Mapped whole; only the used part is resident. A set's number is its offset in 8-byte units, plus
 * one. */
struct table {
	uint64_t used; /* bytes of ARENA that were asked for; may exceed its size */
	uint32_t sets;
	uint32_t buckets[BUCKETS]; /* set numbers, linear probing; 0 = empty */
	char arena[ARENA] __attribute__((aligned(8)));
};

static struct table *table;

static struct table *get_table(void)
{
	struct table *t = cp_load_acquire(&table), *none = NULL, *made;

	if (t)
		return t;
	made = cp_sys_map(sizeof(*made));
	if (!made)
		return NULL;
	/* Acquire-release: pairs with the load above. A thread that comes second uses the table of
	 * the first. */
	if (cp_cas_acqrel(&table, &none, made))
		return made;
	cp_sys_unmap(made, sizeof(*made));
	return none;
}

/* Returns the FNV-1a hash, multiplied so that the low bits are spread. */
static uint32_t hash_of(const char *text, size_t size)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < size; i++)
		h = (h ^ (uint8_t)text[i]) * UINT64_C(0x100000001b3);
	return (uint32_t)((h * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
}

static struct set *set_at(struct table *t, uint32_t number)
{
	return (struct set *)(t->arena + (size_t)(number - 1) * 8);
}

/* Stores a new set. Only one in PART of the store may be used. */
static uint32_t new_set(struct table *t, uint32_t hash, const char *text, size_t size,
			unsigned part)
{
	size_t bytes = (sizeof(struct set) + size + 7) / 8 * 8;
	uint64_t at;
	struct set *s;

	if (cp_load_relaxed(&t->used) + bytes > ARENA / part ||
	    cp_load_relaxed(&t->sets) >= SETS_MAX / part)
		return CP_LABELSET_LOST;
	at = cp_add_relaxed(&t->used, bytes);
	if (at + bytes > ARENA)
		return CP_LABELSET_LOST;
	s = (struct set *)(t->arena + at);
	s->hash = hash;
	s->size = (uint32_t)size;
	memcpy(s->text, text, size);
	return (uint32_t)(at / 8) + 1;
}

static bool is_set(struct table *t, uint32_t number, uint32_t hash, const char *text, size_t size)
{
	const struct set *s = set_at(t, number);

	return s->hash == hash && s->size == size && !memcmp(s->text, text, size);
}

static uint32_t add_set(const char *text, size_t size, unsigned part)
{
	struct table *t = size ? get_table() : NULL;
	uint32_t hash, made = 0;

	if (!size)
		return CP_LABELSET_NONE;
	if (!t)
		return CP_LABELSET_LOST;
	hash = hash_of(text, size);
	for (uint32_t i = hash % BUCKETS;; i = (i + 1) % BUCKETS) {
		/* Acquire: pairs with the compare-and-swap below; the set is complete. */
		uint32_t number = cp_load_acquire(&t->buckets[i]);

		if (!number && !made)
			made = new_set(t, hash, text, size, part);
		if (made == CP_LABELSET_LOST)
			return made;
		if (!number && cp_cas_acqrel(&t->buckets[i], &number, made)) {
			cp_add_relaxed(&t->sets, 1);
			return made;
		}
		/* If another thread was faster with the same set, the set made here stays
		 * unused. */
		if (is_set(t, number, hash, text, size))
			return number;
	}
}

uint32_t cp_labelset_add(const char *text, size_t size)
{
	return add_set(text, size, 1);
}

uint32_t cp_labelset_add_spare(const char *text, size_t size)
{
	return add_set(text, size, 2);
}

const char *cp_labelset_text(uint32_t set, size_t *size)
{
	struct table *t = cp_load_acquire(&table);

	if (!t || set == CP_LABELSET_NONE || set == CP_LABELSET_LOST) {
		*size = 0;
		return "";
	}
	*size = set_at(t, set)->size;
	return set_at(t, set)->text;
}
