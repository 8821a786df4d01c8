/* SPDX-License-Identifier: BSD-3-Clause */
/* Unwinding buffers: nobody shares one. */
#include "harness.h"

#include "modes/heap/signal/stack_cache.h"

TEST(test_scratch_comes_back_to_who_had_it)
{
	uint16_t last = 0;
	struct cp_unwind_buffer *a = cp_heap_stack_take_buffer(&last), *b;

	CHECK(a != NULL);
	b = cp_heap_stack_take_buffer(&last);
	CHECK(b != NULL && b != a);
	cp_heap_stack_give_buffer(b);
	CHECK(cp_heap_stack_take_buffer(&last) == b);
	cp_heap_stack_give_buffer(b);
	cp_heap_stack_give_buffer(a);
}

TEST(test_scratch_is_bounded)
{
	static struct cp_unwind_buffer *all[2000];
	uint16_t last = 0;
	unsigned n = 0;

	while (n < 2000 && (all[n] = cp_heap_stack_take_buffer(&last)))
		n++;
	CHECK_EQ(n, 1024);
	for (unsigned i = 0; i < n; i++)
		cp_heap_stack_give_buffer(all[i]);
	CHECK(cp_heap_stack_take_buffer(&last) != NULL);
}
