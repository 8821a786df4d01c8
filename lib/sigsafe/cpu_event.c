/* SIGPROF. Ours are told from the program's own by si_code and si_value. */
#include "sigsafe/cpu_event.h"

#include <string.h>
#include <sys/time.h>
#include <time.h>

#include "sigsafe/atomic.h"
#include "sigsafe/capture.h"
#include "sigsafe/counters.h"
#include "sigsafe/disposition.h"
#include "sigsafe/held.h"
#include "sigsafe/restart.h"
#include "sigsafe/sys.h"
#include "sigsafe/thread.h"
#include "sigsafe/timing.h"
#include "sigsafe/wall_event.h"

#define HELD_AT_ONCE 16

struct cp_cpu_state cp_cpu_state;

static bool is_timer_of_ours(const siginfo_t *si)
{
	return si->si_code == SI_TIMER &&
	       ((uint64_t)(uintptr_t)si->si_value.sival_ptr & CP_CPU_TAG_MASK) == CP_CPU_TAG;
}

static bool is_left_out(const struct cp_thread *t)
{
	int (*filter)(void *) = cp_load_acquire(&cp_cpu_state.filter);

	return cp_load_relaxed(&t->paused) || (filter && !filter(cp_cpu_state.filter_argument));
}

/* KERNEL is NULL where nothing is known of it. False: there is no record of it. */
static bool take(struct cp_thread *t, const ucontext_t *uc, uint64_t weight,
		 const struct cp_perf_frames *kernel)
{
	const struct cp_event e = { CP_MODE_CPU, 1, weight, 0 };
	uint64_t began = cp_timing_begin();
	struct cp_regs regs;
	bool done;

	if (is_left_out(t)) {
		cp_count(CP_COUNT_LOST_PAUSED, weight);
		return false;
	}
	cp_regs_of_context(&regs, uc);
	done = kernel ? cp_capture_in_kernel(t, &e, &regs, kernel) : cp_capture(t, &e, &regs);
	cp_timing_end(CP_MODE_CPU, began);
	return done;
}

/* Once more what T's last record has. */
static void take_again(struct cp_thread *t, const ucontext_t *uc, uint64_t weight)
{
	const struct cp_event e = { CP_MODE_CPU, 1, weight, 0 };
	struct cp_regs regs;

	cp_regs_of_context(&regs, uc);
	cp_capture_repeat(t, &e, regs.r[CP_REG_PC]);
}

static struct cp_thread *record_of(const siginfo_t *si)
{
	uint64_t value = (uint64_t)(uintptr_t)si->si_value.sival_ptr;

	return cp_thread_at((uint32_t)(value & ~CP_CPU_TAG_MASK));
}

static void from_thread_timer(const siginfo_t *si, const ucontext_t *uc)
{
	struct cp_thread *t = record_of(si);
	uint64_t weight = 1 + (si->si_overrun > 0 ? (uint64_t)si->si_overrun : 0);

	/* After a stop, or from a timer deleted since: inert. */
	if (!cp_load_relaxed(&cp_cpu_state.running))
		return;
	if (!t || cp_load_relaxed(&t->timer) != si->si_timerid)
		return;
	cp_count(CP_COUNT_SIGNALS, 1);
	t->expiries += weight;
	take(t, uc, weight, NULL);
}

/* Periods of the process's CPU time since the last hit: the kernel looks at the timer once a
 * tick, and tells nothing of the periods that it was late. */
static uint64_t periods_since_last(void)
{
	uint64_t now = cp_sys_clock_ns(CLOCK_PROCESS_CPUTIME_ID) / cp_cpu_state.period_ns;

	return now - cp_exchange_acqrel(&cp_cpu_state.process_periods, now);
}

bool cp_process_timer_is_armed(void)
{
	struct itimerval now = { 0 };

	cp_sys2(SYS_getitimer, ITIMER_PROF, &now);
	return now.it_value.tv_sec || now.it_value.tv_usec;
}

/* The program's, set past libc: through libc it takes ours away. Or a late hit of ours, behind
 * which none is set. */
static bool is_programs_timer(void)
{
	/* What is set may be ours again by now. */
	return cp_process_timer_is_armed() &&
	       cp_load_acquire(&cp_cpu_state.process_timer) != CP_PROCESS_TIMER_OURS;
}

/* A hit of the process timer counts for threads that have no timer of their own; the
 * others already count for themselves. The kernel hits any thread: SELF is NULL in one whose TLS
 * isn't libc's. */
