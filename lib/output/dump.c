/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes profiles; see output.h. */
#include "output/output.h"

#include <errno.h>
#include <string.h>

#include "base/sys.h"

/* Number of names tried for a process that must not overwrite: NAME.PID, NAME.PID.2, ... */
#define SEQUENCE_MAX 10000u

/* The clock of file times advances at the kernel's tick. */
#define TICK_NS UINT64_C(20000000)

/* From this many stacks on, the duration of a dump matters, because nothing is drained meanwhile.
 */
#define LARGE 100000u
/* Up to this many samples, a file is written by a process that has not lived for long. */
#define LITTLE 256u

static void row_labels(const void *run, const struct cp_stack *s, struct cp_encode_labels *to)
{
	const struct cp_run *r = run;

	r->ops->labels(r, s, to);
}

static void more_values(const void *run, uint32_t row, uint64_t *values)
{
	const struct cp_run *r = run;

	r->ops->more_values(r, row, values);
}

/* Adds the types of R's file that are computed from its rows. */
static void add_types(const struct cp_run *r, struct cp_pprof_type *to,
		      struct cp_profile_info *info)
{
	const struct cp_mode_ops *ops = r->ops;

	memcpy(to, ops->types, ops->type_count * sizeof(*to));
	info->types = to;
	info->more_count = ops->more_types ? ops->more_types(r) : 0;
	info->more_values = more_values;
	/* A mode without further types has no pointer to them. */
	if (info->more_count)
		memcpy(to + ops->type_count, ops->more, info->more_count * sizeof(*to));
}

/* A main mode's file without events needs no index, unless there are spans. A companion's has one:
 * -from is told to both. */
static bool has_times(const struct cp_run *r)
{
	return !r->window &&
	       (r->times.seen ||
		(r->times.budget && (r->ops->parent != r->mode || cp_shared_times_spans()->count)));
}

/* Returns how long after R's start the file begins, which is written at NOW. */
static uint64_t from_of(const struct cp_run *r, uint64_t now)
{
	uint64_t since = r->since_ns < now ? r->since_ns : now;

	return since > r->start_ns ? since - r->start_ns : 0;
}

/* Makes INFO, of the file of R's run, that of its end. */
static int cut(const struct cp_run *r, struct cp_run_times *times, struct cp_comments *report,
	       struct cp_profile_info *info, struct cp_vec *base)
{
	uint64_t from = from_of(r, times->now.ns);

	if (!from)
		return 0;
	cp_comments_line(report, "dump: the last %s s, of %s s",
			 cp_comments_seconds(times->now.ns - r->start_ns - from),
			 cp_comments_seconds(times->now.ns - r->start_ns));
	times->from = from;
	info->base = base;
	if (info->duration_ns) {
		info->time_ns += from;
		info->duration_ns = times->now.ns - r->start_ns - from;
	}
	return cp_cut_rows(r, times, base);
}

static int write_profile(struct cp_run *r, const struct cp_config *c, struct cp_sink *to)
{
	const struct cp_mode_ops *ops = r->ops;
	struct cp_comments report;
	struct cp_gzip_sink gzip;
	struct cp_pprof_type types[CP_VALUES + CP_ENCODE_MORE];
	bool moment = ops->moments && !r->window;
	struct cp_profile_info info = {
		.type_count = ops->type_count,
		.default_type = ops->default_type,
		.period_type = ops->period_type,
		.drop_frames = ops->drop_frames,
		.period = ops->period ? ops->period(r) : 1,
		.time_ns = moment ? cp_dump_moment.utc_ns : r->start_utc_ns,
		.duration_ns = moment ? 0 : cp_dump_moment.now.ns - r->start_ns,
		.labels = c->labels,
		.row_labels = ops->labels ? row_labels : NULL,
		.context = r,
		.base = cp_consumers_base(r),
	};
	struct cp_run_times times = { .times = &r->times,
				      .start_utc_ns = r->start_utc_ns,
				      .start_ns = r->start_ns,
				      .start_cpu_ns = r->start_cpu_ns };
	struct cp_vec base = { .size = sizeof(struct cp_aggregate_base) };
	struct cp_aggregate *a = &r->rows->aggregate;
	struct cp_names *n = &r->rows->names;
	int err = cp_names_update(n, a, c->symbolize != CP_SYMBOLIZE_NONE), closed;

	if (err)
		return err;
	add_types(r, types, &info);
	cp_comments_make(&report, r, c);
	if (r->reason && *r->reason)
		cp_comments_line(&report, "dump: %s", r->reason);
	if (has_times(r)) {
		if (!cp_dump_moment.now.resident)
			cp_dump_moment.now.resident = cp_times_resident();
		times.now = cp_dump_moment.now;
		info.times = &times;
		err = cut(r, &times, &report, &info, &base);
	}
	info.comments = report.pointers;
	info.comment_count = report.count;
	if (r->window)
		return cp_encode_write(a, n, &info, to);
	if (!err)
		err = cp_sink_gzip_open(&gzip, to,
					a->records <= LITTLE	  ? CP_GZIP_LITTLE
					: a->stacks.count > LARGE ? CP_GZIP_MUCH
								  : CP_GZIP_USUAL);
	if (!err) {
		err = cp_encode_write(a, n, &info, &gzip.sink);
		closed = cp_sink_gzip_close(&gzip);
		err = err ? err : closed;
	}
	cp_vec_release(&base);
	return err;
}

