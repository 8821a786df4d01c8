/* SPDX-License-Identifier: BSD-3-Clause */
/* The wall clock as a mode: the contents and comments of its file. */
#include <string.h>

#include "collect/collect.h"
#include "host/host.h"
#include "labels/signal/labels_signal.h"
#include "modes/wall/wall.h"
#include "settings/config_rows.h"

#define L(x) ((unsigned long)(x))

static uint64_t wall_period(const struct cp_run *r)
{
	return cp_wall.period_ns;
}

static void wait_labels(uint32_t wait, const struct cp_run *r, const struct cp_stack *s,
			struct cp_encode_labels *to)
{
	const char *cause = cp_wall_cause_text(wait, s, &r->rows->aggregate, &r->rows->names),
		   *kind = cp_wall_cause_kind_text(wait);

	if (cause)
		to->labels[to->count++] = (struct cp_pprof_label){ .key = "wait", .text = cause };
	if (kind)
		to->labels[to->count++] = (struct cp_pprof_label){ .key = "kind", .text = kind };
	if (kind && CP_WALL_WAIT_FD(wait) >= 0)
		to->labels[to->count++] = (struct cp_pprof_label){ .key = "fd",
								   .number = CP_WALL_WAIT_FD(wait),
								   .unit = "" };
}

static const char *state_text(uint64_t state)
{
	return state == CP_WALL_RUNNING	   ? "running"
	       : state == CP_WALL_RUNNABLE ? "runnable"
					   : "waiting";
}

static void wall_labels(const struct cp_run *r, const struct cp_stack *s,
			struct cp_encode_labels *to)
{
	to->labels[to->count++] =
		(struct cp_pprof_label){ .key = "state",
					 .text = state_text(CP_WALL_ROW_STATE(s->tag)) };
	wait_labels(CP_WALL_ROW_WAIT(s->tag), r, s, to);
}

#define COUNTS (sizeof(struct cp_wall_counts) / sizeof(uint64_t))

static void count_states(const struct cp_run *r, struct cp_vec *to)
{
	if (cp_vec_extend(to, COUNTS))
		memcpy(to->items, &cp_wall.counts, sizeof(cp_wall.counts));
}

static void report_wall(struct cp_comments *out, const struct cp_run *r, const struct cp_config *c)
{
	union {
		struct cp_wall_counts counts;
		uint64_t words[COUNTS];
	} own;
	const struct cp_wall_counts *n = &own.counts;
	uint64_t unsampled;

	for (size_t i = 0; i < COUNTS; i++)
		own.words[i] = cp_comments_own(out, i);
	/* Time before a window may have found a row in it. */
	unsampled = n->unsampled + n->unmet;
	cp_threads_blocking_note(out);
	cp_comments_line(out, "wall: frequency %u Hz, period %lu ns%s", cp_wall.frequency,
			 L(cp_wall.period_ns),
			 cp_wall.blind
				 ? "; stacks of waiting threads can't be seen: each is that of "
				   "where its thread ran last"
				 : "");
	cp_comments_line(
		out,
		"visits: %lu of threads: %lu had not run since the one before, %lu waited, "
		"%lu ran, %lu were ready but had no processor; %lu rounds were missed",
		L(n->visits), L(n->unmoved), L(n->walked), L(n->running), L(n->runnable),
		L(n->late));
	cp_comments_line(
		out,
		"samples: %lu of running threads by signal; lost: %lu ring full, %lu "
		"collector limit; %lu timers could not be made; %s s in paused threads",
		L(cp_run_counted(r, CP_COUNT_SAMPLES)),
		L(cp_run_counted(r, CP_COUNT_SIGNALS) - cp_run_counted(r, CP_COUNT_SAMPLES)),
		L(cp_run_counted(r, CP_COUNT_LOST_AGGREGATE)), L(n->timeless),
		cp_comments_seconds(cp_run_counted(r, CP_COUNT_LOST_PAUSED)));
	cp_comments_line(out,
			 "wall time: %s s of threads in samples, of it %s s of threads that lived "
			 "between two visits (at their start function) and %s s of running threads "
			 "without a sample (where they were last seen); %s s unsampled",
			 cp_comments_seconds(n->given), cp_comments_seconds(n->unvisited),
			 cp_comments_seconds(n->unanswered),
			 cp_comments_seconds((int64_t)unsampled > 0 ? unsampled : 0));
	cp_thread_timer_bursts_note(
		out, r, "a CPU profile with CPROF_CPU_ENGINE=perf shows where they ran");
}

static void prepare_wall(const struct cp_config *c)
{
	cp_wall_prepare();
}

/* The pacer accounts the thread's time within a period. */
static bool keep_thread(struct cp_thread *t)
{
	return cp_wall_of(t)->began != 0;
}

static int start_wall(struct cp_run *r, const struct cp_config *c)
{
	const struct cp_wall_settings *s = cp_config_of(c, CPROF_WALL);
	int err = cp_signals_claim_prof();

	cp_sigprof_add(CPROF_WALL, &cp_wall_event_source);
	cp_wall_strata_forget(false);
	cp_wall_cause_forget();
	return err ? err : cp_wall_start(r, s->frequency);
}

