/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts and stops the CPU source, and chooses the engine of each thread; see cpu.h. */
#include "modes/cpu/cpu.h"

#include <errno.h>
#include <string.h>

#include "modes/cpu/signal/cpu_signal.h"
#include "collect/collect.h"
#include "host/host.h"
#include "base/start_data.h"

struct cp_cpu cp_cpu;

static struct cp_futex_lock timers
	CP_START_DATA; /* guards creation and deletion; held for a few calls only */
/* The last moments of threads, after their end was told (cp_cpu_thread_end). They are in the
 * process's CPU clock only. */
static struct {
	uint64_t ends;	   /* threads whose end was told */
	uint64_t ended_ns; /* what these used until then */
	uint64_t live_ns;  /* what the others have used */
} last CP_START_DATA;
#define LAST_MOST 100000 /* ns, the mean of all threads */

static bool event_failure_said;
static uint32_t used; /* the mode was started once */

/* Note ERR, the error of making a thread's timer. */
static void note_failure(int err)
{
	if (!err || err == -ESRCH /* the thread has just ended */)
		return;
	cp_count(CP_COUNT_TIMER_FAILURES, 1);
	cp_notes_note(CP_NOTE_CPU_TIMER,
		      "no CPU timer for a thread (%s%s): threads without one are not sampled",
		      cp_log_errno_text(err), cp_thread_timer_advice(err));
}

static void begin_timer(struct cp_thread *t, uint64_t from)
{
	note_failure(cp_cpu_timer_create(t, from, 0));
}

/* Runs in T's handler, which has T's clocks for itself. */
static void replace_event(struct cp_thread *t)
{
	cp_count(CP_COUNT_EVENT_FAILURES, 1);
	if (cp_cpu_timer_create(t, cp_cpu_clock_of(t), 0) < 0)
		cp_count(CP_COUNT_TIMER_FAILURES, 1);
}

/* The CPU engine "perf": one perf event per thread, which samples that thread's task clock.
 *
 * The kernel looks at timers only at its tick. A perf event instead samples at any rate, sees what
 * happens between two ticks, and adds the kernel's part of the stack. It has its price, so it is
 * used only where it is asked for: each switch between threads costs about 2 us more; a sample
 * taken in the kernel makes a waiting call return EINTR, as any signal does; and the first event of
 * the machine takes 10 ms to set up.
 *
 * Only threads made by libc have an event: the signal names no thread record, so the handler needs
 * the thread's own TLS. Called by cpu.c, under its lock. */

/* Return a static text, why no event can count kernel time; NULL if one can. */
static const char *cpu_perf_refusal(void)
{
	int err;

	return cp_perf_probe(NULL, &err);
}

/* Create and start T's event. Returns 0 or a negative errno. */
static int cpu_perf_create(struct cp_thread *t)
{
	cp_store_relaxed(&cp_cpu_state.perf_used, 1);
	return cp_perf_event_open(&cp_cpu_of(t)->perf, t->tid, cp_cpu_timer_first(),
				  cp_cpu_state.period_ns);
}

/* Delete T's event, if any. T must be the calling thread, or the source must have stopped. */
static void cpu_perf_delete(struct cp_thread *t)
{
	/* Seqcst: pairs with the handler's store of BUSY and its check whether the source runs. T
	 * itself, with its signals blocked, is in no handler. */
	while (cp_load_seqcst(&cp_cpu_of(t)->perf.busy))
		cp_sys_yield();
	cp_perf_event_close(&cp_cpu_of(t)->perf);
}

/* Return true if T has an event. */
static bool cpu_perf_has(const struct cp_thread *t)
{
	return cp_load_relaxed(&cp_cpu_of(t)->perf.pages) != NULL;
}

static bool begin_event(struct cp_thread *t)
{
	int err;

	if (!t->own_tls)
		return false;
	err = cpu_perf_create(t);
	if (!err)
		return true;
	cp_count(CP_COUNT_EVENT_FAILURES, 1);
	if (!event_failure_said)
		cp_log("no perf event for a thread (%s): threads without one have a timer",
		       cp_log_errno_text(err));
	event_failure_said = true;
	return false;
}

