/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of live blocks, alone and with many threads. */
#define OWN_MAIN
#include "harness.h"

#include "modes/heap/signal/heap_signal.h"
#include "modes/heap/signal/live_hot.h"

#define BASE UINT64_C(0x7f0000000000)
#define MANY 200000

static bool put(uint64_t address, uint64_t size, uint32_t id, struct cp_live_block *old)
{
	return cp_live_insert(address, &(struct cp_live_block){ .size = size, .id = id }, old);
}

TEST(test_live_gives_back_what_was_put)
{
	struct cp_live_block b = { 0 }, old;

	CHECK(put(BASE, 12345, 77, &old));
	CHECK_EQ(old.id, 0);
	CHECK(!cp_live_remove(BASE + 16, &b));
	CHECK(cp_live_remove(BASE, &b));
	CHECK_EQ(b.size, 12345);
	CHECK_EQ(b.id, 77);
	CHECK(!cp_live_remove(BASE, &b));
}

/* An empty slot holds 0, and what was in it before. */
TEST(test_live_never_has_null)
{
	struct cp_live_block b, old;
	uint64_t bad = 0;

	for (uint64_t i = 1; i <= MANY; i++) {
		bad += !put(i << 5, i, 7, &old) || !cp_live_remove(i << 5, &b);
		bad += cp_live_remove(0, &b);
	}
	CHECK_EQ(bad, 0);
}

/* Births are kept when asked for, and an old one is never that of a later block. */
TEST(test_live_keeps_births)
{
	struct cp_live_block b = { .size = 40, .id = 3, .born = 1234 }, out = { 0 }, old;
	uint64_t word = 0, bad = 0;

	CHECK(cp_live_insert(BASE, &b, &old));
	cp_live_keep_births(true);
	CHECK(!cp_live_take(BASE, &word));
	CHECK(!cp_live_put(cp_live_bucket(BASE), BASE, 1));
	CHECK(cp_live_remove(BASE, &out));
	CHECK_EQ(out.size, 40);
	for (uint64_t i = 1; i <= MANY; i++) {
		b.born = i;
		bad += !cp_live_insert(i << 5, &b, &old);
	}
	for (uint64_t i = 1; i <= MANY; i++)
		bad += !cp_live_remove(i << 5, &out) || out.born != i || out.id != 3;
	cp_live_keep_births(false);
	for (uint64_t i = 1; i <= MANY; i++)
		bad += !put(i << 5, i, 7, &old) || !cp_live_remove(i << 5, &out) || out.born;
	CHECK_EQ(bad, 0);
	CHECK(cp_live_insert(BASE, &b, &old));
	CHECK(cp_live_take(BASE, &word));
	CHECK_EQ(cp_live_id(word), 3);
}

TEST(test_live_limits_fit)
{
	struct cp_live_block b, old;

	CHECK(put(BASE, CP_LIVE_SIZE_MAX - 1, (1 << 24) - 1, &old));
	CHECK(cp_live_remove(BASE, &b));
	CHECK_EQ(b.size, CP_LIVE_SIZE_MAX - 1);
	CHECK_EQ(b.id, (1 << 24) - 1);
	CHECK(!put(BASE, CP_LIVE_SIZE_MAX, 1, &old));
	CHECK(!cp_live_remove(BASE, &b));
}

TEST(test_live_tells_an_unseen_free)
{
	struct cp_live_block b, old;

	CHECK(put(BASE, 1, 5, &old));
	CHECK(put(BASE, 2, 6, &old));
	CHECK_EQ(old.id, 5);
	CHECK_EQ(old.size, 1);
	CHECK(cp_live_remove(BASE, &b));
	CHECK_EQ(b.id, 6);
	CHECK(!cp_live_remove(BASE, &b));
}

static void count(uint64_t address, const struct cp_live_block *b, void *arg)
{
	(void)address;
	*(uint64_t *)arg += b->size;
}

