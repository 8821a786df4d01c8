/* The time in which samples are taken; see window.h. */
#include "window.h"

#include <errno.h>
#include <time.h>

#include "collect.h"
#include "cpu.h"
#include "cprof.h"
#include "drain.h"
#include "dump.h"
#include "heap_text.h"
#include "helper.h"
#include "log.h"
#include "mode.h"
#include "own_time.h"
#include "runs.h"
#include "session_state.h"
#include "sigsafe/atomic.h"
#include "sigsafe/sys.h"
#include "sigsafe/text.h"
#include "signals.h"

static void plan_checkpoint(void)
{
	uint64_t every = cp_session.config.checkpoint_ns;

	cp_session.next_checkpoint = every ? cp_sys_clock_ns(CLOCK_MONOTONIC) + every : UINT64_MAX;
}

/* The toggled mode and its companions, on or off. */
static void toggle(void)
{
	enum cp_mode mode = cp_session.config.toggle_mode;
	bool on = !cp_session.runs[mode].running;

	for (unsigned m = 0; m < CP_MODES; m++) {
		if (!cp_runs_wants(m) || cp_runs_parent(m) != mode)
			continue;
		if (on)
			cp_runs_begin(m);
		else
			cp_runs_end(m, "when toggled off");
	}
	if (on) {
		cp_session.windows++;
		plan_checkpoint();
	}
	if (cp_session.config.verbose)
		cp_log("%s profiling is %s", cp_modes[mode]->name,
		       cp_session.runs[mode].running ? "on" : "off");
}

/* As often as the signal came: two of them between two looks are a window, if a short one. */
static void serve_toggles(void)
{
	for (unsigned n = cp_signals_toggles(); n > 0; n--)
		toggle();
}

static void tick(void)
{
	uint64_t now = cp_sys_clock_ns(CLOCK_MONOTONIC);

	for (unsigned m = 0; m < CP_MODES; m++) {
		struct cp_run *r = &cp_session.runs[m];

		if (r->running && r->ops->tick && now >= r->ops->due())
			r->ops->tick(r);
	}
}

/* The run's own file is brought up to date: at a checkpoint, before an exec, at an end. */
static int write_all(const char *when, bool only_with_samples)
{
	int first = 0;

	for (unsigned m = 0; m < CP_MODES && !cp_session.finished; m++) {
		struct cp_run *r = &cp_session.runs[m];
		int err = 0;

		if (r->running && (!only_with_samples || r->rows->aggregate.stacks.count))
			err = cp_dump_final(r, &cp_session.config, when);
		first = first ? first : err;
	}
	return first;
}

static int dump_numbered(uint32_t modes)
{
	int first = 0;

	for (unsigned m = 0; m < CP_MODES; m++) {
		struct cp_run *r = &cp_session.runs[m];
		int err = 0;

		if (r->running && (modes & CP_REQUEST_DUMP_OF(r->ops->parent)))
			err = cp_dump_numbered(r, &cp_session.config);
		first = first ? first : err;
	}
	return first;
}

#define DRAINS (CP_REQUEST_DRAIN | CP_REQUEST_DUMP)

static void serve_runs(uint32_t requests)
{
	bool checkpoint = cp_sys_clock_ns(CLOCK_MONOTONIC) >= cp_session.next_checkpoint;

	if (requests & CP_REQUEST_TICK)
		tick();
	if (!(requests & DRAINS) && !checkpoint)
		return;
	if (cp_load_seqcst(&cp_session.leaving)) {
		cp_or_seqcst(&cp_session.put_off, requests & DRAINS);
		plan_checkpoint();
		return;
	}
	cp_drain_all(cp_session.runs, &cp_session.modules);
	if (requests & CP_REQUEST_DUMP)
		dump_numbered(requests);
	if (checkpoint) {
		write_all("at a checkpoint", false);
		plan_checkpoint();
	}
}

void cp_window_serve(uint32_t requests)
{
	if (requests & CP_REQUEST_TOGGLE)
		serve_toggles();
	if (!cp_runs_any())
		return;
	cp_own_time_work_begin();
	serve_runs(requests);
	cp_own_time_work_end();
}

uint64_t cp_window_due(void)
{
	uint64_t first = cp_load_relaxed(&cp_session.next_checkpoint);

	for (unsigned m = 0; m < CP_MODES; m++) {
		const struct cp_run *r = &cp_session.runs[m];

		if (cp_load_relaxed(&r->running) && r->ops->due && r->ops->due() < first)
			first = r->ops->due();
	}
	return first;
}