/* Give T a clock, which counts from T's CPU clock FROM on. */
static void begin_clock(struct cp_thread *t, uint64_t from)
{
	if (cp_cpu.engine != CP_ENGINE_PERF || !begin_event(t))
		begin_timer(t, from);
}

static bool may_begin(const struct cp_thread *t)
{
	return cp_load_relaxed(&cp_cpu_state.running) && !cp_load_relaxed(&t->unsignalled) &&
	       cp_cpu_of(t)->timer == CP_NO_TIMER && !cpu_perf_has(t);
}

/* No expiry of T's next clock is in work that the profiler has done on T until now. */
static void forget_own(struct cp_thread *t)
{
	cp_cpu_of(t)->own_seen = t->own_cpu_ns;
	cp_cpu_of(t)->own_left = 0;
}

static void count_from(struct cp_thread *t, uint64_t from)
{
	cp_cpu_of(t)->began = cp_cpu_program_of(t, from);
	/* What an earlier run owed. */
	cp_cpu_of(t)->owed_ns = 0;
	cp_store_relaxed(&cp_cpu_of(t)->known_ns, 0);
	forget_own(t);
	begin_clock(t, from);
}

static void begin_from(struct cp_thread *t, uint64_t from)
{
	if (!may_begin(t))
		return;
	cp_count(CP_COUNT_THREADS, 1);
	count_from(t, from);
	if (cpu_perf_has(t))
		cp_count(CP_COUNT_EVENTS, 1);
}

/* T has used CPU time that the mode doesn't count. */
static void begin_locked(struct cp_thread *t)
{
	begin_from(t, cp_cpu_clock_of(t));
}

static void each_thread(void (*visit)(struct cp_thread *t))
{
	for (uint32_t i = 0; i < cp_thread_limit(); i++) {
		struct cp_thread *t = cp_thread_at(i);

		if (cp_load_acquire(&t->state) == CP_THREAD_LIVE)
			visit(t);
	}
}

/* The lock is held, and has blocked the caller's signals. */
static bool blocks_prof_locked(struct cp_thread *t)
{
	return cp_self.thread == t ? cp_threads_has_prof(timers.oldmask)
				   : cp_threads_blocks_prof(t->tid);
}

/* T itself has blocked SIGPROF, by a call that the library didn't see: of the steps that it MISSED
 * after its last kernel tick, more than a few stay unsampled. */
static bool chose_to_miss_locked(struct cp_thread *t, uint64_t missed)
{
	return missed > cp_cpu_timer_usually_missed() && blocks_prof_locked(t);
}

/* Return the periods in the steps that T has MISSED until its CPU clock NOW. They are known. */
static uint64_t know(struct cp_thread *t, uint64_t missed, uint64_t now)
{
	uint64_t periods = cp_cpu_timer_in_periods(t, missed, now);

	cp_add_relaxed(&cp_cpu_of(t)->known_ns, periods * cp_cpu.period_ns);
	return periods;
}

/* Return the periods after T's last kernel tick, until its CPU clock NOW. */
static uint64_t missed_locked(struct cp_thread *t, uint64_t now)
{
	uint64_t missed = cp_cpu_timer_missed(t, now), all = know(t, missed, now);

	return chose_to_miss_locked(t, missed)
		       ? cp_cpu_timer_in_periods(t, cp_cpu_timer_usually_missed(), now)
		       : all;
}

/* T is owed what it used after its last kernel tick. A filter tells only at a sample which time is
 * wanted. */
static void owe_locked(struct cp_thread *t)
{
	uint64_t now = cp_cpu_clock_of(t), missed = cp_cpu_timer_missed(t, now);

	if (!missed || cp_load_relaxed(&cp_cpu_state.filter) || chose_to_miss_locked(t, missed))
		return;
	cp_add_relaxed(&cp_cpu_of(t)->told, missed);
	cp_add_relaxed(&cp_cpu_of(t)->owed_ns, know(t, missed, now) * cp_cpu.period_ns);
}

