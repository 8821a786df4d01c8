/* SPDX-License-Identifier: BSD-3-Clause */
/* A handler jumps out of a writer, after each of its instructions: the reader goes on. */
#include "harness.h"

#include "sample/diary.h"
#include "sample/sample.h"

#if defined(__x86_64__)

#include <setjmp.h>

#include "stepped.h"

static sigjmp_buf out;

static void on_trap(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	if (stepped_comes(context))
		siglongjmp(out, 1);
}

static bool begin_step(void)
{
	bool goes_on = !step || came;

	came = seen = 0;
	return goes_on && step < STEPS_MAX;
}

static void not_now(void)
{
}

/* Reads until there is nothing more. Returns the last entry's number; 0: there was none. */
static uint32_t read_all(unsigned *count)
{
	struct cp_diary_entry e = { .what = 0 };

	cp_diary_mark();
	while (cp_diary_next(&e))
		++*count;
	return e.what;
}

TEST(test_handler_jumps_out_of_a_writer)
{
	const struct sigaction act = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	const struct cp_diary_entry e = { .what = 1 };
	uint64_t lost = cp_counted(CP_COUNT_LOST_TIMES);
	static unsigned read, wrong;
	uint32_t last = 0;

	cp_capture_settings.wake = not_now;
	CHECK(cp_diary_open());
	sigaction(SIGTRAP, &act, NULL);
	for (step = 0; begin_step(); step++) {
		if (sigsetjmp(out, 1))
			continue;
		TRACE();
		cp_diary_add(&e);
		DONT_TRACE();
	}
	CHECK(step > 10 && step < STEPS_MAX);
	CHECK(cp_diary_add(&(struct cp_diary_entry){ .what = 2 }));
	for (unsigned i = 0; last != 2 && i < 300; i++) {
		last = read_all(&read);
		usleep(10000);
	}
	CHECK_EQ(last, 2);
	CHECK(cp_counted(CP_COUNT_LOST_TIMES) > lost);
	/* Round and round, past the slots that were given up. */
	for (uint32_t i = 3; i < 30000; i++) {
		wrong += !cp_diary_add(&(struct cp_diary_entry){ .what = i });
		wrong += i % 100 == 0 && read_all(&read) != i;
	}
	CHECK_EQ(wrong, 0);
	cp_diary_fork_child();
}

#else

TEST(test_handler_jumps_out_of_a_writer)
{
	SKIP("no flag that makes each instruction trap");
}

#endif