void cp_dump_settle(struct cp_run *runs, uint32_t modes)
{
	for (unsigned m = cp_mode_ops_first(); m < CP_MODES; m = cp_mode_ops_after(m))
		if (runs[m].running && modes & 1u << m && runs[m].ops->settle)
			runs[m].ops->settle(&runs[m]);
	cp_dump_moment.utc_ns = cp_sys_clock_ns(CLOCK_REALTIME);
	/* Most children of a shell write no file, so the memory, which takes longest, is for the
	 * first file with times. */
	cp_dump_moment.now =
		(struct cp_times_counter){ .ns = cp_sys_clock_ns(CLOCK_MONOTONIC),
					   .cpu_ns = cp_sys_clock_ns(CLOCK_PROCESS_CPUTIME_ID) };
}

/* Read the list of modules if no drain has read it, because no sample came: even a profile without
 * samples names the main executable. */
static void name_modules(struct cp_run *r)
{
	if (!r->aggregate.modules->readings)
		cp_modules_refresh(r->aggregate.modules);
}

/* How many records R has is known then. */
static void show_rows(struct cp_run *r)
{
	if (r->ops->show)
		r->ops->show(r);
}

/* Call before anything of R's contents is reported or written. */
static void show_run(struct cp_run *r)
{
	show_rows(r);
	name_modules(r);
}

/* The file at exit has no pid appended: the program that the first process runs last is the one
 * that the user wants to profile, whatever launchers ran there before it. */
static bool has_own_name(const struct cp_run *r)
{
	return r->owner || r->unique;
}

static int path_of(const struct cp_run *r, unsigned number, unsigned sequence, char *to,
		   size_t size)
{
	const char *path = r->path ? r->path : "";
	char plain[CP_PATH_MAX];
	bool own = has_own_name(r);
	int err;

	if (own && (!number || !sequence))
		return cp_path_number(to, size, path, number);
	err = cp_path_number(plain, sizeof(plain), path, number);
	return err ? err
		   : cp_path_process(to, size, plain, cp_sys_getpid(),
				     own ? sequence : sequence + 1);
}

/* Rename the file at R's own path to NAME.PID or the first free name after it. The file was written
 * by this process before its last exec, or by a process that had the same pid. */