/* Choose the engine, and the reason for it, from the engine that was asked for. */
static void choose_engine(enum cp_engine_choice wanted)
{
	const char *refusal = wanted == CP_ENGINE_PERF ? cpu_perf_refusal() : NULL;

	cp_cpu.engine = wanted;
	cp_cpu.why = "asked for";
	if (wanted == CP_ENGINE_AUTO) {
		cp_cpu.engine = CP_ENGINE_TIMER;
		cp_cpu.why = "auto: it costs the program nothing between samples, and no call "
			     "returns EINTR for it";
	} else if (refusal) {
		cp_cpu.engine = CP_ENGINE_TIMER;
		cp_cpu.why = refusal;
		cp_log("CPROF_CPU_ENGINE=perf is not possible (%s); using timer", refusal);
	}
}

const char *cp_cpu_engine_name(void)
{
	return cp_cpu.engine == CP_ENGINE_PERF
		       ? "perf (task clock event of each thread, kernel frames)"
		       : "timer (POSIX timer of each thread)";
}

static void set_period(unsigned frequency)
{
	cp_cpu.frequency = frequency;
	cp_cpu.period_ns = 1000000000u / frequency;
	/* Release: pairs with the handler's acquire, which reads the timer's id afterwards. */
	cp_store_release(&cp_cpu_state.period_ns, cp_cpu.period_ns);
}

int cp_cpu_start(unsigned frequency, enum cp_engine_choice engine)
{
	int err = cp_signals_claim_prof();

	if (err < 0)
		return err;
	cp_sigprof_add(CPROF_CPU, &cp_cpu_event_source);
	cp_futex_lock_acquire(&timers);
	choose_engine(engine);
	set_period(frequency);
	cp_cpu_state.perf_failed = replace_event;
	cp_cpu_timer_prepare();
	last.ends = last.ended_ns = 0;
	cp_cpu.started = true;
	cp_store_seqcst(&used, 1);
	cp_store_seqcst(&cp_cpu_state.started, 1);
	/* Threads that begin from here on start their own clock. The loop finds the others. */
	cp_store_seqcst(&cp_cpu_state.running, 1);
	each_thread(begin_locked);
	cp_futex_lock_release(&timers);
	return 0;
}

static void delete_clock(struct cp_thread *t)
{
	/* Delete the event first: its handler may replace it by a timer. */
	cpu_perf_delete(t);
	cp_cpu_timer_delete(t);
}

/* End T's clock. T's next sample counts the expiries that the next tick would have signalled. */
static void end_period(struct cp_thread *t)
{
	uint64_t now = cp_cpu_clock_of(t);
	uint64_t missed = missed_locked(t, now);
	struct cp_cpu_thread *c = cp_cpu_of(t);

	c->period_end = now;
	c->had_timer = c->timer != CP_NO_TIMER;
	c->had_clock = c->had_timer || cpu_perf_has(t);
	delete_clock(t);
	cp_add_relaxed(&c->owed_ns, missed * cp_cpu.period_ns);
	c->period_before = cp_cpu.period_ns;
}

static void begin_period(struct cp_thread *t)
{
	struct cp_cpu_thread *c = cp_cpu_of(t);

	forget_own(t);
	if (c->had_timer)
		note_failure(cp_cpu_timer_create(t, c->period_end, c->period_before));
	else if (c->had_clock)
		begin_clock(t, c->period_end);
	c->had_timer = c->had_clock = false;
}

/* The clocks of the old period have all ended before the first of the new one begins, because an
 * expiry counts for the period that its handler reads. */
