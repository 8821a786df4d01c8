/* SPDX-License-Identifier: BSD-3-Clause */
/* A map of three numbers; see flame.h. */
#include "flame/flame.h"

#include <stdlib.h>
#include <string.h>

static bool same_key(const void *context, uint32_t index, const void *key)
{
	const struct ct_flame_entry *e = &((const struct ct_flame_map *)context)->entries[index];

	return !memcmp(&e->key, key, sizeof(e->key));
}

uint32_t *ct_flame_map_at(struct ct_flame_map *map, struct ct_flame_key key)
{
	uint64_t hash = ct_hash(ct_hash(key.a, key.b), key.c);
	uint32_t index = ct_table_find(&map->table, hash, same_key, map, &key);

	if (index == CT_NONE) {
		index = (uint32_t)map->count;
		ct_table_add(&map->table, hash, index);
		*CT_PUSH(map->entries, map->count, map->room) =
			(struct ct_flame_entry){ key, CT_NONE };
	}
	return &map->entries[index].value;
}

void ct_flame_map_release(struct ct_flame_map *map)
{
	ct_table_release(&map->table);
	free(map->entries);
	*map = (struct ct_flame_map){ 0 };
}
