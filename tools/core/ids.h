/* SPDX-License-Identifier: BSD-3-Clause */
/* Maps a file's ids (any 64-bit numbers, usually 1..N) to 0, 1, 2 ... in the order of their first
 * mention. read.c uses one map each for mappings, locations and functions.
 */
#ifndef CT_IDS_H
#define CT_IDS_H

#include <stddef.h>
#include <stdint.h>

struct ct_ids {
	uint32_t *small; /* by id: number + 1 */
	size_t small_room;
	uint64_t *keys; /* large ids, open addressing; 0 is free */
	uint32_t *numbers;
	size_t room, used;
	uint32_t count;
};

uint32_t ct_ids_take(struct ct_ids *ids, uint64_t id);

static inline uint32_t ct_ids_number(struct ct_ids *ids, uint64_t id)
{
	return id < ids->small_room && ids->small[id] ? ids->small[id] - 1 : ct_ids_take(ids, id);
}

void ct_ids_release(struct ct_ids *ids);

#endif
