/* SPDX-License-Identifier: BSD-3-Clause */
/* The runs of the session; see session.h. */
#include "session/session.h"

#include <errno.h>
#include <string.h>

#include "collect/collect.h"
#include "base/text.h"

/* Its first page has what each fork's child writes. */
struct cp_session cp_session __attribute__((aligned(4096)));

enum cprof_mode cp_runs_parent(unsigned m)
{
	return cp_modes[m]->parent;
}

bool cp_runs_wants(unsigned m)
{
	const struct cp_mode_ops *ops = cp_modes[m];

	return ops && cp_session.config.path[ops->parent][0] &&
	       (!ops->wanted || ops->wanted(&cp_session.config));
}

bool cp_runs_toggled(unsigned m)
{
	return cp_session.config.toggle_signal && cp_runs_parent(m) == cp_session.config.named_mode;
}

bool cp_runs_has_pid(unsigned m)
{
	const struct cp_mode_ops *parent = cp_modes[cp_runs_parent(m)];

	return cp_session.config.use_pid ||
	       (parent->has_pid && parent->has_pid(&cp_session.config));
}

/* Sets what M's files are called besides the path. */
static void begin_names(unsigned m)
{
	struct cp_run *r = &cp_session.runs[m];

	r->owner = cp_session.process_tree.owner && !cp_runs_has_pid(m);
	r->sequence = cp_session.process_tree.sequence;
	r->process_utc_ns = cp_session.process_tree.execed ? cp_session.process_tree.start_ns : 0;
	r->claimed = false;
	r->nofile = cp_session.config.nofile[cp_runs_parent(m)];
}

/* Names M's files: the configured path; in toggle mode with a number for each window, as
 * gperftools does. A companion's file is named after its parent's. */
static int name_run(unsigned m)
{
	const char *path = cp_session.config.path[cp_runs_parent(m)];
	struct cp_run *r = &cp_session.runs[m];
	/* Static, because a fork child runs this on its own stack, which may be an alternate
	 * stack. */
	static char template[CP_PATH_MAX];
	int err;

	begin_names(m);
	r->path = cp_session.paths[m];
	if (cp_runs_toggled(m))
		cp_text_format(template, sizeof(template), "%s.%u", path, cp_session.windows);
	else
		cp_text_format(template, sizeof(template), "%s", path);
	err = cp_path_expand(r->path, CP_PATH_MAX, template, cp_session.process_tree.base,
			     &cp_session.facts.path, &r->unique);
	if (!err && cp_runs_parent(m) != m)
		err = cp_path_infix(r->path, CP_PATH_MAX, r->path,
				    r->ops->suffix ? r->ops->suffix : r->ops->name);
	return err;
}

/* Returns how much of the last time is kept, in ns; 0 = all of it. */
static uint64_t times_keep(void)
{
	uint64_t times = cp_session.config.times;

	return times & CP_CONFIG_TIMES_KEEP ? times & ~CP_CONFIG_TIMES_KEEP : 0;
}

static uint64_t times_bytes(void)
{
	return times_keep() ? CP_CONFIG_TIMES_KEEP_BYTES : cp_session.config.times;
}

uint64_t cp_runs_since(uint64_t last_ns)
{
	uint64_t now = cp_sys_clock_ns(CLOCK_MONOTONIC), keep = times_keep();

	last_ns = keep && keep < last_ns ? keep : last_ns;
	return !last_ns ? 0 : last_ns < now ? now - last_ns : 1;
}

static void begin_run(struct cp_run *r, const struct cp_run *with)
{
	if (!cp_runs_any())
		cp_shared_times_spans_begin(times_bytes(), times_keep());
	cp_run_begin(r, &cp_session.modules, with);
	if (r->ops->view)
		r->rows = &cp_session.runs[r->ops->parent];
	else if (!r->nofile)
		cp_times_begin(&r->times, times_bytes(), times_keep(),
			       r->start_utc_ns ^ (uint64_t)cp_sys_getpid());
}