void cp_window_begin(void *arg)
{
	struct cp_window_call *c = arg;

	cp_modules_init(&cp_session.modules);
	for (unsigned m = 0; m < CP_MODES; m++) {
		int err = cp_runs_wants(m) && !cp_runs_toggled(m) ? cp_runs_begin(m) : 0;

		if (!err)
			continue;
		c->result = c->result ? c->result : err;
		if (c->failed)
			c->failed(m, err);
	}
	plan_checkpoint();
}

/* Those of one family end, with a file or without. */
static int end_family(enum cp_mode parent, const char *when, bool write)
{
	int first = 0;

	for (unsigned m = 0; m < CP_MODES; m++) {
		int err = 0;

		if (!cp_session.runs[m].running || cp_runs_parent(m) != parent)
			continue;
		if (write)
			err = cp_runs_end(m, when);
		else
			cp_runs_abandon(m);
		first = first ? first : err;
	}
	cp_session.config.path[parent][0] = '\0';
	return first;
}

static int begin_family(enum cp_mode parent)
{
	int err = 0;

	for (unsigned m = 0; m < CP_MODES && !err; m++)
		if (cp_runs_wants(m) && cp_runs_parent(m) == parent)
			err = cp_runs_begin(m);
	return err;
}

void cp_window_add(void *arg)
{
	struct cp_window_call *c = arg;
	bool added[CP_MAIN_MODES] = { false };

	for (unsigned m = 0; m < CP_MAIN_MODES && !c->result; m++) {
		if (!c->config->path[m][0])
			continue;
		cp_config_take_mode(&cp_session.config, c->config, m);
		added[m] = true;
		c->result = begin_family(m);
	}
	for (unsigned m = 0; c->result && m < CP_MAIN_MODES; m++)
		if (added[m])
			end_family(m, c->when, false);
}

void cp_window_end_mode(void *arg)
{
	struct cp_window_call *c = arg;

	cp_own_time_work_begin();
	c->result = end_family(c->mode, c->when, true);
	cp_own_time_work_end();
}

void cp_window_end(void *arg)
{
	struct cp_window_call *c = arg;

	cp_own_time_work_begin();
	for (unsigned m = 0; m < CP_MODES; m++) {
		int err = cp_runs_end(m, c->when);

		c->result = c->result ? c->result : err;
	}
	cp_own_time_work_end();
	cp_session.next_checkpoint = UINT64_MAX;
	cp_modules_release(&cp_session.modules);
}

void cp_window_abandon(void *arg)
{
	(void)arg;
	for (unsigned m = 0; m < CP_MODES; m++)
		if (cp_session.runs[m].running)
			cp_runs_abandon(m);
	cp_session.next_checkpoint = UINT64_MAX;
	cp_modules_release(&cp_session.modules);
}

void cp_window_write(void *arg)
{
	struct cp_window_call *c = arg;

	/* What the collector didn't come to. */
	serve_toggles();
	if (!cp_runs_any())
		return;
	cp_own_time_work_begin();
	cp_drain_all(cp_session.runs, &cp_session.modules);
	c->result = write_all(c->when, c->only_with_samples);
	cp_own_time_work_end();
}

static bool is_regular(const char *path)
{
	struct stat st;

	return !cp_sys4(SYS_newfstatat, AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) &&
	       S_ISREG(st.st_mode);
}

static unsigned list_files(struct cp_helper *h)
{
	unsigned count = 0;

	for (unsigned m = 0; m < CP_MODES; m++) {
		const struct cp_run *r = &cp_session.runs[m];
		char *path = cp_helper_file(h, count);

		if (r->running && r->rows->aggregate.records &&
		    !cp_dump_written_path(r, path, CP_PATH_MAX) && is_regular(path))
			count++;
	}
	return count;
}

/* A descendant doesn't wait for the helper, which then is a child of whoever adopts what outlives
 * its parent: not of one of our programs, that would wait for it, or count it. */
static bool would_be_adopted(void)
{
	return cp_session.lineage.adopted && !cp_session.lineage.owner;
}

static struct cp_helper *start_helper(void)
{
	struct cp_helper *h = would_be_adopted() ? NULL : cp_helper_begin(CP_MODES);
	unsigned count = h ? list_files(h) : 0;
	int err = count ? cp_helper_start(h, count) : 0;

