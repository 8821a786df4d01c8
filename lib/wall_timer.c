/* Timers on the CPU clocks of running threads, and threads' begin and end; see wall.h.
 *
 * One a thread, made when it is first found running, armed for one expiry: the kernel's next tick
 * that finds it running. Its signal never meets a thread that waits, so no call of the
 * program's is interrupted.
 */
#include <errno.h>
#include <time.h>

#include "log.h"
#include "sigsafe/atomic.h"
#include "sigsafe/lock.h"
#include "sigsafe/sys.h"
#include "sigsafe/wall_event.h"
#include "thread_timer.h"
#include "wall.h"
#include "wall_stack.h"

struct cp_wall cp_wall;
uint32_t cp_wall_begins;

static struct cp_lock timers; /* against the thread's own end; held for a few calls only */

static int create(struct cp_thread *t)
{
	int id = cp_thread_timer_create(t, CP_WALL_TAG);

	if (id < 0)
		return id;
	cp_store_release(&t->wall.timer, id);
	return 0;
}

static void say_no_timer(int err)
{
	static bool said;

	cp_wall.counts.timeless++;
	if (!said)
		cp_log("no CPU timer for a thread (%s%s): the wall "
		       "profile has no stacks of it while it runs",
		       cp_errno_text(err), cp_thread_timer_advice(err));
	said = true;
}

static bool arm_locked(struct cp_thread *t)
{
	/* Relative, and not 0: what has expired already would be signalled at once. */
	struct itimerspec soon = { .it_value = { 0, 1 } };
	int err = 0;

	if (t->wall.ended)
		return false;
	if (t->wall.timer == CP_NO_TIMER)
		err = create(t);
	if (!err)
		return cp_sys4(SYS_timer_settime, t->wall.timer, 0, &soon, NULL) == 0;
	if (err != -ESRCH /* it has just ended */)
		say_no_timer(err);
	return false;
}

bool cp_wall_arm(struct cp_thread *t)
{
	bool armed;

	/* This one call notices: its loop runs what the kernel has put off until the way back to
	 * the program, our timer's expiry with it, and then fails with EINTR. */
	if (t->wall.uring)
		return false;
	cp_lock_acquire(&timers);
	armed = arm_locked(t);
	cp_lock_release(&timers);
	return armed;
}

static void disarm(struct cp_thread *t)
{
	int id = t->wall.timer;

	/* First: the handler takes only signals of the timer named here. */
	cp_store_relaxed(&t->wall.timer, CP_NO_TIMER);
	if (id != CP_NO_TIMER)
		cp_sys1(SYS_timer_delete, id);
}

void cp_wall_disarm_all(void)
{
	cp_lock_acquire(&timers);
	for (uint32_t i = 0; i < cp_thread_limit(); i++)
		disarm(cp_thread_at(i));
	cp_lock_release(&timers);
}

void cp_wall_thread_begin(struct cp_thread *t)
{
	if (!cp_load_relaxed(&cp_wall_running) || cp_load_relaxed(&t->wall.began))
		return;
	cp_store_release(&t->wall.began, cp_sys_clock_ns(CLOCK_MONOTONIC));
	/* Pairs with the pacer's acquire: who sees the count sees the record. */
	cp_add_seqcst(&cp_wall_begins, 1);
}

void cp_wall_thread_end(struct cp_thread *t)
{
	uint64_t cpu;

	if (!cp_load_relaxed(&cp_wall_running))
		return;
	cpu = cp_wall_clock_of(t->tid);
	cp_lock_acquire(&timers);
	disarm(t);
	/* The sweep comes late for a thread that was found gone by a visit. */
	if (!t->wall.ended) {
		t->wall.ended_cpu = cpu == UINT64_MAX ? 0 : cpu;
		cp_store_release(&t->wall.ended, cp_sys_clock_ns(CLOCK_MONOTONIC));
	}
	cp_lock_release(&timers);
}

void cp_wall_timers_fork_child(void)
{
	cp_lock_reset(&timers);
}
