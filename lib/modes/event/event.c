/* SPDX-License-Identifier: BSD-3-Clause */
/* Events as a mode: its settings, the contents and comments of its file, and the events of threads;
 * see event.h. */
#include "base/start_data.h"
#include "base/text.h"
#include "collect/collect.h"
#include "host/host.h"
#include "modes/event/event.h"
#include "modes/event/signal/event_hit.h"
#include "output/output.h"
#include "settings/config_rows.h"

#include <errno.h>

#define L(x) ((unsigned long)(x))

/* ---- the events of threads ---- */

/* The golden ratio's fraction, in units of 2^-64. */
#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

/* The mode's state since its start. */
static struct control {
	struct cp_event_name
		event;	 /* the counted event; only its user part if the kernel allows no more */
	unsigned period; /* events between samples, on average */
	const char *refusal;  /* why nothing is counted; NULL: it is counted */
	const char *narrowed; /* why only the user part is counted; NULL: all is counted */
} control;

static struct cp_futex_lock events CP_START_DATA; /* guards creation and deletion */
static uint64_t phase;				  /* golden-ratio sequence, random start */
static char reason[128];			  /* the text of a refusal or a narrowing */

static void seed_phase(void)
{
	if (cp_sys3(SYS_getrandom, &phase, sizeof(phase), 1 /* GRND_NONBLOCK */) < 0)
		phase = cp_sys_clock_ns(CLOCK_MONOTONIC) * GOLDEN;
}

/* Return after how many events a thread's first hit is due, from 1 to the period. All numbers are
 * equally likely, and threads that begin one after the other are spread. */
static uint64_t first(void)
{
	return 1 + (uint64_t)((__uint128_t)cp_add_relaxed(&phase, GOLDEN) * cp_event_state.period >>
			      64);
}

static bool has_event(const struct cp_thread *t)
{
	return cp_load_relaxed(&cp_event_of(t)->pages) != NULL;
}

static bool may_begin(const struct cp_thread *t)
{
	return cp_load_relaxed(&cp_event_state.running) && !cp_load_relaxed(&t->unsignalled) &&
	       !has_event(t);
}

static bool open_event(struct cp_thread *t)
{
	struct cp_perf *p = cp_event_of(t);

	p->what = &control.event.what;
	return t->own_tls && !cp_perf_event_open(p, t->tid, first(), cp_event_state.period);
}

static void count_events(struct cp_thread *t)
{
	if (!open_event(t))
		cp_count_mode(CPROF_EVENT, CP_COUNT_EVENT_FAILURES, 1);
}

static void begin_locked(struct cp_thread *t)
{
	if (!may_begin(t))
		return;
	cp_count_mode(CPROF_EVENT, CP_COUNT_THREADS, 1);
	count_events(t);
}

static void delete_event(struct cp_thread *t)
{
	/* Seqcst: pairs with the handler's store of BUSY and its check whether the mode runs. T
	 * itself, with its signals blocked, is in no handler. */
	while (cp_load_seqcst(&cp_event_of(t)->busy))
		cp_sys_yield();
	cp_perf_event_close(cp_event_of(t));
}

/* A thread whose event could not be made was counted already. */
static void begin_again(struct cp_thread *t)
{
	bool had = has_event(t);

	delete_event(t);
	if (had)
		count_events(t);
}

static void each_thread(void (*visit)(struct cp_thread *t))
{
	for (uint32_t i = 0; i < cp_thread_limit(); i++) {
		struct cp_thread *t = cp_thread_at(i);

		if (cp_load_acquire(&t->state) == CP_THREAD_LIVE)
			visit(t);
	}
}

/* Where the kernel's part is not allowed, the program's is counted, as perf does it. */
static void probe(struct control *c)
{
	int err;

	c->narrowed = NULL;
	c->refusal = cp_perf_probe(&c->event.what, &err);
	if (!c->refusal || !err || c->event.what.user)
		return;
	cp_text_format(reason, sizeof(reason), "%s", c->refusal);
	c->event.what.user = true;
	if (cp_perf_probe(&c->event.what, &err)) {
		c->event.what.user = false;
		c->refusal = reason;
		return;
	}
	c->narrowed = reason;
	c->refusal = NULL;
}

/* Go on with another period. A hit counts for the period of its event, and a thread's first hit for
 * a whole one, so totals stay right. */
static int change_period(unsigned period)
{
	struct control *c = &control;

	if (period < c->event.least)
		return -ERANGE;
	cp_futex_lock_acquire(&events);
	c->period = period;
	if (!c->refusal) {
		/* A handler that comes meanwhile leaves its event alone. */
		cp_store_seqcst(&cp_event_state.running, 0);
		cp_event_state.period = period;
		each_thread(begin_again);
		cp_store_seqcst(&cp_event_state.running, 1);
	}
	cp_futex_lock_release(&events);
	return 0;
}

