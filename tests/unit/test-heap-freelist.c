/* SPDX-License-Identifier: BSD-3-Clause */
/* Freed blocks for the next samples. */
#include "harness.h"

#include <stdint.h>

#include "modes/heap/signal/heap_hot.h"
#include "modes/heap/signal/heap_freelist.h"

#define BASE ((uintptr_t)0x7f1200000000)

static void *block(unsigned i)
{
	return (void *)(BASE + i * CP_HEAP_TAG_ALIGN);
}

static void test_spares_come_again(void)
{
	CHECK(cp_heap_freelist_take(16) == NULL);
	CHECK(cp_heap_freelist_keep(block(1), CP_HEAP_TAG_MIN));
	CHECK(cp_heap_freelist_take(CP_HEAP_TAG_MIN) == block(1));
	CHECK(cp_heap_freelist_take(16) == NULL);
}

static void test_spares_are_of_one_size(void)
{
	char *p = block(1);

	CHECK(!cp_heap_freelist_keep(p, CP_HEAP_TAG_MIN - 1));
	CHECK(!cp_heap_freelist_keep(p, CP_HEAP_TAG_ALIGN * 3));
	CHECK(!cp_heap_freelist_keep(p + 16, CP_HEAP_TAG_MIN));
	CHECK(cp_heap_freelist_keep(p, CP_HEAP_TAG_ALIGN));
	CHECK(cp_heap_freelist_take(CP_HEAP_TAG_MIN + 1) == NULL);
	CHECK(cp_heap_freelist_take(CP_HEAP_TAG_MIN) == p);
}

static void test_spares_are_few(void)
{
	unsigned n = 0;

	for (unsigned i = 1; i <= 3 * CP_HEAP_FREELIST; i++)
		n += cp_heap_freelist_keep(block(i), CP_HEAP_TAG_MIN);
	CHECK_EQ(n, CP_HEAP_FREELIST);
	while (cp_heap_freelist_take(1))
		n--;
	CHECK_EQ(n, 0);
}

static void test_spares_are_looked_at_and_removed(void)
{
	CHECK(cp_heap_freelist_keep(block(7), CP_HEAP_TAG_MIN));
	CHECK(cp_heap_looks(block(7)));
	CHECK(!cp_heap_freelist_remove(block(8)));
	CHECK(!cp_heap_freelist_remove(NULL));
	CHECK(cp_heap_freelist_remove(block(7)));
	CHECK(!cp_heap_freelist_remove(block(7)));
	CHECK(!cp_heap_looks(block(7)));
	CHECK(cp_heap_freelist_take(1) == NULL);
	/* Taken, and not tracked yet: nobody's. */
	CHECK(cp_heap_freelist_keep(block(7), CP_HEAP_TAG_MIN));
	CHECK(cp_heap_freelist_take(1) == block(7));
	CHECK(!cp_heap_looks(block(7)));
}

int main(void)
{
	cp_heap_hot_look(false, true);
	RUN(test_spares_come_again);
	RUN(test_spares_are_of_one_size);
	RUN(test_spares_are_few);
	RUN(test_spares_are_looked_at_and_removed);
	return harness_end();
}
