/* SPDX-License-Identifier: BSD-3-Clause */
/* Changes settings of a mode while it is on, and checks modes before their start; see session.h. */
#include "session/session.h"

#include <errno.h>
#include <unistd.h>

#include "base/text.h"
#include "collect/collect.h"

static struct cp_config next; /* only the mode's settings in it are used */

static void read_row(struct cp_mode_set *s, const struct cp_config_row *row)
{
	const struct cp_config_reader r = { .name = s->name,
					    .said = s->why,
					    .said_size = sizeof(s->why) };
	void *to = cp_config_of(&next, (enum cprof_mode)s->mode);
	char before[24], now[24];

	if (!row->live || !cp_config_reader_get(&r, row->variable) || s->count == CP_MODE_SET_MOST)
		return;
	cp_config_reader_show(row, to, before, sizeof(before));
	cp_config_reader_read(&r, row, to);
	cp_config_reader_show(row, to, now, sizeof(now));
	cp_text_format(s->changes[s->count++], sizeof(s->changes[0]), "%s=%s, before: %s",
		       row->variable, now, before);
}

static int read_rows(struct cp_mode_set *s)
{
	const struct cp_config_mode *mode = cp_config_table_mode(s->mode);

	memcpy(next.of_mode[s->mode], cp_session.config.of_mode[s->mode], sizeof(next.of_mode[0]));
	s->why[0] = '\0';
	for (size_t i = 0; i < mode->count && !s->why[0]; i++)
		read_row(s, &mode->rows[i]);
	return s->why[0] ? -ERANGE : s->count ? 0 : -EINVAL;
}

/* Note the changes for the files of the mode and of its companions. */
static void note(const struct cp_mode_set *s)
{
	uint64_t now = cp_sys_clock_ns(CLOCK_MONOTONIC);

	for (unsigned m = cp_mode_ops_first(); m < CP_MODES; m = cp_mode_ops_after(m)) {
		struct cp_run *r = &cp_session.runs[m];

		if (!r->running || cp_runs_parent(m) != s->mode)
			continue;
		for (unsigned i = 0; i < s->count; i++) {
			struct cp_run_change *c = &r->changes[r->change_count++ % CP_RUN_CHANGES];

			c->at_ns = now;
			cp_text_format(c->text, sizeof(c->text), "%s", s->changes[i]);
		}
	}
}

static int apply(struct cp_mode_set *s)
{
	struct cp_run *r = &cp_session.runs[s->mode];
	int err = read_rows(s);

	if (err)
		return err;
	cp_drain_all(cp_session.runs, &cp_session.modules);
	err = r->ops->set(r, &next);
	if (err)
		return err;
	memcpy(cp_session.config.of_mode[s->mode], next.of_mode[s->mode], sizeof(next.of_mode[0]));
	note(s);
	return 0;
}

void cp_mode_set_apply(void *arg)
{
	struct cp_mode_set *s = arg;
	const struct cp_run *r = &cp_session.runs[s->mode];

	s->count = 0;
	s->why[0] = '\0';
	if (!r->running || !r->ops->set) {
		s->result = r->running ? -EINVAL : -ESRCH;
		return;
	}
	cp_own_time_work_begin();
	s->result = apply(s);
	cp_own_time_work_end();
}

/* ---- checks before a mode starts ---- */

/* Creates the temporary file of PATH, and removes it. Returns 0 or a negative errno. */
static int try(const char *path)
{
	static struct cp_file_sink f; /* large */
	int err = cp_sink_file_open(&f, path);

	if (!err)
		cp_sink_file_close(&f, true, true);
	return err;
}

/* Checks whether the file can be written, so that the user learns of an error at the start and not
 * after an hour. Returns 0 or a negative errno. */
static int check_path(const char *path)
{
	char directory[CP_PATH_MAX];
	struct stat st;
	char *slash;
	long err;

	err = cp_sys4(SYS_newfstatat, AT_FDCWD, path, &st, 0);
	if (err == 0)
		return S_ISREG(st.st_mode) || S_ISCHR(st.st_mode) ? 0
		       : S_ISDIR(st.st_mode)			  ? -EISDIR
								  : -EINVAL;
	/* The path is too long even if its directory is fine. */
	if (err == -ENAMETOOLONG)
		return (int)err;
	cp_text_format(directory, sizeof(directory), "%s", path);
	slash = strrchr(directory, '/');
	if (!slash)
		return -EINVAL;
	slash[slash == directory] = '\0';
	/* Checks with the effective ids, which differ from the caller's in a set-user-id
	 * program. A sandbox may not know the call, and may answer anything then. */
	return cp_sys4(SYS_faccessat2, AT_FDCWD, directory, W_OK | X_OK, AT_EACCESS) ? try(path)
										     : 0;
}

int cp_mode_set_check_path(unsigned m, const char *template)
{
	char path[CP_PATH_MAX], name[CP_PATH_MAX];
	bool unique;
	int err = !cp_modes[m] ? -ENOSYS
			       : cp_path_expand(path, sizeof(path), template,
						cp_session.process_tree.base,
						&cp_session.facts.path, &unique);

	if (!err)
		err = cp_path_number(name, sizeof(name), path, 0);
	if (!err && !unique && (!cp_session.process_tree.owner || cp_runs_has_pid(m)))
		err = cp_path_process(name, sizeof(name), name, cp_sys_getpid(), 1);
	if (!err)
		err = cp_sink_file_check(name);
	return err ? err : check_path(name);
}

int cp_mode_set_check_added(const struct cp_config *c)
{

	for (unsigned m = cp_mode_ops_first(); m < CP_MAIN_MODES; m = cp_mode_ops_after(m)) {
		int err =
			c->path[m][0] && !c->nofile[m] ? cp_mode_set_check_path(m, c->path[m]) : 0;

		if (err)
			return err;
		if (c->path[m][0] && cp_session.config.path[m][0])
			return -EALREADY;
	}
	return 0;
}
