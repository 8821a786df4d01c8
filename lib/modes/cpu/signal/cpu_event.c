/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes the CPU mode's samples in the handler of SIGPROF; see cpu_signal.h. */
#include "modes/cpu/signal/cpu_signal.h"

#include "base/start_data.h"
#include "base/sys.h"

struct cp_cpu_state cp_cpu_state CP_START_DATA;

const struct cp_cpu_thread cp_cpu_thread_part = { .timer = CP_NO_TIMER, .perf = { .fd = -1 } };

static bool is_left_out(const struct cp_thread *t)
{
	int (*filter)(void *) = cp_load_acquire(&cp_cpu_state.filter);

	return cp_load_relaxed(&t->paused) || (filter && !filter(cp_cpu_state.filter_argument));
}

/* Take a sample of UC for WEIGHT expiries of PERIOD ns. KERNEL, the kernel's frames, is NULL where
 * they are unknown. Returns false if nothing was recorded. */
static bool take_cpu_sample(struct cp_thread *t, const ucontext_t *uc, uint64_t weight,
			    uint64_t period, const struct cp_kernel_frames *kernel)
{
	const struct cp_event e = cp_cpu_event_of(weight, period);
	uint64_t began = cp_timing_begin();
	struct cp_regs regs;
	bool done;

	if (is_left_out(t)) {
		cp_count(CP_COUNT_LOST_PAUSED, weight);
		return false;
	}
	cp_regs_of_context(&regs, uc);
	done = kernel ? cp_capture_in_kernel(t, &e, &regs, kernel) : cp_capture(t, &e, &regs);
	cp_timing_end(CPROF_CPU, began);
	return done;
}

/* Record T's last sample once more. */
static void take_again(struct cp_thread *t, const ucontext_t *uc, uint64_t weight, uint64_t period)
{
	const struct cp_event e = cp_cpu_event_of(weight, period);
	struct cp_regs regs;

	cp_regs_of_context(&regs, uc);
	cp_capture_repeat(t, &e, regs.r[CP_REG_PC]);
}

