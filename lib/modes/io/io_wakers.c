/* SPDX-License-Identifier: BSD-3-Clause */
/* Who ended the reads of pipes and eventfds: the control half of this companion of the I/O mode,
 * and the contents and comments of its file. The event half is lib/sample/wakes.c and
 * lib/modes/io/signal/io_wake.c.
 *
 * It is on only if asked for: nobody knows before a read whether it will wait, so each read of a
 * pipe is followed, which makes it dearer by several times what the mode itself costs.
 */
#include "modes/io/io.h"
#include "modes/io/signal/io_signal.h"
#include "modes/io/signal/io_wake.h"
#include "output/pprof.h"
#include "output/output.h"

static bool wanted(const struct cp_config *c)
{
	const struct cp_io_settings *s = cp_config_of(c, CPROF_IO);

	return s->wakers;
}

static int start(struct cp_run *r, const struct cp_config *c)
{
	(void)r;
	(void)c;
	cp_wakers_start(CP_WAKES_OF_IO,
			(struct cp_wakes_settings){ .threshold_ns = CP_IO_WAKE_NS_MIN,
						    .budget = CP_IO_BUDGET });
	return 0;
}

static void stop(struct cp_run *r)
{
	(void)r;
	cp_wakers_stop(CP_WAKES_OF_IO);
}

static void drained(struct cp_run *r)
{
	(void)r;
	cp_waiters_recount();
}

static void labels(const struct cp_run *r, const struct cp_stack *s, struct cp_encode_labels *to)
{
	(void)r;
	to->labels[to->count++] =
		(struct cp_pprof_label){ .key = "kind",
					 .text = cp_io_names_kind((unsigned)s->tag) };
}

static void thread_end(struct cp_thread *t)
{
	cp_waiters_close(t);
}

static void fork_child(struct cp_run *r, struct cp_thread *keep)
{
	(void)r;
	cp_wakers_fork_child(CP_WAKES_OF_IO, keep);
}

static void report(struct cp_comments *out, const struct cp_run *r, const struct cp_config *c)
{
	(void)c;
	cp_wakers_report(out, r, "reads", "were interrupted", "behind reads and writes");
}

CP_THREAD_LABEL(cp_io_wakers_label);

const struct cp_mode_ops cp_mode_io_wakers = {
	.name = "io_wakers",
	.suffix = "wakers",
	.parent = CPROF_IO,
	.types = { { "waits", "count" }, { "delay", "nanoseconds" } },
	.type_count = 2,
	.period_type = { "wakes", "count" },
	.drop_frames = "writev?|close",
	.period = cp_wakers_period,
	.labels = labels,
	.report = report,
	.count = cp_wakers_count,
	.wanted = wanted,
	.start = start,
	.stop = stop,
	.drained = drained,
	.thread_label = &cp_io_wakers_label,
	.thread_end = thread_end,
	.fork_child = fork_child,
};