void cp_cpu_set_frequency(unsigned frequency)
{
	uint64_t before = cp_cpu.period_ns;

	cp_futex_lock_acquire(&timers);
	cp_store_seqcst(&cp_cpu_state.running, 0);
	each_thread(end_period);
	set_period(frequency);
	cp_cpu_edges_scale_accounts(before, cp_cpu.period_ns);
	cp_cpu_timer_period_changed();
	cp_store_seqcst(&cp_cpu_state.running, 1);
	each_thread(begin_period);
	cp_futex_lock_release(&timers);
}

/* The settle after this finds what T is owed. */
static void end_clock(struct cp_thread *t)
{
	owe_locked(t);
	delete_clock(t);
}

void cp_cpu_stop(void)
{
	cp_futex_lock_acquire(&timers);
	cp_cpu.started = false;
	cp_store_seqcst(&cp_cpu_state.started, 0);
	cp_store_seqcst(&cp_cpu_state.running, 0);
	each_thread(end_clock);
	cp_futex_lock_release(&timers);
}

/* No thread has a clock yet: a thread that begins or ends need not take the lock. A start that
 * comes now finds those that are live. */
static bool is_unused(void)
{
	return !cp_load_seqcst(&used);
}

/* CHANGE T's clock under the lock, which blocks all signals: no sample of T interrupts it. */
static void change_clock(struct cp_thread *t, void (*change)(struct cp_thread *t))
{
	if (is_unused())
		return;
	cp_futex_lock_acquire(&timers);
	change(t);
	cp_futex_lock_release(&timers);
}

/* The kernel's part of its begin is a new thread's own, too. */
static void begin_new_locked(struct cp_thread *t)
{
	begin_from(t, cp_self.thread == t && t->start ? 0 : cp_cpu_clock_of(t));
}

void cp_cpu_thread_begin(struct cp_thread *t)
{
	change_clock(t, begin_new_locked);
}

static bool has_stack(const struct cp_thread *t)
{
	return t->ring && cp_ring_last(t->ring);
}

static void look_at(struct cp_thread *t)
{
	uint64_t now = cp_cpu_clock_of(t);
	uint64_t ran = cp_cpu_program_of(t, now) - cp_cpu_of(t)->began;

	cp_thread_timer_bursts_look(CPROF_CPU, &cp_cpu_of(t)->bursts, t, now);
	if ((int64_t)ran > 0)
		last.live_ns += ran;
	if (has_stack(t) && cp_cpu_timer_missed(t, now))
		change_clock(t, owe_locked);
}

/* What T used meanwhile is counted nowhere. */
static void begin_again_locked(struct cp_thread *t)
{
	uint64_t now = cp_cpu_clock_of(t);

	cp_add_relaxed(&last.ended_ns, cp_cpu_program_of(t, now) - cp_cpu_of(t)->began);
	begin_from(t, now);
}

void cp_cpu_thread_again(struct cp_thread *t)
{
	change_clock(t, begin_again_locked);
}

void cp_cpu_settle(uint64_t cpu_ns)
{
	uint64_t n = cp_load_acquire(&last.ends), rest;

	last.live_ns = 0;
	each_thread(look_at);
	rest = cpu_ns - last.live_ns - cp_load_acquire(&last.ended_ns);
	/* A thread that ended meanwhile may be counted twice. More than LAST_MOST has another
	 * cause, such as threads without a record. */
	if (n && n == cp_load_acquire(&last.ends) && cp_cpu.engine != CP_ENGINE_PERF &&
	    rest / n < LAST_MOST)
		cp_cpu_edges_tell_last(rest / n, cp_cpu.period_ns, cp_cpu_timer_first() - 1);
}

/* Return what T is owed, as periods of now. */
static uint64_t take_owed(struct cp_thread *t)
{
	uint64_t ns = cp_exchange_acqrel(&cp_cpu_of(t)->owed_ns, 0);

	return (ns + cp_cpu.period_ns / 2) / cp_cpu.period_ns;
}

/* Return MISSED, T's, without what is in a pause, and count both. */
static uint64_t count_missed(const struct cp_thread *t, uint64_t missed)
{
	bool paused = cp_load_relaxed(&t->paused);

	cp_count(paused ? CP_COUNT_LOST_PAUSED : CP_COUNT_MISSED, missed);
	return paused ? 0 : missed;
}

