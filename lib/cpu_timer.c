/* A POSIX timer a thread; see cpu_timer.h. */
#include "cpu_timer.h"

#include <errno.h>
#include <time.h>

#include "sigsafe/atomic.h"
#include "sigsafe/cpu_event.h"
#include "sigsafe/sys.h"
#include "thread_timer.h"

/* 2^64 divided by the golden ratio. Successive multiples, modulo 2^64, fill the circle as
 * evenly as any sequence can (Knuth, TAOCP 3, 6.4), so the first expiries of n
 * threads are spread over the period: each by itself is uniform, which keeps short threads
 * unbiased, while together they hit n times as evenly as n independent draws. */
#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

static uint64_t phase;	      /* golden-ratio sequence, random start */
static uint64_t longest_tail; /* the most CPU time that a kernel tick may come late */

static void seed_phase(void)
{
	if (cp_sys3(SYS_getrandom, &phase, sizeof(phase), 1 /* GRND_NONBLOCK */) < 0) {
		struct timespec t;

		cp_sys2(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
		phase = (uint64_t)t.tv_nsec * GOLDEN;
	}
}

uint64_t cp_cpu_timer_first(void)
{
	uint64_t p = cp_add_relaxed(&phase, GOLDEN);

	return 1 + (uint64_t)((__uint128_t)p * cp_cpu_state.period_ns >> 64);
}

static struct timespec to_timespec(uint64_t ns)
{
	return (struct timespec){ (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };
}

int cp_cpu_timer_create(struct cp_thread *t)
{
	struct itimerspec when = { .it_interval = to_timespec(cp_cpu_state.period_ns) };
	int id = cp_thread_timer_create(t, CP_CPU_TAG), err;

	if (id < 0)
		return id;
	t->first_due = cp_sys_clock_ns(CP_THREAD_CLOCK(t->tid)) + cp_cpu_timer_first();
	t->expiries = 0;
	when.it_value = to_timespec(t->first_due);
	/* Before it runs: the handler takes only signals of the timer named here. */
	cp_store_release(&t->timer, id);
	err = (int)cp_sys4(SYS_timer_settime, id, TIMER_ABSTIME, &when, NULL);
	if (err < 0)
		cp_cpu_timer_delete(t);
	return err;
}

void cp_cpu_timer_delete(struct cp_thread *t)
{
	int id = cp_load_relaxed(&t->timer);

	if (id == CP_NO_TIMER)
		return;
	cp_store_relaxed(&t->timer, CP_NO_TIMER);
	cp_sys1(SYS_timer_delete, id);
}

/* A child begins with what its parent has: those of one parent would all have the same first
 * expiry, and what each does in less than a period would be in all of them, or in none. */
void cp_cpu_timer_fork_begin(void)
{
	cp_add_relaxed(&phase, GOLDEN);
}

void cp_cpu_timer_prepare(void)
{
	longest_tail = 4 * cp_thread_timer_tick_ns() + cp_cpu_state.period_ns;
	seed_phase();
}

/* The kernel looks at a thread's timer when its tick finds the thread running. Expiries after the
 * last such tick, half a tick's time on average and more when threads share a CPU, would be lost,
 * and with them most of the time of short threads. What is more than a few ticks has another
 * reason, such as SIGPROF blocked behind our back, and stays unsampled. */
uint64_t cp_cpu_timer_missed(struct cp_thread *t)
{
	uint64_t now = cp_sys_clock_ns(CP_THREAD_CLOCK(t->tid)), due, missed,
		 most = longest_tail / cp_cpu_state.period_ns;

	if (t->timer == CP_NO_TIMER || now < t->first_due)
		return 0;
	due = 1 + (now - t->first_due) / cp_cpu_state.period_ns;
	missed = due > t->expiries ? due - t->expiries : 0;
	return missed < most ? missed : most;
}
