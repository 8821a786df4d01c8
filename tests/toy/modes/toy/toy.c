/* SPDX-License-Identifier: BSD-3-Clause */
/* The toy mode: how often the program calls getpid, and from where. */
#include "base/atomic.h"
#include "modes/toy/signal/toy_event.h"
#include "modes/toy/toy_settings.h"
#include "output/output.h"
#include "output/pprof.h"
#include "unwind/unwind.h"

static uint64_t period(const struct cp_run *r)
{
	(void)r;
	return cp_toy_state.every;
}

static void labels(const struct cp_run *r, const struct cp_stack *s, struct cp_encode_labels *to)
{
	(void)r;
	to->labels[to->count++] =
		(struct cp_pprof_label){ .key = "sample",
					 .text = s->tag == CP_TOY_FIRST ? "first" : "later" };
}

static void report(struct cp_comments *out, const struct cp_run *r, const struct cp_config *c)
{
	const struct cp_toy_settings *s = cp_config_of(c, CPROF_TOY);

	cp_comments_line(out, "toy: one sample for %u calls; %lu calls, %lu samples", s->every,
			 (unsigned long)cp_load_relaxed(&cp_toy_state.calls),
			 (unsigned long)cp_run_counted(r, CP_COUNT_SAMPLES));
}

static void prepare(const struct cp_config *c)
{
	(void)c;
	if (!cp_toy_state.leaf)
		cp_toy_state.leaf = cp_loaded_in_libc("getpid");
}

static int start(struct cp_run *r, const struct cp_config *c)
{
	const struct cp_toy_settings *s = cp_config_of(c, CPROF_TOY);

	(void)r;
	cp_store_relaxed(&cp_toy_state.calls, 0);
	cp_store_relaxed(&cp_toy_state.every, s->every);
	cp_store_seqcst(&cp_toy_state.running, 1);
	return 0;
}

static void stop(struct cp_run *r)
{
	(void)r;
	cp_store_seqcst(&cp_toy_state.running, 0);
}

static void stats(const struct cp_run *r, struct cprof_stats *s)
{
	s->handler_ns = cp_run_hooks_ns(r, s->samples);
}

static void fork_child(struct cp_run *r, struct cp_thread *keep)
{
	(void)r;
	cp_store_relaxed(&cp_toy_state.calls, 0);
	if (!keep)
		cp_store_seqcst(&cp_toy_state.running, 0);
}

CP_THREAD_LABEL(cp_toy_label);

const struct cp_mode_ops cp_mode_toy = {
	.name = "toy",
	.parent = CPROF_TOY,
	.settings = &cp_toy_settings,
	.types = { { "samples", "count" }, { "calls", "count" } },
	.type_count = 2,
	.period_type = { "calls", "count" },
	.period = period,
	.labels = labels,
	.report = report,
	.prepare = prepare,
	.start = start,
	.stop = stop,
	.stats = stats,
	.thread_label = &cp_toy_label,
	.fork_child = fork_child,
};