/* Releases R's rows after the last run that uses them has ended. */
static void release_rows(struct cp_run *r)
{
	struct cp_run *rows = r->rows;
	bool shown = rows->running;

	for (unsigned m = cp_mode_ops_first(); m < CP_MODES; m = cp_mode_ops_after(m))
		shown |= cp_session.runs[m].running && cp_session.runs[m].rows == rows;
	if (r != rows)
		cp_run_release(r);
	if (!shown)
		cp_run_release(rows);
}

static void end_spans(void)
{
	if (!cp_runs_any())
		cp_shared_times_spans_begin(0, 0);
}

int cp_runs_begin(unsigned m, const struct cp_run **with)
{
	struct cp_run *r = &cp_session.runs[m];
	int err;

	r->ops = cp_modes[m];
	r->mode = m;
	/* The parent mode could not begin. */
	if (r->ops->view && !cp_session.runs[r->ops->parent].running)
		return -ECANCELED;
	err = name_run(m);
	if (err)
		return err;
	/* Records never belong to a view. A view's rows are those of its parent, which has just
	 * begun. */
	if (!r->ops->view)
		cp_drain_forget(r, cp_session.runs, &cp_session.modules);
	begin_run(r, *with);
	err = r->ops->start(r, &cp_session.config);
	if (err < 0) {
		release_rows(r);
		return err;
	}
	r->running = true;
	*with = *with ? *with : r;
	return 0;
}

int cp_runs_end(unsigned m, const char *when)
{
	struct cp_run *r = &cp_session.runs[m];
	int err;

	if (!r->running)
		return 0;
	if (r->ops->stop)
		r->ops->stop(r);
	cp_drain_all(cp_session.runs, &cp_session.modules);
	cp_dump_settle(cp_session.runs, 1u << m);
	err = cp_dump_final(r, &cp_session.config, when);
	r->running = false;
	release_rows(r);
	end_spans();
	return err;
}

void cp_runs_abandon(unsigned m)
{
	struct cp_run *r = &cp_session.runs[m];

	if (r->ops->stop)
		r->ops->stop(r);
	r->running = false;
	release_rows(r);
	end_spans();
}

void cp_runs_tell(const struct cp_config *c)
{
	bool by_sigprof = false;

	for (unsigned m = cp_mode_ops_first(); m < CP_MAIN_MODES; m = cp_mode_ops_after(m)) {
		if (!c->path[m][0] || !cp_session.runs[m].running)
			continue;
		by_sigprof = by_sigprof || cp_modes[m]->by_sigprof;
		if (cp_modes[m]->started)
			cp_modes[m]->started();
	}
	if (by_sigprof)
		cp_threads_find_blocking();
}

bool cp_runs_any(void)
{
	for (unsigned m = cp_mode_ops_first(); m < CP_MODES; m = cp_mode_ops_after(m))
		if (cp_load_relaxed(&cp_session.runs[m].running))
			return true;
	return false;
}

void cp_runs_fork_child(void)
{
	const struct cp_run *with = NULL;

	/* A thread that isn't in the child may have been changing the parent's data. So the data
	 * is not released but left in place; its pages are shared with the parent until
	 * written. */
	cp_modules_init(&cp_session.modules);
	cp_times_fork_child();
	cp_shared_times_fork_child();
	for (unsigned m = cp_mode_ops_first(); m < CP_MODES; m = cp_mode_ops_after(m)) {
		struct cp_run *r = &cp_session.runs[m];

		if (!r->running)
			continue;
		/* Only a template's path is another one in the child. Without a name no file can be
		 * written; the error is reported at the write. */
		if (!strchr(cp_session.config.path[cp_runs_parent(m)], '%'))
			begin_names(m);
		else if (name_run(m) < 0)
			r->path[0] = '\0';
		begin_run(r, with);
		with = r;
		r->dumps = 0;
	}
}
