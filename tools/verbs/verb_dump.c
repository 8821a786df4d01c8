/* SPDX-License-Identifier: BSD-3-Clause */
/* cprof dump: takes a profile of a running process.
 *
 * Sends the signal on which libcprof writes its numbered files, waits for a new file, and adds
 * lines to it. Without libcprof the signal would kill the process, so the handler is checked first.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "verbs/dump_process.h"
#include "core/memory.h"
#include "core/options.h"
#include "core/read.h"
#include "verbs/verb_symbolize.h"
#include "verbs/verbs.h"
#include "core/write.h"

#define POLL_NS 20000000
#define USUAL_SECONDS 10

static struct {
	const char *mode, *output;
	long seconds;
} my = { .seconds = USUAL_SECONDS };

static const struct ct_option options[] = {
	CT_TEXT("mode", "M", &my.mode,
		"cpu, wall, heap, lock, io or event; default: every mode that is on"),
	CT_TEXT("output", "FILE", &my.output, "put the dump there (of one mode)"),
	CT_TEXT("o", "FILE", &my.output, NULL),
	CT_INTEGER("timeout", "SECONDS", &my.seconds, "wait at most SECONDS for the file (10)"),
	CT_END
};

/* ---- new files ---- */

struct seen {
	char *name;
	ino_t inode;
	struct timespec time;
};

struct listing {
	struct seen *files;
	size_t count, room;
};

/* A pattern that begins with "*" does not match ".NAME.PID.tmp"; the library renames that file to
 * NAME when it is complete. */
static void look(const struct ct_dump_place *p, struct listing *l)
{
	int fd = openat(p->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	struct stat st;

	while (d && (e = readdir(d)))
		if (!fnmatch(p->pattern, e->d_name, FNM_PERIOD) &&
		    !fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW))
			*CT_PUSH(l->files, l->count, l->room) =
				(struct seen){ ct_memory_strdup(e->d_name), st.st_ino, st.st_mtim };
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
}

static void forget(struct listing *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->files[i].name);
	free(l->files);
	*l = (struct listing){ 0 };
}

static bool knows(const struct listing *l, const struct seen *s)
{
	for (size_t i = 0; i < l->count; i++)
		if (!strcmp(l->files[i].name, s->name) && l->files[i].inode == s->inode &&
		    l->files[i].time.tv_sec == s->time.tv_sec &&
		    l->files[i].time.tv_nsec == s->time.tv_nsec)
			return true;
	return false;
}

/* Returns the name of a file of P that isn't in BEFORE, or has changed since. The caller frees it.
 */
static char *appeared(const struct ct_dump_place *p, const struct listing *before)
{
	struct listing now = { 0 };
	char *name = NULL;

	look(p, &now);
	for (size_t i = 0; i < now.count && !name; i++)
		if (!knows(before, &now.files[i]))
			name = ct_memory_strdup(now.files[i].name);
	forget(&now);
	return name;
}

static double clock_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- the dump ---- */

static void add_lines(struct ct_profile *p)
{
	const char *roots[] = { CT_DEBUG_ROOT, NULL };
	struct ct_symbolized done;

	ct_verb_symbolize_profile(p, roots, &done);
}

/* Opens the dump NAME without trusting it: a user who may dump others' processes may also write
 * others' files. It must be a plain file of the process's user, as the library makes it, and not a
 * link to another place. Returns its descriptor, or -1. */
static int open_dump(const struct ct_dump_process *d, const struct ct_dump_place *p,
		     const char *name, struct stat *st)
{
	int fd = ct_input_reopen_plain(openat(p->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC));

	if (fd >= 0 && !fstat(fd, st) && S_ISREG(st->st_mode) &&
	    (st->st_uid == d->user || d->user == geteuid()))
		return fd;
	fprintf(stderr, "cprof dump: %s/%s is left alone: %s\n", p->directory, name,
		fd < 0 && errno != EINVAL ? strerror(errno) : "not a file of the process's user");
	if (fd >= 0)
		close(fd);
	return -1;
}

static int write_dump(struct ct_profile *q, const struct ct_dump_place *p, const char *name,
		      const struct stat *was)
{
	add_lines(q);
	if (!my.output) {
		if (ct_write_file_over(q, p->fd, name, was))
			return CT_FAILED;
		printf("%s/%s\n", p->directory, name);
		return CT_OK;
	}
	if (ct_write_file(q, my.output))
		return CT_FAILED;
	unlinkat(p->fd, name, 0);
	printf("%s\n", my.output);
	return CT_OK;
}