TEST(test_live_grows_and_keeps_everything)
{
	struct cp_live_block b, old;
	uint64_t sum = 0, bad = 0;

	for (uint64_t i = 0; i < MANY; i++)
		bad += !put(BASE + i * 48, i, (uint32_t)(i % 1000 + 1), &old) || old.id;
	CHECK_EQ(bad, 0);
	cp_live_each(count, &sum);
	CHECK_EQ(sum, (uint64_t)MANY * (MANY - 1) / 2);
	for (uint64_t i = 0; i < MANY; i++)
		bad += !cp_live_remove(BASE + i * 48, &b) || b.size != i || b.id != i % 1000 + 1;
	CHECK_EQ(bad, 0);
	sum = 0;
	cp_live_each(count, &sum);
	CHECK_EQ(sum, 0);
}

/* More blocks than their buckets have slots, coming and going: a block that lies elsewhere is
 * found, and a removed one isn't. */
TEST(test_live_finds_what_lies_elsewhere)
{
	static uint8_t there[MANY / 4];
	uint64_t x = 7, bad = 0, left = 0;
	struct cp_live_block b, old;

	for (unsigned round = 0; round < 20 * MANY; round++) {
		x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
		uint64_t i = (x >> 33) % (MANY / 4), a = BASE + (UINT64_C(1) << 40) + i * 16;

		if (there[i])
			bad += !cp_live_remove(a, &b) || b.size != i;
		else
			bad += cp_live_remove(a, &b) || !put(a, i, 9, &old) || old.id;
		there[i] ^= 1;
	}
	CHECK_EQ(bad, 0);
	for (uint64_t i = 0; i < MANY / 4; i++)
		if (there[i])
			bad += !cp_live_remove(BASE + (UINT64_C(1) << 40) + i * 16, &b);
	CHECK_EQ(bad, 0);
	cp_live_each(count, &left);
	CHECK_EQ(left, 0);
}

/* Slots that were given up are used again. */
TEST(test_live_does_not_grow_without_need)
{
	uint64_t before = cp_live_mapped(), bad = 0;
	struct cp_live_block b, old;

	for (uint64_t round = 0; round < 20; round++) {
		for (uint64_t i = 0; i < MANY / 2; i++)
			bad += !put(BASE + (round << 32) + i * 32, i, 1, &old);
		for (uint64_t i = 0; i < MANY / 2; i++)
			bad += !cp_live_remove(BASE + (round << 32) + i * 32, &b);
	}
	CHECK_EQ(bad, 0);
	CHECK_EQ(cp_live_mapped(), before);
}

#define THREADS 4
#define EACH 3000
#define ROUNDS 30

static uint64_t handed[THREADS][EACH];

/* Each thread puts blocks in, half of which the next thread takes out. */
static void *churn(void *arg)
{
	uintptr_t me = (uintptr_t)arg, next = (me + 1) % THREADS, bad = 0;
	struct cp_live_block b, old;

	for (uint64_t round = 0; round < ROUNDS; round++)
		for (uint64_t i = 0; i < EACH; i++) {
			uint64_t a = BASE + (me << 36) + (round << 28) + i * 64, theirs;

			bad += !put(a, a & 0xffff, (uint32_t)me + 1, &old) || old.id;
			if (i % 2) {
				bad += !cp_live_remove(a, &b) || b.id != me + 1;
				continue;
			}
			a = __atomic_exchange_n(&handed[me][i], a, __ATOMIC_ACQ_REL);
			if (a)
				bad += !cp_live_remove(a, &b) || b.id != me + 1;
			theirs = __atomic_exchange_n(&handed[next][i], 0, __ATOMIC_ACQ_REL);
			if (theirs)
				bad += !cp_live_remove(theirs, &b) || b.id != next + 1 ||
				       b.size != (theirs & 0xffff);
		}
	return (void *)bad;
}

TEST(test_live_threads_free_each_others_blocks)
{
	struct cp_live_block b;
	pthread_t t[THREADS];
	uint64_t sum = 0;
	void *bad;

	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&t[i], NULL, churn, (void *)i), 0);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(t[i], &bad);
		CHECK_EQ((uintptr_t)bad, 0);
	}
	for (int i = 0; i < THREADS; i++)
		for (int j = 0; j < EACH; j++)
			if (handed[i][j])
				CHECK(cp_live_remove(handed[i][j], &b));
	cp_live_each(count, &sum);
	CHECK_EQ(sum, 0);
}

int main(void)
{
	cp_live_configure(1 << 10);
	harness_all();
	return harness_end();
}
