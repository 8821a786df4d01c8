/* SPDX-License-Identifier: BSD-3-Clause */
/* Hash table of indices; see report.h. Open addressing, at most three quarters full. A slot lies in
 * one cache line. */
#include "core/report.h"

#include <stdlib.h>
#include <string.h>

uint32_t ct_table_find(const struct ct_table *t, uint64_t hash, ct_table_same *same,
		       const void *context, const void *key)
{
	if (!t->room)
		return UINT32_MAX;
	for (size_t at = hash & (t->room - 1); t->slots[at].index; at = (at + 1) & (t->room - 1))
		if (t->slots[at].hash == (uint32_t)hash &&
		    same(context, t->slots[at].index - 1, key))
			return t->slots[at].index - 1;
	return UINT32_MAX;
}

static void put_slot(struct ct_table *t, struct ct_table_slot slot)
{
	size_t at = slot.hash & (t->room - 1);

	while (t->slots[at].index)
		at = (at + 1) & (t->room - 1);
	t->slots[at] = slot;
}

static void double_room(struct ct_table *t)
{
	struct ct_table old = *t;

	t->room = old.room ? old.room * 2 : 64;
	t->slots = ct_memory_alloc(t->room * sizeof(*t->slots));
	for (size_t i = 0; i < old.room; i++)
		if (old.slots[i].index)
			put_slot(t, old.slots[i]);
	free(old.slots);
}

void ct_table_add(struct ct_table *t, uint64_t hash, uint32_t index)
{
	if ((t->used + 1) * 4 > t->room * 3)
		double_room(t);
	put_slot(t, (struct ct_table_slot){ (uint32_t)hash, index + 1 });
	t->used++;
}

void ct_table_release(struct ct_table *t)
{
	free(t->slots);
	*t = (struct ct_table){ 0 };
}

uint64_t ct_table_hash_words(uint64_t before, const uint32_t *words, size_t count)
{
	uint64_t h = before;

	for (size_t i = 0; i < count; i++)
		h = ct_hash(h, words[i]);
	return h;
}

uint64_t ct_table_hash_text(const char *text)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return h ^ h >> 29;
}