	if (h && !count)
		cp_helper_release(h);
	cp_session.finished = count && !err;
	if ((!h || err) && cp_session.config.verbose)
		cp_log("lines and inlined calls are left out: cprof: %s",
		       h		    ? cp_errno_text(err)
		       : would_be_adopted() ? "a program above this one would be its parent"
					    : "not found beside the library");
	return cp_session.finished ? h : NULL;
}

void cp_window_finish(void *arg)
{
	struct cp_window_call *c = arg;

	if (cp_session.finished)
		return;
	cp_window_write(c);
	/* Threads may go on for as long as the program's own handlers take; what is asked for is
	 * still done, but nothing is begun unasked that the end would cut. */
	if (!cp_load_seqcst(&cp_session.leaving))
		cp_session.next_checkpoint = UINT64_MAX;
	if (cp_session.config.symbolize == CP_SYMBOLIZE_FULL && cp_runs_any())
		c->helper = start_helper();
}

void cp_window_asked(void *arg)
{
	uint32_t asked =
		cp_exchange_acqrel(&cp_session.put_off, 0) | cp_collect_take(CP_REQUEST_DUMP);

	(void)arg;
	if (!(asked & CP_REQUEST_DUMP) || !cp_runs_any())
		return;
	cp_own_time_work_begin();
	cp_drain_all(cp_session.runs, &cp_session.modules);
	dump_numbered(asked);
	cp_own_time_work_end();
}

static int dump_one(const struct cp_window_call *c)
{
	struct cp_run *r = &cp_session.runs[c->mode];

	if (!r->running)
		return -ESRCH;
	if (c->as_text) {
		if (r->ops->settle)
			r->ops->settle(r);
		return cp_heap_text_write(r, c->sink);
	}
	return c->path ? cp_dump_to_path(r, &cp_session.config, c->path)
		       : cp_dump_to_sink(r, &cp_session.config, c->sink);
}

void cp_window_dump(void *arg)
{
	struct cp_window_call *c = arg;

	if (!cp_runs_any()) {
		c->result = -ESRCH;
		return;
	}
	cp_own_time_work_begin();
	cp_drain_all(cp_session.runs, &cp_session.modules);
	c->result = c->path || c->sink ? dump_one(c) : dump_numbered(c->modes);
	cp_own_time_work_end();
}

void cp_window_drain(void *arg)
{
	if (!cp_runs_any())
		return;
	cp_own_time_work_begin();
	cp_drain_all(cp_session.runs, &cp_session.modules);
	cp_own_time_work_end();
}

void cp_window_drain_unloading(void *arg)
{
	struct cp_modules *m = &cp_session.modules;
	const uint64_t *loads = arg, before = m->readings;

	if (!cp_runs_any())
		return;
	cp_own_time_work_begin();
	cp_drain_all(cp_session.runs, m);
	/* Where there was nothing to drain, they weren't read. */
	if (m->readings == before && m->loads != *loads)
		cp_modules_refresh(m);
	if (!m->error)
		m->loads = *loads;
	cp_own_time_work_end();
}

void cp_window_fork_child(void)
{
	cp_runs_fork_child();
	plan_checkpoint();
}

void cp_window_stats(void *arg)
{
	const struct cp_window_call *c = arg;
	const struct cp_run *r = &cp_session.runs[c->mode];
	struct cprof_stats *s = c->stats;

	/* It never ran. */
	if (!r->ops)
		return;

	s->samples = cp_run_counted(r, CP_COUNT_SAMPLES);
	s->expiries = cp_run_counted(r, CP_COUNT_EXPIRIES);
	s->lost_ring = cp_run_counted(r, CP_COUNT_LOST_RING);
	s->lost_memory = cp_run_counted(r, CP_COUNT_LOST_MEMORY) +
			 cp_run_counted(r, CP_COUNT_LOST_AGGREGATE);
	s->lost_thread = cp_run_counted(r, CP_COUNT_LOST_THREAD);
	s->lost_paused = cp_run_counted(r, CP_COUNT_LOST_PAUSED);
	s->truncated = cp_run_counted(r, CP_COUNT_TRUNCATED);
	s->incomplete = cp_run_counted(r, CP_COUNT_INCOMPLETE);
	s->period = c->mode == CP_MODE_CPU ? cp_cpu.period_ns : r->running ? r->ops->period(r) : 0;
	s->handler_ns = c->mode == CP_MODE_CPU ? cp_run_handler_ns(r) : 0;
	s->dumps = cp_run_counted(r, CP_COUNT_DUMPS);
	s->dump_failures = cp_run_counted(r, CP_COUNT_DUMP_FAILURES);
}
