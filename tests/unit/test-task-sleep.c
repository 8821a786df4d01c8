/* SPDX-License-Identifier: BSD-3-Clause */
/* The collector's sleep. */
#include "harness.h"

#include <poll.h>

#include "base/base.h"
#include "base/sys.h"
#include "collect/collect.h"

#define WAKE_SIGNAL 33

static int ends[2];
static uint32_t word;

/* Sleep until NS are over, which is at once for another SEEN than WORD. Return true if the
 * descriptor was watched anew before. */
static bool sleep_watches(uint32_t seen, long ns)
{
	struct pollfd fd = { .fd = ends[0], .events = POLLIN };
	struct timespec timeout = { 0, ns };

	CHECK_EQ(fcntl(ends[0], F_SETSIG, 0), 0);
	cp_task_sleep(&word, seen, &timeout, &fd, 1);
	return fcntl(ends[0], F_GETSIG) == WAKE_SIGNAL;
}

TEST(test_short_sleeps_watch_again_from_time_to_time)
{
	uint64_t wake = CP_SIGBIT(WAKE_SIGNAL);
	int unwatched = 0;

	CHECK_EQ(pipe(ends), 0);
	cp_sys_sigmask(SIG_BLOCK, &wake, NULL);
	CHECK_EQ(cp_task_sleep_begin(), 0);
	CHECK(sleep_watches(word, 100000));
	while (unwatched < 1000 && !sleep_watches(word, 100000))
		unwatched++;
	CHECK(unwatched > 0 && unwatched < 1000);
	/* A long sleep does, and a short one after a sleep that was ended. */
	CHECK(!sleep_watches(word, 100000));
	CHECK(sleep_watches(word + 1, 200000000));
	CHECK(sleep_watches(word, 100000));
	CHECK(!sleep_watches(word, 100000));
	cp_task_sleep_end();
}
