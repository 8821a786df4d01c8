/* SPDX-License-Identifier: BSD-3-Clause */
/* Events as a mode: the contents and comments of its file. */
#include "base/text.h"
#include "modes/event/event.h"
#include "modes/event/signal/event_hit.h"
#include "output/output.h"
#include "settings/config_rows.h"

#define L(x) ((unsigned long)(x))

/* The name of the event, which is the name of the file's type. */
static char name[CP_EVENT_NAME_SIZE] = "events";

static uint64_t event_period(const struct cp_run *r)
{
	return cp_event_control.period;
}

static void losses(struct cp_comments *out, const struct cp_run *r)
{
	cp_comments_line(out,
			 "samples: %lu taken for %lu events; lost events: %lu ring full, %lu no "
			 "memory, %lu collector limit; %lu in paused threads",
			 L(cp_run_counted(r, CP_COUNT_SAMPLES)),
			 L(cp_run_counted(r, CP_COUNT_EXPIRIES)),
			 L(cp_run_counted(r, CP_COUNT_LOST_RING)),
			 L(cp_run_counted(r, CP_COUNT_LOST_MEMORY)),
			 L(cp_run_counted(r, CP_COUNT_LOST_AGGREGATE)),
			 L(cp_run_counted(r, CP_COUNT_LOST_PAUSED)));
	cp_comments_line(out,
			 "threads: %lu seen, %lu without an event; %lu hits were in the profiler's "
			 "own work, and are left out",
			 L(cp_run_counted(r, CP_COUNT_THREADS)),
			 L(cp_run_counted(r, CP_COUNT_EVENT_FAILURES)),
			 L(cp_run_counted(r, CP_COUNT_OWN_HITS)));
	cp_comments_line(out, "cost: about %s ms of wall time in handlers",
			 cp_comments_seconds(cp_run_handler_ns(r) * 1000));
}

static void report_event(struct cp_comments *out, const struct cp_run *r,
			 const struct cp_config *config)
{
	const struct cp_event_control *c = &cp_event_control;

	if (c->refusal) {
		cp_comments_line(out, "event: %s is not possible: %s", name, c->refusal);
		return;
	}
	cp_comments_line(out, "event: %s, a sample for %u on average, %s%s%s", name, c->period,
			 c->event.what.user ? "only the program's part"
					    : "the program's and the kernel's part",
			 c->narrowed ? ": " : "", c->narrowed ? c->narrowed : "");
	losses(out, r);
}

static int start_event(struct cp_run *r, const struct cp_config *config)
{
	const struct cp_event_settings *s = cp_config_of(config, CPROF_EVENT);
	int err = cp_event_control_start(s->event, s->period);

	if (!err)
		cp_text_format(name, sizeof(name), "%s", cp_event_control.event.text);
	return err;
}

static int set_event(struct cp_run *r, const struct cp_config *config)
{
	const struct cp_event_settings *s = cp_config_of(config, CPROF_EVENT);

	return cp_event_control_set_period(s->period);
}

static void stop_event(struct cp_run *r)
{
	cp_event_control_stop();
}

static void event_stats(const struct cp_run *r, struct cprof_stats *s)
{
	s->period = cp_event_control.period;
	s->handler_ns = cp_run_handler_ns(r);
}

static void fork_child(struct cp_run *r, struct cp_thread *keep)
{
	cp_event_control_fork_child(keep);
}

CP_THREAD_LABEL(cp_event_label);

const struct cp_mode_ops cp_mode_event = {
	.name = "event",
	.parent = CPROF_EVENT,
	.settings = &cp_event_settings,
	.types = { { "samples", "count" }, { name, "count" } },
	.type_count = 2,
	.period_type = { name, "count" },
	.period = event_period,
	.report = report_event,
	.by_sigprof = true,
	.start = start_event,
	.stop = stop_event,
	.set = set_event,
	.stats = event_stats,
	.thread_label = &cp_event_label,
	.thread_begin = cp_event_control_thread_begin,
	.thread_end = cp_event_control_thread_end,
	.fork_locks = cp_event_control_fork_locks,
	.fork_child = fork_child,
	.exec_begin = cp_event_control_exec_begin,
	.exec_failed = cp_event_control_exec_failed,
};

#define CP_CONFIG_IN struct cp_event_settings
CP_CONFIG_FITS(struct cp_event_settings);

/* clang-format off */
static const struct cp_config_row rows[] = {
	TEXT("CPROF_EVENT", event, CP_EVENT_NAMES_ACCEPTED, "page-faults", "page-faults", .standard = "page-faults",
	     .is_good = cp_event_names_is_good, OPTION(event)),
	NUMBER("CPROF_EVENT_PERIOD", period, NULL, 1, 1000000000, "events", OPTION(event_period), LIVE),
};
/* clang-format on */

const struct cp_config_mode cp_event_settings = {
	.variable = "EVENTPROFILE",
	.path_option = offsetof(struct cprof_options, event_path),
	.rows = rows,
	.count = sizeof(rows) / sizeof(*rows),
};
