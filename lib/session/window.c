/* SPDX-License-Identifier: BSD-3-Clause */
/* The time in which samples are taken; see window.h. */
#include "session/window.h"

#include <errno.h>

#include "session/session.h"
#include "base/text.h"

#define LATER_NS UINT64_C(100000000)

void cp_window_plan_checkpoint(void)
{
	uint64_t every = cp_session.config.checkpoint_ns;

	cp_session.next_checkpoint = every ? cp_sys_clock_ns(CLOCK_MONOTONIC) + every : UINT64_MAX;
}

/* Turns the toggled mode and its companions on or off. */
static void toggle(void)
{
	enum cprof_mode mode = cp_session.config.named_mode;
	const struct cp_run *first = NULL;
	bool on = !cp_session.runs[mode].running;

	for (unsigned m = cp_mode_ops_first(); m < CP_MODES; m = cp_mode_ops_after(m)) {
		if (!cp_runs_wants(m) || cp_runs_parent(m) != mode)
			continue;
		if (on)
			cp_runs_begin(m, &first);
		else
			cp_runs_end(m, "when toggled off");
	}
	if (on) {
		cp_session.windows++;
		cp_window_plan_checkpoint();
	}
	if (cp_session.config.verbose)
		cp_log("%s profiling is %s", cp_modes[mode]->name,
		       cp_session.runs[mode].running ? "on" : "off");
}

static uint32_t toggles;

void cp_window_note_toggle(void)
{
	cp_add_seqcst(&toggles, 1);
}

void cp_window_forget_toggles(void)
{
	cp_store_relaxed(&toggles, 0);
}

/* Toggles once for each signal. Two signals between two calls make a window, however short. */
static void serve_toggles(void)
{
	for (unsigned n = cp_exchange_acqrel(&toggles, 0); n > 0; n--)
		toggle();
}

static void window_tick(void)
{
	uint64_t now = cp_sys_clock_ns(CLOCK_MONOTONIC);

	for (unsigned m = cp_mode_ops_first(); m < CP_MODES; m = cp_mode_ops_after(m)) {
		struct cp_run *r = &cp_session.runs[m];

		if (r->running && r->ops->tick && now >= r->ops->due())
			r->ops->tick(r);
	}
}

/* Updates each run's own file: at a checkpoint, before an exec, at the end. */
static int write_all(const char *when, bool before_exec)
{
	int first = 0;

	for (unsigned m = cp_mode_ops_first(); m < CP_MODES && !cp_session.finished;
	     m = cp_mode_ops_after(m)) {
		struct cp_run *r = &cp_session.runs[m];
		int err = 0;

		if (r->running && (!before_exec || r->rows->aggregate.stacks.count))
			err = cp_dump_final(r, &cp_session.config, when);
		first = first ? first : err;
	}
	return first;
}

void cp_window_settle(uint32_t modes)
{
	cp_drain_all(cp_session.runs, &cp_session.modules);
	cp_dump_settle(cp_session.runs, modes);
}

/* MODES: CP_REQUEST_DUMP_OF. The files are of the moment of the last settle. */
static int dump_numbered(uint32_t modes, const char *reason, uint64_t since_ns)
{
	int first = 0;

	for (unsigned m = cp_mode_ops_first(); m < CP_MODES; m = cp_mode_ops_after(m)) {
		struct cp_run *r = &cp_session.runs[m];
		int err = 0;

		if (!r->running || !(modes & CP_REQUEST_DUMP_OF(r->ops->parent)))
			continue;
		r->since_ns = since_ns;
		err = cp_dump_numbered(r, &cp_session.config, reason);
		r->since_ns = 0;
		first = first ? first : err;
	}
	return first;
}

/* Dumps if something happened that CPROF_DUMP_ON has. */
static void dump_on(bool at_once)
{
	uint64_t since;
	const char *reason;

	if (!cp_dump_on_look(at_once))
		return;
	cp_window_settle(CP_WINDOW_EVERY);
	reason = cp_dump_on_reason(&since);
	dump_numbered(CP_REQUEST_DUMP, reason, since);
	cp_dump_on_dumped();
}

