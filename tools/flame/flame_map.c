/* SPDX-License-Identifier: BSD-3-Clause */
/* A hash table with open addressing, at most half full. See flame.h. */
#include "flame/flame.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 1024

static uint64_t mix_hash(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	return x ^ (x >> 32);
}

static size_t hash_key(struct ct_flame_key key)
{
	return mix_hash(key.a + mix_hash(key.b + mix_hash(key.c) * 3) * 5);
}

static uint32_t *find_slot(struct ct_flame_map *map, struct ct_flame_key key)
{
	size_t i = hash_key(key) & (map->room - 1);

	while (map->values[i] != CT_NONE && memcmp(&map->keys[i], &key, sizeof(key)) != 0)
		i = (i + 1) & (map->room - 1);
	map->keys[i] = key;
	return &map->values[i];
}

static void widen_map(struct ct_flame_map *map)
{
	struct ct_flame_map old = *map;

	map->room = old.room ? old.room * 2 : FIRST_ROOM;
	map->keys = ct_memory_realloc(NULL, map->room, sizeof(*map->keys));
	map->values = ct_memory_realloc(NULL, map->room, sizeof(*map->values));
	memset(map->values, 0xff, map->room * sizeof(*map->values));
	for (size_t i = 0; i < old.room; i++)
		if (old.values[i] != CT_NONE)
			*find_slot(map, old.keys[i]) = old.values[i];
	ct_flame_map_release(&old);
}

uint32_t *ct_flame_map_at(struct ct_flame_map *map, struct ct_flame_key key)
{
	uint32_t *value;

	if (map->used * 2 >= map->room)
		widen_map(map);
	value = find_slot(map, key);
	if (*value == CT_NONE)
		map->used++;
	return value;
}

void ct_flame_map_release(struct ct_flame_map *map)
{
	free(map->keys);
	free(map->values);
	*map = (struct ct_flame_map){ 0 };
}