static struct timespec to_timespec(uint64_t ns)
{
	return (struct timespec){ (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };
}

int cp_cpu_event_set_timer(const struct cp_thread *t)
{
	const struct cp_cpu_thread *c = cp_cpu_of(t);
	bool at_once = c->edge.credit != 0;
	struct itimerspec when = { to_timespec(c->step), to_timespec(at_once ? 1 : c->due) };

	/* With AT_ONCE the timer expires at the next tick. A time in the past would make it expire
	 * in this call. */
	return (int)cp_sys4(SYS_timer_settime, c->timer, at_once ? 0 : TIMER_ABSTIME, &when, NULL);
}

void cp_cpu_event_begin_steps(struct cp_cpu_thread *c, uint64_t now, uint64_t first)
{
	c->due = now + first;
	c->within = first;
	c->left = 1;
	c->told = 0;
	/* Release: pairs with the handler, which reads the timer's id after it. */
	cp_store_release(&c->step, cp_cpu_state.period_ns);
}

/* Return a random number below MOST. */
static uint64_t draw(struct cp_cpu_thread *c, uint64_t most)
{
	/* The generator of Knuth's MMIX; its high bits are used. */
	c->random = c->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (c->random >> 32) * most >> 32;
}

/* The step's last expiry has come. Draw another step. Return the time to its first expiry. */
static uint64_t draw_step(struct cp_cpu_thread *c)
{
	uint64_t period = cp_cpu_state.period_ns, within = c->within;
	uint64_t more = draw(c, period), other;

	c->left = CP_CPU_RUN;
	if (within) {
		/* The first run, from the end of the first period on, as if it had begun earlier:
		 * any moment is more likely in a longer step. */
		other = 2 * draw(c, period);
		more = other > more + period ? other - period : more;
		c->left = 1 + draw(c, CP_CPU_RUN);
		c->within = 0;
	}
	c->step = period / 2 + more;
	return within ? period - within + 1 + draw(c, c->step) : c->step;
}

/* N expiries of T have come, all with T's step. Set the timer if the next ones have another step,
 * or if it has to be SET anyway. An expiry of the new step may have passed already: the kernel then
 * sends one more signal at once. */
static void go_on(struct cp_thread *t, uint64_t n, bool set)
{
	struct cp_cpu_thread *c = cp_cpu_of(t);
	uint64_t before = c->step, due = c->due + n * before;

	c->due = due;
	if (n < c->left)
		c->left -= n;
	else if (cp_load_relaxed(&cp_cpu_state.shuffled))
		c->due += draw_step(c) - before;
	if ((set || c->due != due) && cp_cpu_event_set_timer(t) < 0) {
		c->due = due;
		c->step = before;
	}
}

/* Return how many of C's N expiries no settle has counted. */
static uint64_t not_told(struct cp_cpu_thread *c, uint64_t n)
{
	uint64_t told = cp_load_relaxed(&c->told);

	told = told < n ? told : n;
	if (told)
		cp_add_relaxed(&c->told, -told);
	return n - told;
}

/* Return the expiries of T's timer that the signal SI represents, and those of other threads that T
 * has CREDITED. */
static uint64_t timer_expiries(struct cp_thread *t, const siginfo_t *si, uint64_t *credited)
{
	uint64_t n = 1 + (si->si_overrun > 0 ? (uint64_t)si->si_overrun : 0), now;
	bool first = cp_cpu_of(t)->edge.credit != 0;

	/* The timer was due at once. It goes on with T's own expiries. */
	if (first) {
		now = cp_cpu_clock_of(t);
		/* A thread in a pause takes no credit: it would be lost with the rest. */
		*credited = cp_cpu_edges_first_tick(&cp_cpu_of(t)->edge,
						    cp_load_relaxed(&t->paused) ? UINT64_MAX : now);
		n = cp_cpu_event_passed(cp_cpu_of(t), now);
	}
	go_on(t, n, first);
	return *credited + not_told(cp_cpu_of(t), n);
}

uint64_t cp_cpu_event_of_program(struct cp_thread *t, uint64_t n, uint64_t step)
{
	struct cp_cpu_thread *c = cp_cpu_of(t);
	uint64_t own_ns = cp_load_relaxed(&t->own_cpu_ns), own;

	/* Rounded at random, so that short work takes its share of expiries. */
	if (own_ns != c->own_seen)
		c->own_left += (own_ns - c->own_seen + draw(c, step)) / step;
	c->own_seen = own_ns;
	own = c->own_left < n ? c->own_left : n;
	c->own_left -= own;
	return n - own;
}

/* Record T's stack also for the expiries that an earlier clock of T left uncounted. */
static void pay(struct cp_thread *t, const ucontext_t *uc)
{
	uint64_t ns = cp_exchange_acqrel(&cp_cpu_of(t)->owed_ns, 0);

	if (is_left_out(t))
		cp_count(CP_COUNT_LOST_PAUSED, 1);
	else
		take_again(t, uc, 1, ns);
}

static void from_thread_timer(struct cp_thread *t, const siginfo_t *si, const ucontext_t *uc)
{
	uint64_t step, weight, credited = 0;

	/* Ignored after a stop, or from a deleted timer. */
	if (!cp_load_relaxed(&cp_cpu_state.running) || !t)
		return;
	/* Acquire, and read before the timer's id: a timer of another period has another id, so an
	 * expiry never counts for a step that is not its own. */
	step = cp_load_acquire(&cp_cpu_of(t)->step);
	if (cp_load_relaxed(&cp_cpu_of(t)->timer) != si->si_timerid)
		return;
	cp_count(CP_COUNT_SIGNALS, 1);
	weight = cp_cpu_event_of_program(t, timer_expiries(t, si, &credited), step);
	cp_add_relaxed(&cp_cpu_of(t)->known_ns, (weight - credited) * step);
	if (weight)
		take_cpu_sample(t, uc, weight, step, NULL);
	if (cp_load_relaxed(&cp_cpu_of(t)->owed_ns))
		pay(t, uc);
}

/* Keep the event going after a hit. This takes longer than a sample and is timed by a clock of CPU
 * time, because preemption is likely. */
static void keep_going(struct cp_thread *t)
{
	uint64_t began;

	if (cp_cpu_of(t)->perf.left && !cp_cpu_of(t)->perf.past)
		return;
	began = cp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	if (cp_cpu_of(t)->perf.past)
		cp_perf_event_forget(&cp_cpu_of(t)->perf);
	else if (cp_perf_event_renew(&cp_cpu_of(t)->perf, cp_load_relaxed(&t->tid),
				     cp_cpu_state.period_ns) < 0)
		cp_cpu_state.perf_failed(t);
	cp_count(CP_COUNT_EVENT_NS, cp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID) - began);
}

