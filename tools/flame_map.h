/* From three numbers to an index: what finds equal frames, nodes and rows again. Used by the
 * verbs that build trees (flame_*.c) and by diff.
 */
#ifndef CT_FLAME_MAP_H
#define CT_FLAME_MAP_H

#include <stddef.h>
#include <stdint.h>

struct ct_flame_key {
	uint64_t a, b, c;
};

/* All zero is an empty one. */
struct ct_flame_map {
	struct ct_flame_key *keys;
	uint32_t *values; /* CT_NONE: free */
	size_t room, used;
};

/* The place of the key's value, valid until the next call; CT_NONE stands there when the key
 * is new, and the caller must put something else. */
uint32_t *ct_flame_map_at(struct ct_flame_map *map, struct ct_flame_key key);
void ct_flame_map_release(struct ct_flame_map *map);

#endif
