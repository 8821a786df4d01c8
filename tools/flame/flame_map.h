/* SPDX-License-Identifier: BSD-3-Clause */
/* Maps three numbers to an index, to find equal frames, nodes and rows. Used by the verbs that
 * build trees (flame_*.c) and by diff.
 */
#ifndef CT_FLAME_MAP_H
#define CT_FLAME_MAP_H

#include <stddef.h>
#include <stdint.h>

struct ct_flame_key {
	uint64_t a, b, c;
};

/* A map that is all zero is empty. */
struct ct_flame_map {
	struct ct_flame_key *keys;
	uint32_t *values; /* CT_NONE: free */
	size_t room, used;
};

/* Returns the place of the key's value, valid until the next call. It holds CT_NONE if the key is
 * new; the caller must then store another value. */
uint32_t *ct_flame_map_at(struct ct_flame_map *map, struct ct_flame_key key);
void ct_flame_map_release(struct ct_flame_map *map);

#endif
