/* The runs of the session; see runs.h. */
#include "runs.h"

#include <errno.h>

#include "drain.h"
#include "dump.h"
#include "mode.h"
#include "own_time.h"
#include "path.h"
#include "session_state.h"
#include "sigsafe/text.h"

struct cp_session cp_session;

/* The mode whose path names M's file. */
enum cp_mode cp_runs_parent(unsigned m)
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
	return cp_session.config.toggle_signal &&
	       cp_runs_parent(m) == cp_session.config.toggle_mode;
}

/* What M's files are called: the configured path, and in toggle mode a number for each window, as
 * gperftools does it; a companion's beside its parent's. */
static int name_run(unsigned m)
{
	const char *path = cp_session.config.path[cp_runs_parent(m)];
	struct cp_run *r = &cp_session.runs[m];
	/* A fork's child comes here on its own stack, which may be an alternate one. */
	static char template[CP_PATH_MAX];
	int err;

	if (cp_runs_toggled(m))
		cp_format(template, sizeof(template), "%s.%u", path, cp_session.windows);
	else
		cp_format(template, sizeof(template), "%s", path);
	r->owner = cp_session.lineage.owner && !cp_session.config.use_pid;
	r->sequence = cp_session.lineage.sequence;
	r->claimed = false;
	err = cp_path_expand(r->path, sizeof(r->path), template, cp_session.lineage.base,
			     &cp_session.facts.path, &r->unique);
	if (!err && cp_runs_parent(m) != m)
		err = cp_path_infix(r->path, sizeof(r->path), r->path, r->ops->name);
	return err;
}

static void begin(struct cp_run *r)
{
	cp_run_begin(r, &cp_session.modules);
	if (!r->ops->view)
		return;
	r->rows = &cp_session.runs[r->ops->parent];
	r->rows->has_view = true;
}

/* Rows stay until the last that is written from them has ended. */
static void release(struct cp_run *r)
{
	struct cp_run *rows = r->rows;
	bool shown = rows->running;

	for (unsigned m = 0; m < CP_MODES; m++)
		shown |= cp_session.runs[m].running && cp_session.runs[m].rows == rows;
	if (r != rows)
		cp_run_release(r);
	if (!shown)
		cp_run_release(rows);
}

int cp_runs_begin(unsigned m)
{
	struct cp_run *r = &cp_session.runs[m];
	int err;

	r->ops = cp_modes[m];
	r->mode = m;
	/* Its parent could not begin. */
	if (r->ops->view && !cp_session.runs[r->ops->parent].running)
		return -ECANCELED;
	err = name_run(m);
	if (err)
		return err;
	/* No record is of a view: its rows are its parent's, which has just begun. */
	if (!r->ops->view)
		cp_drain_forget(r, cp_session.runs, &cp_session.modules);
	begin(r);
	err = r->ops->start(r, &cp_session.config);
	if (err < 0) {
		release(r);
		return err;
	}
	r->running = true;
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
	err = cp_dump_final(r, &cp_session.config, when);
	r->running = false;
	release(r);
	return err;
}

/* End without a file. */
void cp_runs_abandon(unsigned m)
{
	struct cp_run *r = &cp_session.runs[m];

	if (r->ops->stop)
		r->ops->stop(r);
	r->running = false;
	release(r);
}

bool cp_runs_any(void)
{
	for (unsigned m = 0; m < CP_MODES; m++)
		if (cp_session.runs[m].running)
			return true;
	return false;
}

void cp_runs_fork_child(void)
{
	/* The parent's data may be half changed by a thread that isn't here: it is left where it
	 * is (its pages are shared with the parent until written), not released. */
	cp_modules_init(&cp_session.modules);
	cp_own_time_fork_child();
	for (unsigned m = 0; m < CP_MODES; m++) {
		struct cp_run *r = &cp_session.runs[m];

		if (!r->running)
			continue;
		/* Without a name nothing can be written: said when that is tried. */
		if (name_run(m) < 0)
			r->path[0] = '\0';
		begin(r);
	}
}