static int set_wall(struct cp_run *r, const struct cp_config *c)
{
	const struct cp_wall_settings *s = cp_config_of(c, CPROF_WALL);

	cp_wall_set_frequency(s->frequency);
	return 0;
}

static void stop_wall(struct cp_run *r)
{
	cp_wall_stop();
}

static void settle_live(struct cp_run *r, struct cp_thread *t, uint64_t now)
{
	uint64_t began = cp_load_acquire(&cp_wall_of(t)->began);
	uint64_t ended = cp_load_acquire(&cp_wall_of(t)->ended);

	if (ended && ended < now)
		now = ended;
	if (cp_wall_of(t)->state != CP_WALL_UNSEEN) {
		cp_wall_answer_settle(r, t, now);
		cp_wall.counts.unmet += cp_wall_exact_untold(t);
	} else if (now > began) {
		cp_wall.counts.unmet += now - began;
	}
}

/* The thread has ended since the last drain. The next drain finds nothing left of its time. */
static void settle_ended(struct cp_run *r, struct cp_thread *t)
{
	cp_wall_visit_take(r, t);
	cp_wall_answer_ended(r, t);
}

static void settle_wall(struct cp_run *r)
{
	uint64_t now = cp_wall.stopped ? cp_wall.stopped : cp_sys_clock_ns(CLOCK_MONOTONIC);

	cp_wall.counts.unmet = 0;
	for (uint32_t i = 0; i < cp_thread_limit(); i++) {
		struct cp_thread *t = cp_thread_at(i);
		/* A thread that ends from here on is settled as a live one. */
		uint32_t state = cp_load_acquire(&t->state);

		if (!cp_load_acquire(&cp_wall_of(t)->began))
			continue;
		if (state == CP_THREAD_ENDED)
			settle_ended(r, t);
		else if (state == CP_THREAD_LIVE)
			settle_live(r, t, now);
	}
	cp_wall_strata_settle(r);
}

static void wall_rows(struct cp_run *r, void (*see)(uint32_t *row, void *arg), void *arg)
{
	for (uint32_t i = 0; i < cp_thread_limit(); i++)
		cp_wall_time_rows(cp_thread_at(i), see, arg);
}

CP_THREAD_LABEL(cp_wall_mode_label);

const struct cp_mode_ops cp_mode_wall = {
	.name = "wall",
	.parent = CPROF_WALL,
	.settings = &cp_wall_settings,
	.types = { { "samples", "count" }, { "wall", "nanoseconds" } },
	.type_count = 2,
	.period_type = { "wall", "nanoseconds" },
	.period = wall_period,
	.labels = wall_labels,
	.report = report_wall,
	.count = count_states,
	.prepare = prepare_wall,
	.by_sigprof = true,
	.start = start_wall,
	.stop = stop_wall,
	.set = set_wall,
	.rows = wall_rows,
	.settle = settle_wall,
	.due = cp_wall_due,
	.tick = cp_wall_tick,
	.thread_label = &cp_wall_mode_label,
	.record = cp_wall_visit_record,
	.thread_released = cp_wall_answer_ended,
	.thread_begin = cp_wall_timer_thread_begin,
	.thread_end = cp_wall_timer_thread_end,
	.keep = keep_thread,
	.fork_locks = cp_wall_timer_fork_child,
	.fork_child = cp_wall_fork_child,
};

#define CP_CONFIG_IN struct cp_wall_settings
CP_CONFIG_FITS(struct cp_wall_settings);

/* clang-format off */
static const struct cp_config_row rows[] = {
	NUMBER("WALLPROFILE_FREQUENCY", frequency, "50", 1, 1000, "samples per second", OPTION(wall_frequency), LIVE),
};

static const struct cp_config_row realtime_rate = NUMBER("CPUPROFILE_FREQUENCY", frequency, NULL, 1, 1000, "with CPUPROFILE_REALTIME");
/* clang-format on */

/* Reads gperftools' wall clock switch: it turns the profile that CPUPROFILE names, or that
 * ProfilerStart will start, into a wall profile. */
static void read_realtime(const struct cp_config_reader *r, struct cp_config *c)
{
	if (!cp_config_reader_switch(r, "CPUPROFILE_REALTIME"))
		return;
	if (c->path[CPROF_WALL][0]) {
		cp_config_reader_say(r, "CPUPROFILE_REALTIME", "1", "0 where WALLPROFILE is set",
				     "0");
		return;
	}
	memcpy(c->path[CPROF_WALL], c->path[CPROF_CPU], sizeof(c->path[0]));
	c->path[CPROF_CPU][0] = '\0';
	c->named_mode = CPROF_WALL;
	if (!cp_config_reader_get(r, "WALLPROFILE_FREQUENCY"))
		cp_config_reader_read(r, &realtime_rate, cp_config_of(c, CPROF_WALL));
}

const struct cp_config_mode cp_wall_settings = {
	.variable = "WALLPROFILE",
	.path_option = offsetof(struct cprof_options, wall_path),
	.rows = rows,
	.count = sizeof(rows) / sizeof(*rows),
	.read = read_realtime,
};