static int set_aside(const struct cp_run *r)
{
	char path[CP_PATH_MAX], to[CP_PATH_MAX];
	struct stat st;
	long err = path_of(r, 0, 0, path, sizeof(path));

	if (err)
		return (int)err;
	err = -EEXIST;
	if (cp_sys4(SYS_newfstatat, AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISREG(st.st_mode))
		return 0;
	for (unsigned n = 1; err == -EEXIST && n < SEQUENCE_MAX; n++) {
		err = cp_path_process(to, sizeof(to), path, cp_sys_getpid(), n);
		if (err)
			break;
		/* Give the file its second name first, so that there is a file at PATH at any time.
		 */
		err = cp_sys5(SYS_linkat, AT_FDCWD, path, AT_FDCWD, to, 0);
		if (err && err != -EEXIST && err != -ENOENT)
			err = cp_sys5(SYS_renameat2, AT_FDCWD, path, AT_FDCWD, to,
				      1 /* RENAME_NOREPLACE */);
	}
	return err == -ENOENT ? 0 : (int)err;
}

/* Close onto the first free name, starting with F's own. */
static int close_on_free_name(struct cp_run *r, struct cp_file_sink *f, int failed, unsigned number)
{
	int err = cp_sink_file_close(f, failed != 0, false);
	char path[CP_PATH_MAX];

	while (err == -EEXIST && r->sequence < SEQUENCE_MAX) {
		r->sequence++;
		err = path_of(r, number, r->sequence, path, sizeof(path));
		if (err)
			return err;
		err = cp_sink_file_rename(f, path);
	}
	return err;
}

/* Has another process written the file at PATH since R began, or since R wrote it? Then several
 * unrelated processes were started with the same path. Ages are compared, because the file system's
 * clock may be another machine's. */
static bool is_anothers(const struct cp_run *r, const struct cp_file_sink *f)
{
	uint64_t since = r->claimed ? r->written_ns : r->start_ns;
	uint64_t ours = cp_sys_clock_ns(CLOCK_MONOTONIC) - since, written;
	struct stat st;

	if (!r->owner || r->unique || r->sequence || f->direct ||
	    cp_sys4(SYS_newfstatat, AT_FDCWD, f->path, &st, AT_SYMLINK_NOFOLLOW) ||
	    !S_ISREG(st.st_mode) || !st.st_size || (r->claimed && st.st_ino == r->inode))
		return false;
	written = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
	return (f->created_ns > written ? f->created_ns - written : 0) + TICK_NS < ours;
}

/* Leave the name to the process that has written there. From now on R's file is NAME.PID, like a
 * descendant's. */
static int close_beside(struct cp_run *r, struct cp_file_sink *f, int failed)
{
	r->owner = r->claimed = false;
	path_of(r, 0, 0, f->path, sizeof(f->path));
	return close_on_free_name(r, f, failed, 0);
}

/* Report the first unreadable file, as an example of all. */
static void say_unread(const struct cp_run *r)
{
	const struct cp_names *n = &r->rows->names;
	uint32_t m = cp_names_unread(n, 0);

	if (m != CP_NO_MAPPING)
		cp_log("the %s profile lacks names: symbols could not be read: %s: %s; `cprof "
		       "symbolize` adds them",
		       r->ops->name,
		       cp_log_errno_text(
			       CP_VEC_AT(&n->mappings, struct cp_names_mapping, m)->trouble),
		       cp_modules_at(r->rows->aggregate.modules, m)->path);
}

/* Report, once per run, that the file lacks data because memory ran out or a file could not be
 * read. */
static void say_lacks(struct cp_run *r)
{
	uint64_t lost = cp_run_counted(r, CP_COUNT_LOST_MEMORY) +
			cp_run_counted(r, CP_COUNT_LOST_AGGREGATE);

	if (r->said_lacks || (!lost && !r->rows->names.lacking && !r->rows->names.unread))
		return;
	r->said_lacks = true;
	if (lost)
		cp_log("the %s profile lacks samples, its comments say how many: there was no "
		       "memory for them; %s",
		       r->ops->name, cp_log_errno_advice(ENOMEM));
	else if (r->rows->names.lacking)
		cp_log("the %s profile lacks names: there was no memory for them; `cprof "
		       "symbolize` "
		       "adds them",
		       r->ops->name);
	else
		say_unread(r);
}

static int write_file(struct cp_run *r, const struct cp_config *c, unsigned number, bool replace)
{
	struct cp_file_sink f;
	char path[CP_PATH_MAX];
	int err = path_of(r, number, r->sequence, path, sizeof(path)), closed;

	if (!err)
		err = cp_sink_file_open(&f, path);
	if (!err) {
		err = write_profile(r, c, &f.sink);
		closed = replace && !number && is_anothers(r, &f) ? close_beside(r, &f, err)
			 : replace ? cp_sink_file_close(&f, err != 0, true)
				   : close_on_free_name(r, &f, err, number);
		err = err ? err : closed;
		/* After a failure the previous file is still there. */
		if (!err && !number)
			r->inode = f.inode;
	}
	/* Report it only for the first process of a tree: a make has thousands of others. */
	if (!err && !f.direct && !r->claimed && has_own_name(r))
		cp_sink_file_sweep(path);
	cp_count_mode(r->mode, err ? CP_COUNT_DUMP_FAILURES : CP_COUNT_DUMPS, 1);
	if (!err)
		say_lacks(r);
	return err;
}

/* Returns whether a failure in the directory of PATH with this error was already said by this
 * process: a program with seven files says one line. */
static bool was_said(const char *path, int err)
{
	static struct {
		int pid, err;
		uint32_t directory; /* hash */
	} last;
	const char *slash = strrchr(path, '/');
	uint32_t directory = cp_index_hash(path, slash ? (size_t)(slash - path) : 0);
	int pid = cp_sys_getpid();
	bool said = last.pid == pid && last.err == err && last.directory == directory;

	last.pid = pid;
	last.err = err;
	last.directory = directory;
	return said;
}

static void say_failure(struct cp_run *r, unsigned number, int err, const char *when)
{
	bool moved = (err == -ENOENT || err == -EACCES) && cp_helper_root_changed();
	char path[CP_PATH_MAX];

	if (path_of(r, number, r->sequence, path, sizeof(path)) < 0)
		path[0] = '\0';
	/* Once per run: a checkpoint every minute on a full disk must not fill the log. */
	if (was_said(path, err) || cp_run_counted(r, CP_COUNT_DUMP_FAILURES) > 1)
		return;
	cp_log("the %s profile could not be written %s: %s: %s; %s", r->ops->name, when, path,
	       moved ? "the process is in another root directory by now (chroot)"
		     : cp_log_errno_text(err),
	       moved ? "there must be this directory there, which it may write to"
		     : cp_log_errno_advice(err));
}

static bool nothing_is_there(const struct cp_run *r)
{
	char path[CP_PATH_MAX];
	struct stat st;

	return path_of(r, 0, 0, path, sizeof(path)) == 0 &&
	       cp_sys4(SYS_newfstatat, AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) == -ENOENT;
}

/* May a file without samples be written? Only by the process that was started with the variable, in
 * whichever of its images reaches its end. */
static bool may_be_empty(const struct cp_run *r)
{
	return r->ops->parent == r->mode && r->owner && (!r->sequence || nothing_is_there(r));
}

int cp_dump_final(struct cp_run *r, const struct cp_config *c, const char *when)
{
	bool first = r->owner && !r->sequence;
	uint64_t records;
	int err = 0;

	if (r->nofile)
		return 0;
	show_rows(r);
	records = r->rows->aggregate.records;
	if (!records && !may_be_empty(r))
		return 0;
	if (r->written_ns && records == r->written_records)
		return 0;
	name_modules(r);
	if (!first && !r->claimed && has_own_name(r))
		err = set_aside(r);
	if (!err)
		err = write_file(r, c, 0, r->claimed || has_own_name(r));
	if (err) {
		say_failure(r, 0, err, when);
		return err;
	}
	r->claimed = true;
	r->written_ns = cp_sys_clock_ns(CLOCK_MONOTONIC);
	r->written_records = records;
	return 0;
}

int cp_dump_written_path(const struct cp_run *r, char *to, size_t size)
{
	return r->written_ns ? path_of(r, 0, r->sequence, to, size) : -ENOENT;
}

int cp_dump_path(const struct cp_run *r, char *to, size_t size)
{
	return path_of(r, 0, r->sequence, to, size);
}

int cp_dump_numbered(struct cp_run *r, const struct cp_config *c, const char *reason)
{
	unsigned number;
	int err;

	if (r->nofile)
		return 0;
	number = ++r->dumps;
	show_run(r);
	/* A companion with nothing to show gets no file: of the last seconds, one without times. */
	if (r->ops->parent != r->mode &&
	    (!r->rows->aggregate.records || (r->since_ns && !r->times.seen)))
		return 0;
	r->reason = reason;
	err = write_file(r, c, number, true);
	r->reason = NULL;
	if (err)
		say_failure(r, number, err, "on request");
	else if (c->verbose)
		cp_log("%s profile dump %u written", r->ops->name, number);
	return err;
}

void cp_dump_remove(const struct cp_run *r, unsigned number)
{
	char path[CP_PATH_MAX];

	if (path_of(r, number, r->sequence, path, sizeof(path)) >= 0)
		cp_sys3(SYS_unlinkat, AT_FDCWD, path, 0);
}

int cp_dump_to_path(struct cp_run *r, const struct cp_config *c, const char *path)
{
	struct cp_file_sink f;
	int err, closed;

	show_run(r);
	err = cp_sink_file_open(&f, path);
	if (err)
		return err;
	err = write_profile(r, c, &f.sink);
	closed = cp_sink_file_close(&f, err != 0, true);
	return err ? err : closed;
}

int cp_dump_to_sink(struct cp_run *r, const struct cp_config *c, struct cp_sink *sink)
{
	show_run(r);
	return write_profile(r, c, sink);
}

int cp_dump_window(struct cp_run *r, struct cp_consumer *w, const struct cp_config *c,
		   struct cp_sink *sink)
{
	static struct cp_run view; /* large */
	int err;

	show_run(r);
	err = cp_consumers_end_window(r, w);
	if (err)
		return err;
	cp_consumers_view(r, w, &view);
	view.reason = "a window of the time that the mode is on";
	err = write_profile(&view, c, sink);
	if (err)
		cp_consumers_confirm(w, false);
	return err;
}

int cp_dump_begin_window(struct cp_run *r, struct cp_consumer *w)
{
	int err;

	show_run(r);
	err = cp_consumers_end_window(r, w);
	cp_consumers_confirm(w, !err);
	return err;
}
