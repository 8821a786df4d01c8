/* SPDX-License-Identifier: BSD-3-Clause */
/* Hash index; see base.h. */
#include "base/base.h"

#include <errno.h>
#include <string.h>

#include "base/sys.h"

#define ROOM_MIN 512 /* number of slots: one page */

uint32_t cp_index_hash(const void *data, size_t n)
{
	const uint8_t *p = data;
	uint64_t h = n * UINT64_C(0x9e3779b97f4a7c15), w;

	for (; n; p += 8, n -= n < 8 ? n : 8) {
		w = 0;
		memcpy(&w, p, n < 8 ? n : 8);
		h = (h ^ w) * UINT64_C(0xff51afd7ed558ccd);
		h ^= h >> 33;
	}
	h *= UINT64_C(0xc4ceb9fe1a85ec53);
	return (uint32_t)(h ^ h >> 32);
}

uint32_t cp_index_find(const struct cp_index *ix, uint32_t hash,
		       bool (*same)(uint32_t item, const void *key, const void *context),
		       const void *key, const void *context)
{
	if (!ix->room)
		return CP_INDEX_NONE;
	for (size_t i = hash & (ix->room - 1); ix->slots[i].item; i = (i + 1) & (ix->room - 1))
		if (ix->slots[i].hash == hash && same(ix->slots[i].item - 1, key, context))
			return ix->slots[i].item - 1;
	return CP_INDEX_NONE;
}

static void insert_slot(struct cp_index_slot *slots, size_t room, struct cp_index_slot s)
{
	size_t i = s.hash & (room - 1);

	while (slots[i].item)
		i = (i + 1) & (room - 1);
	slots[i] = s;
}

static int grow_index(struct cp_index *ix)
{
	size_t room = ix->room ? ix->room * 2 : ROOM_MIN;
	struct cp_index_slot *slots = cp_pages_map(room * sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < ix->room; i++)
		if (ix->slots[i].item)
			insert_slot(slots, room, ix->slots[i]);
	cp_sys_unmap(ix->slots, ix->room * sizeof(*slots));
	ix->slots = slots;
	ix->room = room;
	return 0;
}

int cp_index_add(struct cp_index *ix, uint32_t hash, uint32_t item)
{
	if (ix->count * 3 >= ix->room * 2 && grow_index(ix) < 0)
		return -ENOMEM;
	insert_slot(ix->slots, ix->room, (struct cp_index_slot){ hash, item + 1 });
	ix->count++;
	return 0;
}

void cp_index_clear(struct cp_index *ix)
{
	if (ix->room)
		memset(ix->slots, 0, ix->room * sizeof(*ix->slots));
	ix->count = 0;
}

void cp_index_release(struct cp_index *ix)
{
	cp_sys_unmap(ix->slots, ix->room * sizeof(*ix->slots));
	*ix = (struct cp_index){ 0 };
}