/* Ends the mode PARENT and its companions, with files if WRITE. Returns the first error. */
static int end_family(enum cprof_mode parent, const char *when, bool write)
{
	int first = 0;

	for (unsigned m = cp_mode_ops_first(); m < CP_MODES; m = cp_mode_ops_after(m)) {
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
	cp_session.until[parent] = 0;
	return first;
}

/* Ends the modes whose time is over, unless the process is about to end or to exec: the collector
 * begins no file then. */
static void end_timed(void)
{
	uint64_t now = cp_sys_clock_ns(CLOCK_MONOTONIC);

	for (unsigned m = cp_mode_ops_first(); m < CP_MAIN_MODES; m = cp_mode_ops_after(m)) {
		if (!cp_session.until[m] || now < cp_session.until[m])
			continue;
		if (cp_load_seqcst(&cp_session.leaving))
			cp_session.until[m] = now + LATER_NS;
		else
			end_family(m, "when its time was over", true);
	}
}

#define DRAINS (CP_REQUEST_DRAIN | CP_REQUEST_DUMP)

static void grow_reserve(void)
{
	size_t rows = 0;

	for (unsigned m = cp_mode_ops_first(); m < CP_MODES; m = cp_mode_ops_after(m))
		if (cp_session.runs[m].running)
			rows += cp_session.runs[m].aggregate.stacks.count;
	cp_pages_reserve_grow(rows);
}

static void serve_runs(uint32_t requests)
{
	bool checkpoint = cp_sys_clock_ns(CLOCK_MONOTONIC) >= cp_session.next_checkpoint;

	if (requests & CP_REQUEST_TICK) {
		end_timed();
		window_tick();
		cp_push_serve();
		if (!cp_load_seqcst(&cp_session.leaving))
			dump_on(false);
	}
	if (!(requests & DRAINS) && !checkpoint)
		return;
	if (cp_load_seqcst(&cp_session.leaving)) {
		cp_or_seqcst(&cp_session.put_off, requests & DRAINS);
		cp_window_plan_checkpoint();
		return;
	}
	if (requests & CP_REQUEST_DUMP || checkpoint)
		cp_window_settle(CP_WINDOW_EVERY);
	else
		cp_drain_all(cp_session.runs, &cp_session.modules);
	if (requests & CP_REQUEST_DUMP)
		dump_numbered(requests, NULL, 0);
	if (checkpoint) {
		write_all("at a checkpoint", false);
		cp_window_plan_checkpoint();
	}
	grow_reserve();
}

void cp_window_serve(uint32_t requests)
{
	if (requests & CP_REQUEST_TOGGLE)
		serve_toggles();
	if (requests & CP_REQUEST_TICK)
		cp_serve_start();
	if (!cp_runs_any())
		return;
	cp_own_time_work_begin();
	serve_runs(requests);
	cp_own_time_work_end();
}

uint64_t cp_window_due(void)
{
	uint64_t first = cp_serve_due(), checkpoint = cp_load_relaxed(&cp_session.next_checkpoint);

	/* Without a run there is nothing to write. */
	if (!cp_runs_any())
		return first;
	first = checkpoint < first ? checkpoint : first;
	for (unsigned m = cp_mode_ops_first(); m < CP_MODES; m = cp_mode_ops_after(m)) {
		const struct cp_run *r = &cp_session.runs[m];

		if (cp_load_relaxed(&r->running) && r->ops->due && r->ops->due() < first)
			first = r->ops->due();
	}
	for (unsigned m = cp_mode_ops_first(); m < CP_MAIN_MODES; m = cp_mode_ops_after(m)) {
		uint64_t until = cp_load_relaxed(&cp_session.until[m]);

		if (until && until < first)
			first = until;
	}
	first = cp_dump_on_due() < first ? cp_dump_on_due() : first;
	return cp_push_due() < first ? cp_push_due() : first;
}

void cp_window_begin(void *arg)
{
	struct cp_window_call *c = arg;
	const struct cp_run *first = NULL;

	cp_modules_init(&cp_session.modules);
	for (unsigned m = cp_mode_ops_first(); m < CP_MODES; m = cp_mode_ops_after(m)) {
		int err = cp_runs_wants(m) && !cp_runs_toggled(m) ? cp_runs_begin(m, &first) : 0;

		if (!err)
			continue;
		c->result = c->result ? c->result : err;
		if (c->failed)
			c->failed(m, err);
	}
	cp_window_plan_checkpoint();
	cp_dump_on_begin();
	cp_push_plan();
	cp_serve_plan();
}

static int begin_family(enum cprof_mode parent, const struct cp_run **with)
{
	int err = 0;

	for (unsigned m = cp_mode_ops_first(); m < CP_MODES && !err; m = cp_mode_ops_after(m))
		if (cp_runs_wants(m) && cp_runs_parent(m) == parent)
			err = cp_runs_begin(m, with);
	return err;
}

void cp_window_add(void *arg)
{
	struct cp_window_call *c = arg;
	const struct cp_run *first = NULL;
	bool added[CP_MAIN_MODES] = { false };

	if (!cp_runs_any())
		cp_window_plan_checkpoint();

	for (unsigned m = cp_mode_ops_first(); m < CP_MAIN_MODES && !c->result;
	     m = cp_mode_ops_after(m)) {
		if (!c->config->path[m][0])
			continue;
		cp_config_take_mode(&cp_session.config, c->config, m);
		added[m] = true;
		c->result = begin_family(m, &first);
		cp_session.until[m] = c->until;
		cp_session.runs[m].late = c->late;
	}
	for (unsigned m = cp_mode_ops_first(); c->result && m < CP_MAIN_MODES;
	     m = cp_mode_ops_after(m))
		if (added[m])
			end_family(m, c->when, false);
}

void cp_window_end_mode(void *arg)
{
	struct cp_window_call *c = arg;

	cp_own_time_work_begin();
	cp_reserve_use_all();
	c->result = end_family(c->mode, c->when, !c->discard);
	cp_own_time_work_end();
}

void cp_window_end(void *arg)
{
	struct cp_window_call *c = arg;

	cp_own_time_work_begin();
	cp_reserve_use_all();
	for (unsigned m = cp_mode_ops_first(); m < CP_MODES; m = cp_mode_ops_after(m)) {
		int err = cp_runs_end(m, c->when);

		c->result = c->result ? c->result : err;
	}
	cp_own_time_work_end();
	cp_session.next_checkpoint = UINT64_MAX;
	cp_modules_release(&cp_session.modules);
}

void cp_window_abandon(void *arg)
{
	for (unsigned m = cp_mode_ops_first(); m < CP_MODES; m = cp_mode_ops_after(m))
		if (cp_session.runs[m].running)
			cp_runs_abandon(m);
	cp_session.next_checkpoint = UINT64_MAX;
	cp_modules_release(&cp_session.modules);
}

void cp_window_write(void *arg)
{
	struct cp_window_call *c = arg;

	/* Serve toggles that the collector has not served yet. */
	serve_toggles();
	if (!cp_runs_any())
		return;
	cp_own_time_work_begin();
	cp_reserve_use_all();
	cp_window_settle(CP_WINDOW_EVERY);
	c->result = write_all(c->when, c->before_exec);
	cp_own_time_work_end();
	/* This takes time, and the windows cover the time until now. */
	if (c->before_exec)
		cp_last_window_send();
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

	for (unsigned m = cp_mode_ops_first(); m < CP_MODES; m = cp_mode_ops_after(m)) {
		const struct cp_run *r = &cp_session.runs[m];
		char *path = cp_helper_file(h, count);

		if (r->running && r->rows->aggregate.records &&
		    !cp_dump_written_path(r, path, CP_PATH_MAX) && is_regular(path))
			count++;
	}
	return count;
}

/* Returns why this process starts no helper; NULL: it does. The first process of the tree waits for
 * its helper. A descendant doesn't, so its helper outlives it, and becomes a child of the nearest
 * subreaper. If the subreaper is a program of the tree, the program would wait for the helper or
 * count it. */
static const char *no_helper(void)
{
	if (cp_session.process_tree.owner)
		return NULL;
	if (cp_session.process_tree.subreaper)
		return "a program above this one would be its parent";
	return cp_helper_would_outlive_its_user()
		       ? "it would go on as a user to whom the parent process doesn't belong"
		       : NULL;
}

static struct cp_helper *start_helper(void)
{
	const char *without = no_helper();
	struct cp_helper *h = without ? NULL : cp_helper_begin(CP_MODES);
	unsigned count = h ? list_files(h) : 0;
	bool lines = cp_session.config.symbolize == CP_SYMBOLIZE_FULL;
	int err;

	if (h && cp_push_wants_files())
		cp_helper_push_too(h, cp_session.config.push, lines);
	err = count ? cp_helper_start(h, count, cp_session.process_tree.owner) : 0;

	if (h && !count)
		cp_helper_release(h);
	cp_session.finished = count && !err;
	if ((!h || err) && cp_session.config.verbose)
		cp_log("lines and inlined calls are left out: cprof: %s",
		       h	 ? cp_log_errno_text(err)
		       : without ? without
				 : "not found beside the library");
	return cp_session.finished ? h : NULL;
}

void cp_window_finish(void *arg)
{
	struct cp_window_call *c = arg;

	if (cp_session.finished)
		return;
	cp_store_relaxed(&cp_session.ending, true);
	cp_window_write(c);
	cp_last_window_send();
	/* Threads may go on for as long as the program's own exit handlers run. Requests are still
	 * served, but no checkpoint begins that the end would cut. */
	if (!cp_load_seqcst(&cp_session.leaving))
		cp_session.next_checkpoint = UINT64_MAX;
	if ((cp_session.config.symbolize == CP_SYMBOLIZE_FULL || cp_push_wants_files()) &&
	    cp_runs_any())
		c->helper = start_helper();
}

void cp_window_asked(void *arg)
{
	uint32_t asked =
		cp_exchange_acqrel(&cp_session.put_off, 0) | cp_collect_take(CP_REQUEST_DUMP);

	if (!cp_runs_any())
		return;
	cp_own_time_work_begin();
	dump_on(true);
	if (asked & CP_REQUEST_DUMP) {
		cp_window_settle(CP_WINDOW_EVERY);
		dump_numbered(asked, NULL, 0);
	}
	cp_own_time_work_end();
}

uint32_t cp_window_list_modes(const struct cp_window_list *l)
{
	uint32_t modes = 0;

	for (unsigned i = 0; i < l->count; i++)
		modes |= 1u << l->modes[i];
	return modes;
}

static int dump_list(const struct cp_window_call *c)
{
	struct cp_window_list *l = c->list;
	int first = -ESRCH;

	for (unsigned i = 0; i < l->count; i++) {
		struct cp_run *r = &cp_session.runs[l->modes[i]];
		size_t before = l->memory->used;
		int err;

		if (!r->running)
			continue;
		r->since_ns = c->since_ns;
		err = cp_dump_to_sink(r, &cp_session.config, &l->memory->sink);
		r->since_ns = 0;
		if (err)
			return err;
		l->bytes[i] = l->memory->used - before;
		first = 0;
	}
	return first;
}

static int dump_one(const struct cp_window_call *c)
{
	struct cp_run *r = &cp_session.runs[c->mode];

	if (!r->running)
		return -ESRCH;
	if (c->as_text)
		return r->ops->text ? r->ops->text(r, c->sink) : -EINVAL;
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
	cp_window_settle(c->list	      ? cp_window_list_modes(c->list)
			 : c->path || c->sink ? 1u << c->mode
					      : CP_WINDOW_EVERY);
	c->result = c->list		 ? dump_list(c)
		    : c->path || c->sink ? dump_one(c)
					 : dump_numbered(c->modes, c->when, c->since_ns);
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
	/* The modules weren't read if there was nothing to drain. */
	if (m->readings == before && m->loads != *loads)
		cp_modules_refresh(m);
	if (!m->error)
		m->loads = *loads;
	cp_own_time_work_end();
}

void cp_window_stats(void *arg)
{
	const struct cp_window_call *c = arg;
	const struct cp_run *r = &cp_session.runs[c->mode];
	struct cprof_stats *s = c->stats;

	/* The mode never ran. */
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
	s->period = !r->running ? 0 : r->ops->period ? r->ops->period(r) : 1;
	s->dumps = cp_run_counted(r, CP_COUNT_DUMPS);
	s->dump_failures = cp_run_counted(r, CP_COUNT_DUMP_FAILURES);
	if (r->ops->stats)
		r->ops->stats(r, s);
}
