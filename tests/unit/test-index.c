/* SPDX-License-Identifier: BSD-3-Clause */
/* The hash index over numbered items. */
#include "harness.h"

#include "base/base.h"

#define ITEMS 20000

static uint64_t items[ITEMS];

static bool same(uint32_t item, const void *key, const void *context)
{
	return ((const uint64_t *)context)[item] == *(const uint64_t *)key;
}

static uint32_t find(const struct cp_index *ix, uint32_t hash, uint64_t key)
{
	return cp_index_find(ix, hash, same, &key, items);
}

TEST(test_index_finds_what_was_added_while_it_grows)
{
	struct cp_index ix = { 0 };
	uint32_t wrong = 0;

	for (uint32_t i = 0; i < ITEMS; i++) {
		items[i] = (uint64_t)i * i;
		CHECK_EQ(cp_index_add(&ix, cp_index_hash(&items[i], sizeof(items[i])), i), 0);
	}
	for (uint32_t i = 0; i < ITEMS; i++)
		wrong += find(&ix, cp_index_hash(&items[i], sizeof(items[i])), items[i]) != i;
	CHECK_EQ(wrong, 0);
	for (uint64_t absent = 1; absent < 1000; absent++) {
		uint64_t key = absent * absent + 1;

		CHECK_EQ(find(&ix, cp_index_hash(&key, sizeof(key)), key), CP_INDEX_NONE);
	}
	cp_index_release(&ix);
	CHECK_EQ(find(&ix, 0, 4), CP_INDEX_NONE);
}

/* Slots are compared by key: one hash for all, and one at the table's end. */
TEST(test_index_tells_items_of_one_hash_apart)
{
	struct cp_index ix = { 0 };

	for (uint32_t i = 0; i < 1000; i++) {
		items[i] = i + 1;
		CHECK_EQ(cp_index_add(&ix, UINT32_MAX, i), 0);
	}
	for (uint32_t i = 0; i < 1000; i++)
		CHECK_EQ(find(&ix, UINT32_MAX, i + 1), i);
	CHECK_EQ(find(&ix, UINT32_MAX, 5000), CP_INDEX_NONE);
	CHECK_EQ(find(&ix, UINT32_MAX - 1, 1), CP_INDEX_NONE);
	cp_index_release(&ix);
}

TEST(test_index_hash_depends_on_every_byte_and_the_length)
{
	uint8_t data[24] = { 0 };

	for (size_t n = 1; n <= sizeof(data); n++) {
		uint32_t plain = cp_index_hash(data, n);

		CHECK(plain != cp_index_hash(data, n - 1));
		for (size_t i = 0; i < n; i++) {
			data[i] = 1;
			CHECK(cp_index_hash(data, n) != plain);
			data[i] = 0;
		}
	}
}