/* Adds lines to the dump NAME, and moves it to the place that the user wants. */
static int take(const struct ct_dump_process *d, const struct ct_dump_place *p, const char *name)
{
	struct stat was;
	int fd = open_dump(d, p, name, &was), status = CT_FAILED;
	char *path = ct_memory_printf("/proc/self/fd/%d", fd);
	struct ct_profile *q = fd < 0 ? NULL : ct_read_source(path);

	if (q)
		status = write_dump(q, p, name, &was);
	ct_model_free(q);
	if (fd >= 0)
		close(fd);
	free(path);
	return status;
}

static int give_up(const struct ct_dump_process *d, const struct ct_dump_place *p)
{
	if (ct_dump_process_signal(d, 0) && errno == ESRCH)
		fprintf(stderr, "cprof dump: process %d ended before its dump was written\n",
			d->pid);
	else if (d->toggle && !strcmp(p->mode, "cpu"))
		fprintf(stderr,
			"cprof dump: no %s/%s appeared in %ld s: the process was started with "
			"CPUPROFILESIGNAL=%s, so its CPU profile is off until \"kill -%s %d\" "
			"turns "
			"it on; the next one turns it off, and writes it\n",
			p->directory, p->pattern, my.seconds, d->toggle, d->toggle, d->pid);
	else
		fprintf(stderr,
			"cprof dump: no %s/%s appeared in %ld s: the process is stopped, has set "
			"that signal itself, has not the %s mode on, or can't write there\n",
			p->directory, p->pattern, my.seconds, p->mode);
	return CT_FAILED;
}

static int await(const struct ct_dump_process *d, const struct ct_dump_place *p,
		 const struct listing *before, double until)
{
	char *name;
	int status;

	while (!(name = appeared(p, before))) {
		if (clock_now() >= until || (ct_dump_process_signal(d, 0) && errno == ESRCH))
			return give_up(d, p);
		nanosleep(&(struct timespec){ 0, POLL_NS }, NULL);
	}
	status = take(d, p, name);
	free(name);
	return status;
}

static int dump(const struct ct_dump_process *d)
{
	struct listing before[CT_MODES] = { { 0 } };
	double until;
	int status = CT_OK;

	for (unsigned i = 0; i < d->count; i++)
		look(&d->places[i], &before[i]);
	if (ct_dump_process_signal(d, d->signal)) {
		fprintf(stderr, "cprof dump: process %d can't be signalled: %s\n", d->pid,
			strerror(errno));
		return CT_FAILED;
	}
	until = clock_now() + (double)my.seconds;
	for (unsigned i = 0; i < d->count; i++) {
		if (await(d, &d->places[i], &before[i], until))
			status = CT_FAILED;
		forget(&before[i]);
	}
	return status;
}

static int run(int argc, char **argv)
{
	const struct ct_option *const tables[] = { options, NULL };
	int first = ct_options_parse(&ct_verb_dump, argc, argv, tables), status;
	struct ct_dump_process d;
	char *end = NULL, *why;
	long pid = 0;

	if (first < 0)
		return ct_options_status(first);
	if (argc - first == 1)
		pid = strtol(argv[first], &end, 10);
	if (!end || *end || pid <= 0 || pid > INT32_MAX)
		return ct_options_wrong(&ct_verb_dump, "give one process id");
	if (my.mode && !ct_dump_process_is_mode(my.mode))
		return ct_options_wrong(&ct_verb_dump,
					"-mode=%s is not cpu, wall, heap, lock, io or event",
					my.mode);
	why = ct_dump_process_open(&d, (int)pid, my.mode);
	if (!why && my.output && d.count > 1)
		why = ct_memory_strdup("several modes are on: -output needs -mode");
	if (why)
		fprintf(stderr, "cprof dump: %s\n", why);
	status = why ? CT_FAILED : dump(&d);
	ct_dump_process_close(&d);
	free(why);
	return status;
}

const struct ct_verb ct_verb_dump = {
	.name = "dump",
	.operands = "PID",
	.summary = "Get a profile of a running process now",
	.details = "The process runs under libcprof; it goes on, and so does its profile.\n",
	.run = run,
};