/* Take all hits since the last signal. Hits in the kernel stay in one kernel entry, so the
 * program's stack is the same for all. Hits that come meanwhile are in the profiler's own work and
 * count for the present sample. Their kernel frames would be the profiler's. If each had its own
 * walk, the program would not go on at all where walks take longer than a period. Returns false if
 * there was no hit. */
static bool take_hits(struct cp_thread *t, const ucontext_t *uc)
{
	const void *pages = cp_cpu_of(t)->perf.pages;
	uint64_t before = pages ? cp_perf_event_written(&cp_cpu_of(t)->perf) : 0, tail, weight;
	struct cp_kernel_frames kernel;
	bool any = false, taken = false, late;
	unsigned hits;

	while (cp_cpu_of(t)->perf.pages &&
	       (hits = cp_perf_event_next(&cp_cpu_of(t)->perf, &kernel, &tail)) > 0) {
		any = true;
		late = cp_cpu_of(t)->perf.pages != pages || tail > before;
		weight = cp_perf_event_credit(&cp_cpu_of(t)->perf, hits, cp_cpu_state.period_ns);
		weight = cp_cpu_event_of_program(t, weight, cp_cpu_state.period_ns);
		if (weight && late && taken) {
			take_again(t, uc, weight, cp_cpu_state.period_ns);
		} else {
			cp_count(CP_COUNT_SIGNALS, 1);
			if (weight)
				taken = take_cpu_sample(t, uc, weight, cp_cpu_state.period_ns,
							late ? NULL : &kernel);
		}
		cp_perf_event_release(&cp_cpu_of(t)->perf, tail);
		cp_cpu_of(t)->perf.left -= cp_cpu_of(t)->perf.left > 0;
		keep_going(t);
	}
	return any;
}

/* Take the hits of T's event. T is the calling thread's record. Returns false if its event has not
 * hit. */
static bool take_perf(struct cp_thread *t, const ucontext_t *uc)
{
	bool taken;

	/* Pairs with the stop: either the stop sees BUSY, or this handler sees that the source has
	 * stopped. */
	cp_store_seqcst(&cp_cpu_of(t)->perf.busy, 1);
	taken = cp_load_seqcst(&cp_cpu_state.running) && take_hits(t, uc);
	cp_store_release(&cp_cpu_of(t)->perf.busy, 0);
	return taken;
}

/* Look for hits of the thread's event at any SIGPROF. While another SIGPROF is pending for a
 * thread, the kernel drops perf's, and the first signal of an event is its only one. */
static void take_unannounced(struct cp_thread *t, const ucontext_t *uc)
{
	take_perf(t, uc);
}

/* Handle a signal of perf. Returns false if the signal is the program's. */
static bool from_perf(const siginfo_t *si, const ucontext_t *uc)
{
	bool taken = false;
	struct cp_thread *t;

	if (!cp_load_relaxed(&cp_cpu_state.perf_used) || !cp_perf_signal_may_be(si))
		return false;
	/* Threads that have or had such an event were made by libc. */
	t = cp_thread_self()->thread;
	if (t && cp_perf_signal_fits(&cp_cpu_of(t)->perf, si))
		taken = take_perf(t, uc);
	return taken || !cp_perf_signal_is_programs(si);
}

const struct cp_sigprof_source cp_cpu_event_source = {
	.running = &cp_cpu_state.started,
	.expired = from_thread_timer,
	.take = from_perf,
	.look = take_unannounced,
	.looks = &cp_cpu_state.perf_used,
};
