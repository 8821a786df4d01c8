/* SIGPROF. Ours are told from the program's own by si_code and si_value. */
#include "sigsafe/cpu_event.h"

#include <time.h>

#include "sigsafe/atomic.h"
#include "sigsafe/capture.h"
#include "sigsafe/counters.h"
#include "sigsafe/disposition.h"
#include "sigsafe/sys.h"
#include "sigsafe/thread.h"

struct cp_cpu_state cp_cpu_state;

static uint64_t now_ns(void)
{
	struct timespec t = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool is_timer_of_ours(const siginfo_t *si)
{
	return si->si_code == SI_TIMER &&
	       ((uint64_t)(uintptr_t)si->si_value.sival_ptr & CP_CPU_TAG_MASK) == CP_CPU_TAG;
}

static void take(struct cp_thread *t, const ucontext_t *uc, uint64_t weight)
{
	struct cp_regs regs;
	uint64_t began;

	if (cp_load_relaxed(&t->paused)) {
		cp_count(CP_COUNT_LOST_PAUSED, weight);
		return;
	}
	began = now_ns();
	cp_regs_of_context(&regs, uc);
	cp_capture(t, CP_SOURCE_CPU, &regs, weight);
	cp_count(CP_COUNT_EVENT_NS, now_ns() - began);
}

static void from_thread_timer(const siginfo_t *si, const ucontext_t *uc)
{
	uint64_t value = (uint64_t)(uintptr_t)si->si_value.sival_ptr;
	struct cp_thread *t = cp_thread_at((uint32_t)(value & ~CP_CPU_TAG_MASK));
	uint64_t weight = 1 + (si->si_overrun > 0 ? (uint64_t)si->si_overrun : 0);

	/* After a stop, or from a timer deleted since: inert. */
	if (!cp_load_relaxed(&cp_cpu_state.running))
		return;
	if (!t || cp_load_relaxed(&t->timer) != si->si_timerid)
		return;
	cp_count(CP_COUNT_SIGNALS, 1);
	take(t, uc, weight);
}

/* A hit of the process timer counts for threads that have no timer of their own; the
 * others already count for themselves. */
static bool from_process_timer(const siginfo_t *si, const ucontext_t *uc)
{
	struct cp_thread *t;

	if (si->si_code != SI_KERNEL || !cp_load_relaxed(&cp_cpu_state.process_timer))
		return false;
	if (!cp_load_relaxed(&cp_cpu_state.running))
		return true;
	t = cp_self.thread;
	if (!t || cp_load_relaxed(&t->tid) != cp_sys_gettid()) {
		cp_count(CP_COUNT_LOST_THREAD, 1);
		return true;
	}
	if (cp_load_relaxed(&t->timer) == CP_NO_TIMER) {
		cp_count(CP_COUNT_SIGNALS, 1);
		take(t, uc, 1);
	}
	return true;
}

static void from_program(int sig, siginfo_t *si, ucontext_t *uc)
{
	struct cp_disposition d;

	if (cp_self.prof_blocked) {
		/* The program blocked it: pending until it unblocks (standard signals don't queue).
		 */
		if (!cp_self.prof_pending) {
			cp_self.prof_code = si->si_code;
			cp_self.prof_value = si->si_value.sival_ptr;
		}
		cp_self.prof_pending = 1;
		return;
	}
	if (cp_disposition_deliver(sig, si, uc))
		return;
	cp_disposition_get(sig, &d);
	if (d.handler == SIG_DFL && cp_cpu_state.die)
		cp_cpu_state.die(sig, si, uc);
}

void cp_cpu_event_handler(int sig, siginfo_t *si, void *context)
{
	ucontext_t *uc = context;

	if (is_timer_of_ours(si))
		from_thread_timer(si, uc);
	else if (!from_process_timer(si, uc))
		from_program(sig, si, uc);
}