static int start_events(const char *event, unsigned period)
{
	struct control *c = &control;
	int err = cp_signals_claim_prof();

	if (err < 0)
		return err;
	cp_futex_lock_acquire(&events);
	if (!cp_event_names_find(event, &c->event))
		cp_event_names_find("page-faults", &c->event);
	c->period = period ? period : c->event.period;
	if (c->period < c->event.least) {
		c->period = c->event.least;
		cp_log("CPROF_EVENT_PERIOD=%u: %s can be sampled each %u; minor-faults can each "
		       "time",
		       period, c->event.text, c->period);
	}
	probe(c);
	if (c->refusal) {
		cp_log("CPROF_EVENT=%s is not possible (%s); its profile will be empty", event,
		       c->refusal);
	} else {
		cp_sigprof_add(CPROF_EVENT, &cp_event_hit_source);
		seed_phase();
		cp_event_state.period = c->period;
		cp_store_seqcst(&cp_event_state.used, 1);
		/* Threads that begin from here on start their own event. The loop finds the
		 * others. */
		cp_store_seqcst(&cp_event_state.running, 1);
		each_thread(begin_locked);
	}
	cp_futex_lock_release(&events);
	return 0;
}

/* The handler stays: a late signal must not kill. */
static void stop_events(void)
{
	cp_futex_lock_acquire(&events);
	cp_store_seqcst(&cp_event_state.running, 0);
	each_thread(delete_event);
	cp_futex_lock_release(&events);
}

/* No thread has an event yet: a thread that begins or ends need not take the lock. A start that
 * comes now finds those that are live. */
static bool is_unused(void)
{
	return !cp_load_seqcst(&cp_event_state.used);
}

void cp_event_control_thread_begin(struct cp_thread *t)
{
	if (is_unused())
		return;
	cp_futex_lock_acquire(&events);
	begin_locked(t);
	cp_futex_lock_release(&events);
}

void cp_event_control_thread_end(struct cp_thread *t)
{
	if (is_unused())
		return;
	cp_futex_lock_acquire(&events);
	delete_event(t);
	cp_futex_lock_release(&events);
}

static void free_lock(void)
{
	cp_futex_lock_reset(&events);
}

static void forget_events(struct cp_thread *t)
{
	free_lock();
	if (!t)
		cp_store_seqcst(&cp_event_state.running, 0);
	else
		cp_event_control_thread_begin(t);
}

/* A pending signal of this thread's event would kill the program of an exec, and a dump's own
 * events are not the program's. */
static void suspend(bool dumps)
{
	if (cp_self.thread)
		cp_event_control_thread_end(cp_self.thread);
}

static void resume(void)
{
	struct cp_thread *t = cp_self.thread;

	if (!t || is_unused())
		return;
	cp_futex_lock_acquire(&events);
	if (may_begin(t))
		count_events(t);
	cp_futex_lock_release(&events);
}

/* ---- the mode ---- */

/* The name of the event, which is the name of the file's type. */
static char name[CP_EVENT_NAME_SIZE] = "events";

static uint64_t event_period(const struct cp_run *r)
{
	return control.period;
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
	const struct control *c = &control;

	if (c->refusal) {
		cp_comments_line(out, "event: %s is not possible: %s", name, c->refusal);
		return;
	}
	cp_threads_blocking_note(out);
	cp_comments_line(out, "event: %s, a sample for %u on average, %s%s%s", name, c->period,
			 c->event.what.user ? "only the program's part"
					    : "the program's and the kernel's part",
			 c->narrowed ? ": " : "", c->narrowed ? c->narrowed : "");
	losses(out, r);
}

static int start_event(struct cp_run *r, const struct cp_config *config)
{
	const struct cp_event_settings *s = cp_config_of(config, CPROF_EVENT);
	int err = start_events(s->event, s->period);

	if (!err)
		cp_text_format(name, sizeof(name), "%s", control.event.text);
	return err;
}

static int set_event(struct cp_run *r, const struct cp_config *config)
{
	const struct cp_event_settings *s = cp_config_of(config, CPROF_EVENT);

	return change_period(s->period);
}

static void stop_event(struct cp_run *r)
{
	stop_events();
}

static void event_stats(const struct cp_run *r, struct cprof_stats *s)
{
	s->period = control.period;
	s->handler_ns = cp_run_handler_ns(r);
}

static void fork_child(struct cp_run *r, struct cp_thread *keep)
{
	forget_events(keep);
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
	.fork_locks = free_lock,
	.fork_child = fork_child,
	.suspend = suspend,
	.resume = resume,
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