static bool from_process_timer(const struct cp_self *self, const siginfo_t *si,
			       const ucontext_t *uc)
{
	uint32_t state = cp_load_relaxed(&cp_cpu_state.process_timer);
	struct cp_thread *t;
	uint64_t weight;

	if (si->si_code != SI_KERNEL || state == CP_PROCESS_TIMER_NONE)
		return false;
	if (state == CP_PROCESS_TIMER_LATE)
		return !is_programs_timer();
	if (!cp_load_relaxed(&cp_cpu_state.running))
		return true;
	weight = periods_since_last();
	/* Two threads at once, or a clock that ran on between: the other hit has them all. */
	if (!weight || weight > INT64_MAX)
		return true;
	t = self ? self->thread : cp_thread_of(cp_sys_gettid());
	if (!t || cp_load_relaxed(&t->tid) != cp_sys_gettid()) {
		cp_count(CP_COUNT_LOST_THREAD, weight);
		return true;
	}
	if (cp_load_relaxed(&t->timer) == CP_NO_TIMER) {
		cp_count(CP_COUNT_SIGNALS, 1);
		take(t, uc, weight, NULL);
	}
	return true;
}

/* After a hit. Takes longer than a sample, and is timed by a clock of CPU time: preemption is
 * likely. */
static void keep_going(struct cp_thread *t)
{
	uint64_t began;

	if (t->perf.left && !t->perf.past)
		return;
	began = cp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	if (t->perf.past)
		cp_perf_forget(&t->perf);
	else if (cp_perf_renew(&t->perf, cp_load_relaxed(&t->tid), cp_cpu_state.period_ns) < 0)
		cp_cpu_state.perf_failed(t);
	cp_count(CP_COUNT_EVENT_NS, cp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID) - began);
}

/* All hits since the last signal. Those that came in the kernel came in one stay there, so the
 * stack of the program is the same for all. What comes meanwhile is in our own work, and counts for
 * the sample that this is for: its own kernel frames would be ours, and with a walk of its own,
 * where walks take longer than a period, the program would not go on at all. False: none. */
static bool take_hits(struct cp_thread *t, const ucontext_t *uc)
{
	const void *pages = t->perf.pages;
	uint64_t before = pages ? cp_perf_written(&t->perf) : 0, tail, weight;
	struct cp_perf_frames kernel;
	bool any = false, taken = false, late;
	unsigned hits;

	while (t->perf.pages && (hits = cp_perf_next(&t->perf, &kernel, &tail)) > 0) {
		any = true;
		late = t->perf.pages != pages || tail > before;
		weight = cp_perf_credit(&t->perf, hits, cp_cpu_state.period_ns);
		if (weight && late && taken) {
			take_again(t, uc, weight);
		} else {
			cp_count(CP_COUNT_SIGNALS, 1);
			if (weight)
				taken = take(t, uc, weight, late ? NULL : &kernel);
		}
		cp_perf_release(&t->perf, tail);
		t->perf.left -= t->perf.left > 0;
		keep_going(t);
	}
	return any;
}

/* T is the calling thread's. False: no event of its has hit. */
static bool take_perf(struct cp_thread *t, const ucontext_t *uc)
{
	bool taken;

	/* Pairs with the stop: it sees BUSY, or we see that nothing runs any more. */
	cp_store_seqcst(&t->perf.busy, 1);
	taken = cp_load_seqcst(&cp_cpu_state.running) && take_hits(t, uc);
	cp_store_release(&t->perf.busy, 0);
	return taken;
}

static bool is_own(const struct cp_self *self)
{
	return self && self->thread && cp_load_relaxed(&self->thread->tid) == cp_sys_gettid();
}

/* While another SIGPROF is pending for a thread the kernel drops perf's, and an event's first is
 * its only one: hits are looked for whichever came. */
static void take_unannounced(const struct cp_self *self, const ucontext_t *uc)
{
	if (cp_load_relaxed(&cp_cpu_state.perf_used) && is_own(self))
		take_perf(self->thread, uc);
}

/* Without memory for what comes with a signal, the kernel sends it bare. */
static bool is_bare(const siginfo_t *si)
{
	return si->si_code == SI_USER && !si->si_pid;
}

/* A handler gets it, or it is kept, or sigwait took it out. The default action would be the end of
 * the process, which nobody wants from a descriptor. */
static bool is_wanted(void)
{
	struct cp_disposition d;

	cp_disposition_get(SIGPROF, &d);
	return d.handler != SIG_DFL || cp_thread_self()->prof_blocked;
}

