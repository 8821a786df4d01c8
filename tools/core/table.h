/* SPDX-License-Identifier: BSD-3-Clause */
/* Hash table from a 64-bit hash to indices of objects that are stored elsewhere.
 *
 * The caller compares: ct_table_find asks SAME for each index of equal hash. The table never
 * shrinks.
 */
#ifndef CT_TABLE_H
#define CT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ct_table {
	uint64_t *hashes;
	uint32_t *slots; /* index + 1, 0 = free */
	size_t room, used;
};

typedef bool ct_table_same(const void *context, uint32_t index, const void *key);

/* Returns the index of the object that is the SAME as KEY, or UINT32_MAX. */
uint32_t ct_table_find(const struct ct_table *t, uint64_t hash, ct_table_same *same,
		       const void *context, const void *key);
/* Adds INDEX, which must not be in the table yet. */
void ct_table_add(struct ct_table *t, uint64_t hash, uint32_t index);
void ct_table_release(struct ct_table *t);

static inline uint64_t ct_hash(uint64_t before, uint64_t word)
{
	uint64_t h = (before ^ word) * UINT64_C(0x9e3779b97f4a7c15);

	return h ^ h >> 29;
}

uint64_t ct_table_hash_words(uint64_t before, const uint32_t *words, size_t count);
uint64_t ct_table_hash_text(const char *text);

#endif
