/* SPDX-License-Identifier: BSD-3-Clause */
/* Timers on the CPU clocks of running threads, and the begin and end of threads; see wall.h.
 *
 * There is one timer per thread, made when the thread is first found running and armed for one
 * expiry: the kernel's next tick that finds the thread running. A waiting thread never receives the
 * signal, so no call of the program is interrupted.
 */
#include <errno.h>

#include "collect/collect.h"
#include "modes/wall/wall.h"

uint32_t cp_wall_begins;
uint64_t cp_wall_next = UINT64_MAX;
uint32_t cp_wall_resting;

static struct cp_futex_lock timers; /* against a thread's own end; held for a few calls only */

static int create(struct cp_thread *t)
{
	int id = cp_thread_timer_create(t, CPROF_WALL);

	if (id < 0)
		return id;
	cp_store_release(&cp_wall_of(t)->timer, id);
	return 0;
}

static void say_no_timer(int err)
{
	cp_wall.counts.timeless++;
	cp_notes_note(
		CP_NOTE_WALL_TIMER,
		"no CPU timer for a thread (%s%s): the wall profile has no stacks of it while it "
		"runs",
		cp_log_errno_text(err), cp_thread_timer_advice(err));
}

static bool arm_locked(struct cp_thread *t)
{
	/* Relative, and not 0: a timer that has already expired would signal at once. */
	struct itimerspec soon = { .it_value = { 0, 1 } };
	int err = 0;

	if (cp_wall_of(t)->ended || cp_load_relaxed(&t->unsignalled))
		return false;
	if (cp_wall_of(t)->timer == CP_NO_TIMER)
		err = create(t);
	if (!err)
		return cp_sys4(SYS_timer_settime, cp_wall_of(t)->timer, 0, &soon, NULL) == 0;
	if (err != -ESRCH /* the thread has just ended */)
		say_no_timer(err);
	return false;
}

bool cp_wall_timer_arm(struct cp_thread *t)
{
	bool armed;

	/* io_uring_enter is the one call that a timer would disturb: its loop runs the work that
	 * the kernel deferred until the return to the program, including the timer's expiry, and
	 * then fails with EINTR. */
	if (cp_wall_of(t)->uring)
		return false;
	cp_futex_lock_acquire(&timers);
	armed = arm_locked(t);
	cp_futex_lock_release(&timers);
	return armed;
}

static void disarm(struct cp_thread *t)
{
	int id = cp_wall_of(t)->timer;

	/* Done first: the handler accepts only signals of this timer. */
	cp_store_relaxed(&cp_wall_of(t)->timer, CP_NO_TIMER);
	if (id != CP_NO_TIMER)
		cp_sys1(SYS_timer_delete, id);
}

void cp_wall_timer_disarm(struct cp_thread *t)
{
	cp_futex_lock_acquire(&timers);
	disarm(t);
	cp_futex_lock_release(&timers);
}

void cp_wall_timer_disarm_all(void)
{
	cp_futex_lock_acquire(&timers);
	for (uint32_t i = 0; i < cp_thread_limit(); i++)
		disarm(cp_thread_at(i));
	cp_futex_lock_release(&timers);
}

void cp_wall_timer_end_rest(void)
{
	uint64_t due;

	if (!cp_load_seqcst(&cp_wall_resting) || !cp_exchange_acqrel(&cp_wall_resting, 0))
		return;
	due = cp_load_relaxed(&cp_wall_next);
	/* The mode may stop meanwhile. */
	if (due != UINT64_MAX && cp_cas_acqrel(&cp_wall_next, &due, CP_WALL_NOW))
		cp_collect_request(CP_REQUEST_TICK);
}

void cp_wall_timer_thread_created(struct cp_thread *t)
{
	if (cp_load_relaxed(&cp_wall_running))
		cp_wall_of(t)->created = cp_sys_clock_ns(CLOCK_MONOTONIC);
}

void cp_wall_timer_thread_begin(struct cp_thread *t)
{
	if (!cp_load_relaxed(&cp_wall_running) || cp_load_relaxed(&cp_wall_of(t)->began))
		return;
	cp_wall_exact_begin(t, cp_self.thread != t);
	cp_store_release(&cp_wall_of(t)->began, cp_wall_exact_birth(t));
	/* Pairs with the pacer's acquire: a reader that sees the count sees the record. */
	cp_add_seqcst(&cp_wall_begins, 1);
	cp_wall_timer_end_rest();
}

void cp_wall_timer_thread_end(struct cp_thread *t)
{
	uint64_t cpu;

	if (!cp_load_relaxed(&cp_wall_running))
		return;
	cpu = cp_wall_stack_clock_of(t->tid);
	if (cp_self.thread == t)
		cp_wall_exact_end(t, cpu);
	cp_futex_lock_acquire(&timers);
	disarm(t);
	/* The sweep is late for a thread that a visit has found gone. */
	if (!cp_wall_of(t)->ended) {
		cp_wall_of(t)->ended_cpu = cpu == UINT64_MAX ? 0 : cpu;
		cp_store_release(&cp_wall_of(t)->ended, cp_sys_clock_ns(CLOCK_MONOTONIC));
	}
	cp_futex_lock_release(&timers);
}

void cp_wall_timer_fork_child(void)
{
	cp_futex_lock_reset(&timers);
}
