/* SPDX-License-Identifier: BSD-3-Clause */
/* Turns ids into numbers; see model.h. */
#include "core/model.h"

#include <stdlib.h>
#include <string.h>

#include "core/core.h"

#define SMALL_MAX ((uint64_t)1 << 20)

static uint32_t small_number(struct ct_ids *ids, uint64_t id)
{
	size_t before = ids->small_room;

	if (id >= before) {
		ids->small =
			ct_memory_grow(ids->small, &ids->small_room, id + 1, sizeof(*ids->small));
		memset(ids->small + before, 0, (ids->small_room - before) * sizeof(*ids->small));
	}
	if (!ids->small[id])
		ids->small[id] = ++ids->count;
	return ids->small[id] - 1;
}

static size_t slot(const struct ct_ids *ids, uint64_t id)
{
	uint64_t h = id * UINT64_C(0x9e3779b97f4a7c15);
	size_t at = (h ^ h >> 32) & (ids->room - 1);

	while (ids->keys[at] && ids->keys[at] != id)
		at = (at + 1) & (ids->room - 1);
	return at;
}

static void double_room(struct ct_ids *ids)
{
	struct ct_ids old = *ids;

	ids->room = old.room ? old.room * 2 : 1024;
	ids->keys = ct_memory_alloc(ids->room * sizeof(*ids->keys));
	ids->numbers = ct_memory_alloc(ids->room * sizeof(*ids->numbers));
	for (size_t i = 0; i < old.room; i++) {
		if (old.keys[i]) {
			size_t at = slot(ids, old.keys[i]);

			ids->keys[at] = old.keys[i];
			ids->numbers[at] = old.numbers[i];
		}
	}
	free(old.keys);
	free(old.numbers);
}

uint32_t ct_ids_take(struct ct_ids *ids, uint64_t id)
{
	size_t at;

	if (id < SMALL_MAX)
		return small_number(ids, id);
	if ((ids->used + 1) * 2 > ids->room)
		double_room(ids);
	at = slot(ids, id);
	if (!ids->keys[at]) {
		ids->keys[at] = id;
		ids->numbers[at] = ids->count++;
		ids->used++;
	}
	return ids->numbers[at];
}

void ct_ids_release(struct ct_ids *ids)
{
	free(ids->small);
	free(ids->keys);
	free(ids->numbers);
	*ids = (struct ct_ids){ 0 };
}