/* Perf's signals are told by the number of a descriptor that is closed. One that names another may
 * be from an event that ended since; a program's own has its descriptor open. */
static bool from_perf(const siginfo_t *si, const ucontext_t *uc)
{
	bool bare = is_bare(si), taken = false;
	struct cp_thread *t;

	if (!cp_load_relaxed(&cp_cpu_state.perf_used) ||
	    (!bare && (si->si_code < POLL_IN || si->si_code > POLL_HUP)))
		return false;
	/* Threads that have such an event, also one that has ended, are libc's. */
	t = cp_thread_self()->thread;
	if (t && (bare || t->perf.fd == si->si_fd))
		taken = take_perf(t, uc);
	return taken || (!bare && !(is_wanted() && cp_perf_is_programs(si->si_fd)));
}

static void deliver(const struct cp_self *self, siginfo_t *si, ucontext_t *uc)
{
	bool blocked = self && self->prof_blocked;
	struct cp_disposition d;

	if (cp_disposition_deliver(SIGPROF, si, uc)) {
		/* A handler's changes of the mask end with it. */
		if (self)
			cp_held_set_blocked(blocked);
		return;
	}
	cp_disposition_get(SIGPROF, &d);
	if (d.handler == SIG_DFL && cp_cpu_state.die)
		cp_cpu_state.die(SIGPROF, si, uc);
}

static void from_program(const struct cp_self *self, siginfo_t *si, ucontext_t *uc)
{
	bool own = self && self->prof_pending;

	/* The bell was this. */
	if (own && is_bare(si))
		return;
	if (self && self->prof_blocked) {
		cp_held_keep(si);
		return;
	}
	if (own && si->si_code == SI_TKILL)
		cp_held_merge();
	deliver(self, si, uc);
}

/* What another thread, in which it is blocked, has passed on to us. Not inlined: a sample's handler
 * needs no room for it. */
__attribute__((noinline)) static void deliver_held(const struct cp_self *self, ucontext_t *uc)
{
	siginfo_t si;

	if (!cp_held_take(&si))
		return;
	/* The program's handler may jump out. */
	if (cp_held_any())
		cp_held_ring();
	deliver(self, &si, uc);
}

/* A thread that libc didn't make may have no TLS where libc's would be; of our own timers' threads
 * the record knows. */
static const struct cp_self *self_of(const siginfo_t *si)
{
	const struct cp_thread *t = record_of(si);

	return t && t->own_tls ? cp_thread_self() : NULL;
}

/* What is in force again when the handler has returned. */
static void see_mask(const struct cp_self *self, const ucontext_t *uc)
{
	uint64_t mask;

	memcpy(&mask, &uc->uc_sigmask, sizeof(mask));
	if (self)
		cp_held_see(mask);
}

bool cp_cpu_event_take(const siginfo_t *si, const ucontext_t *uc)
{
	const struct cp_self *self = cp_thread_self();

	if (is_timer_of_ours(si) && si->si_timerid != CP_HELD_BELL) {
		from_thread_timer(si, uc);
		return true;
	}
	if (cp_wall_event(si, uc) || from_perf(si, uc))
		return true;
	take_unannounced(self, uc);
	return is_timer_of_ours(si) || from_process_timer(self, si, uc);
}

void cp_cpu_event_handler(int sig, siginfo_t *si, void *context)
{
	const struct cp_self *self;
	ucontext_t *uc = context;

	if (is_timer_of_ours(si)) {
		self = self_of(si);
		see_mask(self, uc);
		if (si->si_timerid == CP_HELD_BELL)
			take_unannounced(self, uc);
		else
			from_thread_timer(si, uc);
	} else if (cp_wall_event(si, uc)) {
		self = self_of(si);
		see_mask(self, uc);
	} else if (from_perf(si, uc)) {
		self = cp_thread_self();
		see_mask(self, uc);
	} else {
		self = cp_thread_libc_self();
		/* A clone that shares its maker's TLS has a mask of its own. */
		if (is_own(self))
			see_mask(self, uc);
		take_unannounced(self, uc);
		if (!from_process_timer(self, si, uc))
			from_program(self, si, uc);
	}
	/* A handler may have sent another one, and that one another: then other signals have their
	 * turn. */
	for (unsigned n = 0; n < HELD_AT_ONCE && self && !self->prof_blocked && cp_held_any(); n++)
		deliver_held(self, uc);
	cp_restart_check(uc);
}
