/* SPDX-License-Identifier: BSD-3-Clause */
/* A hash index over items that live elsewhere (in an array, addressed by number). Open addressing
 * in mmapped pages. Items are never removed one by one. One thread at a time. */
#ifndef CP_INDEX_H
#define CP_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cp_index_slot {
	uint32_t hash, item; /* item + 1; 0 = empty */
};

/* A zeroed struct is an empty index. */
struct cp_index {
	struct cp_index_slot *slots;
	size_t room, count;
};

#define CP_INDEX_NONE UINT32_MAX

/* Returns the item with HASH for which SAME(item, KEY, CONTEXT) is true, or CP_INDEX_NONE. */
uint32_t cp_index_find(const struct cp_index *ix, uint32_t hash,
		       bool (*same)(uint32_t item, const void *key, const void *context),
		       const void *key, const void *context);
/* Adds ITEM. The caller has checked that it isn't in the index. Returns 0 or -ENOMEM. */
int cp_index_add(struct cp_index *ix, uint32_t hash, uint32_t item);
/* Empties the index and keeps its memory. */
void cp_index_clear(struct cp_index *ix);
void cp_index_release(struct cp_index *ix);

/* Returns a hash of N bytes (Murmur3's finalizer over 8-byte words). */
uint32_t cp_index_hash(const void *data, size_t n);

#endif
