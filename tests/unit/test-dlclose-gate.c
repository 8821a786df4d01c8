/* SPDX-License-Identifier: BSD-3-Clause */
/* However a dlclose is left, the gate opens again, and not too early. */
#define OWN_MAIN
#include "harness.h"

#include <setjmp.h>

#include "unwind/unwind.h"
#include "sample/sample.h"
#include "sample/thread.h"
#include "collect/collect.h"

static jmp_buf out;
static char elsewhere[64];

static __attribute__((noinline)) void left_by_longjmp(void)
{
	volatile char room[256];

	room[0] = 1;
	cp_dlclose_gate_begin((const char *)__builtin_frame_address(0) - 64 * room[0]);
	longjmp(out, 1);
}

static void leave(void)
{
	if (!setjmp(out))
		left_by_longjmp();
}

TEST(test_a_dlclose_that_returns_opens_the_gate)
{
	unsigned before = cp_dlclose_gate_begin(__builtin_frame_address(0));

	CHECK(!cp_gate_is_open());
	cp_dlclose_gate_end(before, NULL);
	CHECK(cp_gate_is_open());
}

TEST(test_the_next_dlclose_notices_that_one_was_left)
{
	unsigned before;

	leave();
	leave();
	CHECK(!cp_gate_is_open());
	before = cp_dlclose_gate_begin(__builtin_frame_address(0));
	CHECK_EQ(before, 0);
	CHECK(!cp_gate_is_open());
	cp_dlclose_gate_end(before, NULL);
	CHECK(cp_gate_is_open());
}

TEST(test_an_inner_one_that_was_left_ends_with_the_outer)
{
	unsigned before = cp_dlclose_gate_begin(__builtin_frame_address(0));

	leave();
	CHECK_EQ(cp_self.in_dlclose, 2);
	cp_dlclose_gate_end(before, NULL);
	CHECK_EQ(cp_self.in_dlclose, 0);
	CHECK(cp_gate_is_open());
}

TEST(test_on_another_stack_the_outer_one_goes_on)
{
	const char *frame = __builtin_frame_address(0);
	const char *other = elsewhere > frame ? elsewhere : frame + (UINT64_C(1) << 40);
	unsigned before = cp_dlclose_gate_begin(frame), inner = cp_dlclose_gate_begin(other);

	CHECK_EQ(inner, 1);
	cp_dlclose_gate_end(inner, NULL);
	CHECK(!cp_gate_is_open());
	cp_dlclose_gate_end(before, NULL);
	CHECK(cp_gate_is_open());
}

static void *ends_inside(void *arg)
{
	cp_threads_register();
	cp_dlclose_gate_begin(__builtin_frame_address(0));
	pthread_exit(arg);
}

TEST(test_a_thread_that_ends_inside_opens_the_gate)
{
	pthread_t thread;

	pthread_create(&thread, NULL, ends_inside, NULL);
	pthread_join(thread, NULL);
	CHECK(cp_gate_is_open());
}

int main(void)
{
	cp_threads_register();
	harness_all();
	return harness_end();
}