uint64_t cp_cpu_take_owed(struct cp_thread *t)
{
	uint64_t owed;

	/* A thread without a stack gets one at its next sample. */
	if (!cp_load_relaxed(&cp_cpu_of(t)->owed_ns) ||
	    (cp_load_relaxed(&cp_cpu_state.running) && !has_stack(t)))
		return 0;
	owed = count_missed(t, take_owed(t));
	return owed ? cp_cpu_edges_settle(&cp_cpu_of(t)->edge, owed) : 0;
}

/* T, whose CPU clock is at NOW, ends. Return the expiries that it has MISSED, one more or one less
 * where threads have used so much more than their expiries stand for, or less. */
static uint64_t end_of(struct cp_thread *t, uint64_t now, uint64_t missed)
{
	struct cp_cpu_thread *c = cp_cpu_of(t);
	uint64_t ran = cp_cpu_program_of(t, now) - c->began;

	if (c->timer != CP_NO_TIMER && !cp_load_relaxed(&t->paused))
		missed = cp_cpu_edges_carry(&c->edge, missed,
					    (int64_t)(ran - cp_load_relaxed(&c->known_ns)),
					    (int64_t)cp_cpu.period_ns);
	cp_add_relaxed(&last.ended_ns, ran);
	cp_add_relaxed(&last.ends, 1);
	/* Its end may be told again, see cp_cpu_thread_again. */
	c->began = cp_cpu_program_of(t, now);
	cp_thread_timer_bursts_end(CPROF_CPU, &c->bursts, now);
	return missed;
}

/* Expiries that T's last tick didn't count go to the first ticks of threads, or, where these don't
 * need them, to T's last stack. */
static void end_locked(struct cp_thread *t)
{
	bool counts = cp_self.thread == t && cp_load_relaxed(&cp_cpu_state.running);
	struct cp_event event;
	uint64_t now, missed;

	if (!counts) {
		delete_clock(t);
		return;
	}
	now = cp_cpu_clock_of(t);
	missed = end_of(t, now, missed_locked(t, now) + take_owed(t));
	delete_clock(t);
	missed = count_missed(t, missed);
	event = cp_cpu_event_of(missed, cp_cpu_state.period_ns);
	if (!cp_cpu_edges_end(&cp_cpu_of(t)->edge, missed,
			      has_stack(t) ? cp_cpu_timer_credit() : INT64_MAX) &&
	    missed)
		cp_capture_repeat(t, &event, (uint64_t)(uintptr_t)t->start);
}

void cp_cpu_thread_end(struct cp_thread *t)
{
	change_clock(t, end_locked);
}

void cp_cpu_fork_locks(void)
{
	cp_futex_lock_reset(&timers);
}

void cp_cpu_fork_child(struct cp_thread *t)
{
	cp_cpu_fork_locks();
	if (!cp_cpu.started)
		return;
	if (t)
		cp_cpu_of(t)->bursts = (struct cp_bursts){ 0 };
	/* The parent may have been changing the period. */
	cp_store_seqcst(&cp_cpu_state.running, 1);
	last.ends = last.ended_ns = 0;
	if (!t)
		return;
	cp_futex_lock_acquire(&timers);
	begin_from(t, 0);
	cp_futex_lock_release(&timers);
}

void cp_cpu_suspend(bool dumps)
{
	/* The clock of own work tells how many expiries a dump has (own_time.c). */
	if (dumps)
		return;
	cp_futex_lock_acquire(&timers);
	if (cp_self.thread)
		cpu_perf_delete(cp_self.thread);
	cp_futex_lock_release(&timers);
}

void cp_cpu_resume(void)
{
	struct cp_thread *t = cp_self.thread;

	cp_futex_lock_acquire(&timers);
	if (t && may_begin(t))
		count_from(t, cp_cpu_clock_of(t));
	cp_futex_lock_release(&timers);
}
