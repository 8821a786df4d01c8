/* SPDX-License-Identifier: BSD-3-Clause */
/* Timers on the CPU clock of one thread; see collect.h. */
#include "collect/collect.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "base/sys.h"
#include "host/signal/host_signal.h"

int cp_thread_timer_create(const struct cp_thread *t, enum cprof_mode mode)
{
	struct sigevent event;
	int id;
	long err;

	memset(&event, 0, sizeof(event));
	event.sigev_notify = SIGEV_THREAD_ID;
	event.sigev_signo = SIGPROF;
	event.sigev_value.sival_ptr = (void *)(uintptr_t)cp_sigprof_value(mode, t);
	event._sigev_un._tid = t->tid;
	err = cp_sys3(SYS_timer_create, CP_THREAD_CLOCK(t->tid), &event, &id);
	/* The kernel returns EINVAL for a thread that has just ended, and where it has no such
	 * clocks. */
	if (err == -EINVAL && cp_sys3(SYS_tgkill, cp_sys_getpid(), t->tid, 0) == -ESRCH)
		return -ESRCH;
	return err < 0 ? (int)err : id;
}

const char *cp_thread_timer_advice(int err)
{
	return err == -EAGAIN ? "; `ulimit -i` limits timers" : "";
}

uint64_t cp_thread_timer_tick_ns(void)
{
	struct timespec tick = { 0 };

	cp_sys2(SYS_clock_getres, CLOCK_MONOTONIC_COARSE, &tick);
	return (uint64_t)tick.tv_sec * 1000000000u + (uint64_t)tick.tv_nsec;
}
