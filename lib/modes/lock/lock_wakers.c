/* SPDX-License-Identifier: BSD-3-Clause */
/* Who ended the waits for conditions, semaphores, barriers, futexes and ends of threads: the
 * control half of this companion of the lock mode, and the contents and comments of its file. The
 * event half is lib/sample/wakes.c and lib/modes/lock/signal/lock_wake.c.
 */

#include "base/sys.h"
#include "base/text.h"
#include "modes/lock/lock.h"
#include "modes/lock/signal/lock_signal.h"
#include "output/output.h"

#define L(x) ((unsigned long)(x))

/* Number of rows whose objects were named. */
static size_t named;

static int start_wakers(struct cp_run *r, const struct cp_config *c)
{
	const struct cp_lock_settings *s = cp_config_of(c, CPROF_LOCK);

	named = 0;
	cp_wakers_start(CP_WAKES_OF_LOCK,
			(struct cp_wakes_settings){ .threshold_ns = s->threshold_ns,
						    .budget = CP_LOCK_BUDGET });
	return 0;
}

static void stop_wakers(struct cp_run *r)
{
	cp_wakers_stop(CP_WAKES_OF_LOCK);
}

static void wakers_drained(struct cp_run *r)
{
	cp_lock_names_update(&cp_lock_names_of_mode, &r->aggregate, named);
	named = r->aggregate.stacks.count;
	cp_waiters_recount();
}

/* Rows get new numbers: the next drain looks at all of them. */
static void wakers_rows(struct cp_run *r, void (*see)(uint32_t *row, void *arg), void *arg)
{
	named = 0;
}

static void wakers_labels(const struct cp_run *r, const struct cp_stack *s,
			  struct cp_encode_labels *to)
{
	const char *name = s->tag ? cp_lock_names_of(&cp_lock_names_of_mode, s->tag) : NULL;

	if (!s->tag)
		return;
	if (!name) {
		cp_text_format(to->text, sizeof(to->text), "0x%lx", L(s->tag));
		name = to->text;
	}
	to->labels[to->count++] = (struct cp_pprof_label){ .key = "lock", .text = name };
}

static void thread_end(struct cp_thread *t)
{
	/* Only if T ends itself; the sweep may have found its end. */
	if (cp_load_relaxed(&cp_wakes_on) && t == cp_self.thread &&
	    cp_load_relaxed(&t->tid) == cp_sys_gettid())
		cp_lock_wake_by_end(t, (const void *)pthread_self());
	cp_waiters_close(t);
}

static void fork_child(struct cp_run *r, struct cp_thread *keep)
{
	named = 0;
	cp_wakers_fork_child(CP_WAKES_OF_LOCK, keep);
}

static void report_wakers(struct cp_comments *out, const struct cp_run *r,
			  const struct cp_config *c)
{
	cp_wakers_report(out, r, "waits", "timed out or were interrupted",
			 "behind waits and wakes");
}

CP_THREAD_LABEL(cp_lock_wakers_label);

/* Functions that do nothing but wake: the first table begins with their callers. */
#define WAKES "pthread_cond_(signal|broadcast)|cnd_(signal|broadcast)|sem_post"

/* The waits of the lock's file once more. The period's type differs from the other files': backends
 * would otherwise add up both files, and count each wait twice. */
const struct cp_mode_ops cp_mode_wakers = {
	.name = "wakers",
	.parent = CPROF_LOCK,
	.types = { { "waits", "count" }, { "delay", "nanoseconds" } },
	.type_count = 2,
	.period_type = { "wakes", "count" },
	.waits = true,
	.drop_frames = WAKES,
	.labels = wakers_labels,
	.report = report_wakers,
	.count = cp_wakers_count,
	.start = start_wakers,
	.stop = stop_wakers,
	.drained = wakers_drained,
	.rows = wakers_rows,
	.thread_label = &cp_lock_wakers_label,
	.thread_end = thread_end,
	.fork_child = fork_child,
};
