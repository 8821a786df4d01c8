/* SPDX-License-Identifier: BSD-3-Clause */
/* Timers on the CPU clock of one thread, and how long threads run at a time; see collect.h. */
#include "collect/collect.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "base/libc.h"
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
	event.CP_LIBC_SIGEV_TID = t->tid;
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

/* ---- how long threads run at a time ---- */

/* A thread's bursts are counted after this many ticks of CPU time; the mean over fewer ticks tells
 * nothing. */
#define TICKS 4
/* The least share of the CPU time, in per cent, that deserves a note. */
#define WORTH 10

static uint64_t known_tick(void)
{
	static uint64_t known; /* under the collector's lock; every thread stores the same value */

	if (!cp_load_relaxed(&known))
		cp_store_relaxed(&known, cp_thread_timer_tick_ns());
	return cp_load_relaxed(&known);
}

static bool is_due(const struct cp_bursts *b, uint64_t cpu)
{
	return cpu >= b->ran + TICKS * known_tick();
}

/* Count the bursts of B until CPU. A burst ends when the thread waits, not when another thread
 * takes the processor. */
static void tell_burst(unsigned mode, struct cp_bursts *b, uint64_t cpu, uint64_t waits)
{
	cp_count_mode(mode, CP_COUNT_BURSTS_NS, cpu - b->ran);
	if (waits > b->waits && (cpu - b->ran) / (waits - b->waits) < known_tick())
		cp_count_mode(mode, CP_COUNT_SHORT_BURSTS_NS, cpu - b->ran);
	*b = (struct cp_bursts){ cpu, waits };
}

void cp_thread_timer_bursts_look(unsigned mode, struct cp_bursts *b, const struct cp_thread *t,
				 uint64_t cpu)
{
	char text[2048];
	uint64_t waits;

	if (is_due(b, cpu) && cp_thread_file_status(t->tid, text, sizeof(text)) &&
	    cp_thread_file_number(text, "\nvoluntary_ctxt_switches:\t", 10, &waits))
		tell_burst(mode, b, cpu, waits);
}

void cp_thread_timer_bursts_end(unsigned mode, struct cp_bursts *b, uint64_t cpu)
{
	struct rusage used;

	if (is_due(b, cpu) && !cp_sys2(SYS_getrusage, RUSAGE_THREAD, &used))
		tell_burst(mode, b, cpu, (uint64_t)used.ru_nvcsw);
}

void cp_thread_timer_bursts_note(struct cp_comments *out, const struct cp_run *r,
				 const char *advice)
{
	uint64_t all = cp_run_counted(r, CP_COUNT_BURSTS_NS);
	uint64_t brief = cp_run_counted(r, CP_COUNT_SHORT_BURSTS_NS);

	if (brief && brief * 100 / all >= WORTH)
		cp_comments_line(
			out,
			"note: %lu %% of the CPU time is of threads that run for less than "
			"the kernel's tick (%lu us) between two waits, so other functions of "
			"theirs may have the samples; %s",
			(unsigned long)(brief * 100 / all), (unsigned long)(known_tick() / 1000),
			advice);
}
