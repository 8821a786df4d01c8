/* Writes profiles; see dump.h. */
#include "dump.h"

#include <errno.h>
#include <time.h>

#include "collect.h"
#include "cpu.h"
#include "log.h"
#include "path.h"
#include "profile.h"
#include "report.h"
#include "sigsafe/sys.h"

/* Names tried for a process that must not overwrite: NAME.PID, NAME.PID.2, ... */
#define SEQUENCE_MAX 10000u

static int write_profile(struct cp_run *r, const struct cp_config *c, struct cp_sink *to)
{
	struct cp_report report;
	struct cp_gzip_sink gzip;
	struct cp_profile_info info = {
		.type = "cpu",
		.unit = "nanoseconds",
		.weight_unit = cp_cpu.period_ns,
		.nominal_period = cp_cpu.period_ns,
		.time_ns = r->start_utc_ns,
		.duration_ns = cp_run_clock(CLOCK_MONOTONIC) - r->start_ns,
		.labels = c->labels,
	};
	int err = cp_names_update(&r->names, &r->aggregate, c->symbolize != CP_SYMBOLIZE_NONE);
	int closed;

	if (err)
		return err;
	cp_report_make(&report, r, c);
	info.comments = report.pointers;
	info.comment_count = report.count;
	err = cp_gzip_sink_open(&gzip, to);
	if (err)
		return err;
	err = cp_profile_write(&r->aggregate, &r->names, &info, &gzip.sink);
	closed = cp_gzip_sink_close(&gzip);
	return err ? err : closed;
}

/* Drain, and make sure that the list of modules was read: the main executable is named also
 * in a profile without samples. */
static void bring_up_to_date(struct cp_run *r)
{
	cp_collect_drain(r);
	if (!r->modules.readings)
		cp_modules_refresh(&r->modules);
}

static int path_of(const struct cp_run *r, unsigned number, unsigned sequence, char *to,
		   size_t size)
{
	char plain[CP_PATH_MAX];
	bool suffix = sequence > 0 || (!r->owner && !r->unique);
	int err;

	if (!suffix)
		return cp_path_number(to, size, r->path, number);
	err = cp_path_number(plain, sizeof(plain), r->path, number);
	return err ? err
		   : cp_path_process(to, size, plain, cp_sys_getpid(),
				     r->owner || r->unique ? sequence : sequence + 1);
}

/* Close onto the first free name, beginning with F's own. */
static int close_on_free_name(struct cp_run *r, struct cp_file_sink *f, int failed, unsigned number)
{
	int err = cp_file_sink_close(f, failed != 0, false);
	char path[CP_PATH_MAX];

	while (err == -EEXIST && r->sequence < SEQUENCE_MAX) {
		r->sequence++;
		err = path_of(r, number, r->sequence, path, sizeof(path));
		if (err)
			return err;
		err = cp_file_sink_rename(f, path);
	}
	return err;
}

static int write_file(struct cp_run *r, const struct cp_config *c, unsigned number, bool replace)
{
	struct cp_file_sink f;
	char path[CP_PATH_MAX];
	int err, closed;

	bring_up_to_date(r);
	err = path_of(r, number, r->sequence, path, sizeof(path));
	if (!err)
		err = cp_file_sink_open(&f, path);
	if (!err) {
		err = write_profile(r, c, &f.sink);
		closed = replace ? cp_file_sink_close(&f, err != 0, true)
				 : close_on_free_name(r, &f, err, number);
		err = err ? err : closed;
	}
	cp_count(err ? CP_COUNT_DUMP_FAILURES : CP_COUNT_DUMPS, 1);
	return err;
}

static void say_failure(struct cp_run *r, unsigned number, int err, const char *when)
{
	char path[CP_PATH_MAX];

	/* Once a run: a checkpoint a minute on a full disk is not to fill the log. */
	if (cp_run_counted(r, CP_COUNT_DUMP_FAILURES) > 1)
		return;
	if (path_of(r, number, r->sequence, path, sizeof(path)) < 0)
		path[0] = '\0';
	cp_log("the profile could not be written %s: %s: %s", when, path, cp_errno_text(err));
}

int cp_dump_final(struct cp_run *r, const struct cp_config *c, const char *when)
{
	bool replace = (r->owner && r->sequence == 0) || r->claimed;
	int err;

	bring_up_to_date(r);
	if (!r->owner && !r->aggregate.records)
		return 0;
	if (r->written && r->aggregate.records == r->written_records)
		return 0;
	err = write_file(r, c, 0, replace);
	if (err) {
		say_failure(r, 0, err, when);
		return err;
	}
	r->claimed = r->written = true;
	r->written_records = r->aggregate.records;
	return 0;
}

int cp_dump_numbered(struct cp_run *r, const struct cp_config *c)
{
	unsigned number = ++r->dumps;
	int err = write_file(r, c, number, true);

	if (err)
		say_failure(r, number, err, "on request");
	else if (c->verbose)
		cp_log("profile dump %u written", number);
	return err;
}

int cp_dump_to_path(struct cp_run *r, const struct cp_config *c, const char *path)
{
	struct cp_file_sink f;
	int err, closed;

	bring_up_to_date(r);
	err = cp_file_sink_open(&f, path);
	if (err)
		return err;
	err = write_profile(r, c, &f.sink);
	closed = cp_file_sink_close(&f, err != 0, true);
	return err ? err : closed;
}

int cp_dump_to_fd(struct cp_run *r, const struct cp_config *c, int fd)
{
	struct cp_fd_sink f;

	bring_up_to_date(r);
	cp_fd_sink_open(&f, fd);
	return write_profile(r, c, &f.sink);
}
