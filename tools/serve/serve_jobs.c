/* SPDX-License-Identifier: BSD-3-Clause */
/* Workers: starts and ends them, and calls what they do; see serve.h. */
#include "serve/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Missing in the headers of glibc 2.31. */
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

/* Number of workers that may symbolize at once. */
#define TURNS 2

static struct ct_serve_job *jobs;
static unsigned job_count;
static int turns = -1; /* a file in which a worker locks a byte for its turn */

/* ---- the worker ---- */

static sigset_t only_term(void)
{
	sigset_t s;

	sigemptyset(&s);
	sigaddset(&s, SIGTERM);
	return s;
}

void ct_serve_jobs_may_end(void)
{
	sigset_t s = only_term();

	sigprocmask(SIG_UNBLOCK, &s, NULL);
}

bool ct_serve_jobs_is_cancelled(void)
{
	sigset_t s;

	return !sigpending(&s) && sigismember(&s, SIGTERM);
}

void ct_serve_jobs_wait_turn(void)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };

	for (l.l_start = 0; l.l_start < TURNS; l.l_start++)
		if (!fcntl(turns, F_SETLK, &l))
			return;
	l.l_start = getpid() % TURNS;
	fcntl(turns, F_SETLKW, &l);
}

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Closes all descriptors above 2 but KEPT: a client's connection must not stay open because a
 * worker has it, too. */
static void close_others(int *kept, size_t n)
{
	unsigned from = 3;

	qsort(kept, n, sizeof(*kept), by_number);
	for (size_t i = 0; i <= n; i++) {
		unsigned to = i < n ? (unsigned)kept[i] : ~0u;

		if (i < n && kept[i] < 3)
			continue;
		if (to > from)
			syscall(SYS_close_range, from, to - (i < n), 0);
		from = to + 1;
	}
}

static void become_worker(const struct ct_serve_job *job, const struct ct_serve_request *r,
			  pid_t server)
{
	const struct rlimit memory = { CT_SERVE_WORKER_MEMORY, CT_SERVE_WORKER_MEMORY };
	int kept[3 + CT_SERVE_PARTS] = { job->body, job->snapshot, turns };
	unsigned parts = r->window ? r->window->part_count : 0;
	sigset_t block = only_term();

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	signal(SIGTERM, SIG_DFL);
	signal(SIGINT, SIG_IGN); /* signals of a terminal: the server ends the workers */
	sigprocmask(SIG_SETMASK, &block, NULL);
	if (getppid() != server)
		_exit(2);
	dup2(job->messages, STDERR_FILENO);
	for (unsigned i = 0; i < parts; i++)
		kept[3 + i] = r->window->parts[i].fd;
	close_others(kept, 3 + parts);
	setrlimit(RLIMIT_DATA, &memory);
}

/* Cleans text, which curl may show on a terminal. Returns whether that has worked. */
static bool clean(FILE *body, const char *type)
{
	int fd = fileno(body);
	off_t size = lseek(fd, 0, SEEK_END);
	char *text;

	if (strncmp(type, "text/", 5) && strcmp(type, CT_SERVE_JSON))
		return true;
	text = size > 0 ? mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
			: MAP_FAILED;
	return text == MAP_FAILED ? !size
				  : !ftruncate(fd, (off_t)ct_out_guard_clean(text, (size_t)size));
}

/* ---- what workers do: each function writes the reply of one request ---- */

static void serve_work(const struct ct_serve_request *r, struct ct_serve_out *out)
{
	/* Every process has files in /proc; this user may read them, others may not. */
	bool of_proc = r->route.what == CT_SERVE_CMDLINE || r->route.what == CT_SERVE_SYMBOL ||
		       r->route.what == CT_SERVE_THREADCREATE;

	if (r->route.pid && r->route.what != CT_SERVE_STOP &&
	    !ct_serve_processes_has(r->only, r->route.pid, of_proc)) {
		ct_serve_reply_fail(out, 404,
				    r->only->asked ? "process %d doesn't ask to be served here"
						   : "process %d does not answer",
				    r->route.pid);
		return;
	}
	switch (r->route.what) {
	case CT_SERVE_HOME: ct_serve_list_home(r, out); break;
	case CT_SERVE_TARGETS: ct_serve_list_targets(r, out); break;
	case CT_SERVE_METRICS: ct_serve_metrics(r, out); break;
	case CT_SERVE_RESOLVE: ct_serve_list_resolve(r, out); break;
	case CT_SERVE_INDEX: ct_serve_process_index(r, out); break;
	case CT_SERVE_CMDLINE: ct_serve_process_cmdline(r, out); break;
	case CT_SERVE_SYMBOL: ct_serve_process_symbol(r, out); break;
	case CT_SERVE_THREADCREATE: ct_serve_process_threadcreate(r, out); break;
	case CT_SERVE_THREADS: ct_serve_threads(r, out); break;
	case CT_SERVE_PROFILE:
	case CT_SERVE_FLAME: ct_serve_profile(r, out); break;
	case CT_SERVE_STOP:
		ct_window_end(r->route.pid, r->window->mode, r->window->id.consumer);
		ct_serve_reply_set(out->reply, 200, CT_SERVE_PLAIN, "");
		break;
	case CT_SERVE_NOTHING:
	case CT_SERVE_MOVED: break;
	}
}

static void work_on(const struct ct_serve_job *job, const struct ct_serve_request *r, pid_t server)
{
	struct ct_serve_out out = { job->reply, NULL, job->snapshot };

	become_worker(job, r, server);
	out.body = fdopen(job->body, "w");
	if (!out.body)
		_exit(2);
	serve_work(r, &out);
	_exit(!fflush(out.body) && clean(out.body, job->reply->type) ? 0 : 2);
}

/* ---- the server ---- */

static void *share(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void close_all(struct ct_serve_job *job)
{
	if (job->body >= 0)
		close(job->body);
	if (job->snapshot >= 0)
		close(job->snapshot);
	if (job->messages >= 0)
		close(job->messages);
}

void ct_serve_jobs_release(struct ct_serve_job *job)
{
	close_all(job);
	if (job->reply)
		munmap(job->reply, sizeof(*job->reply));
	free(job);
}

struct ct_serve_job *ct_serve_jobs_start(const struct ct_serve_request *r, void *arg)
{
	struct ct_serve_job *job = ct_memory_alloc(sizeof(*job));
	pid_t server = getpid();
	int err;

	if (turns < 0)
		turns = memfd_create("cprof turns", MFD_CLOEXEC);
	job->arg = arg;
	job->reply = share(sizeof(*job->reply));
	if (job->reply)
		job->reply->lease = -1;
	job->body = memfd_create("cprof body", MFD_CLOEXEC);
	job->snapshot = memfd_create("cprof dump", MFD_CLOEXEC);
	job->messages = memfd_create("cprof messages", MFD_CLOEXEC);
	job->worker = job->reply && turns >= 0 && job->body >= 0 && job->snapshot >= 0 &&
				      job->messages >= 0
			      ? fork()
			      : -1;
	if (!job->worker)
		work_on(job, r, server);
	if (job->worker < 0) {
		err = errno;
		ct_serve_jobs_release(job);
		errno = err;
		return NULL;
	}
	job->next = jobs;
	jobs = job;
	job_count++;
	return job;
}

unsigned ct_serve_jobs_count(void)
{
	return job_count;
}

void ct_serve_jobs_cancel(struct ct_serve_job *job)
{
	kill(job->worker, SIGTERM);
}

void ct_serve_jobs_cancel_all(void)
{
	for (struct ct_serve_job *job = jobs; job; job = job->next)
		kill(job->worker, SIGTERM);
}

/* The worker ended without a reply; its last message says why. */
static void say_why(struct ct_serve_job *job, int status)
{
	char text[512] = "", *line;
	ssize_t n = pread(job->messages, text, sizeof(text) - 1, 0);
	FILE *f;

	text[n > 0 ? n : 0] = '\0';
	line = strstr(text, "cprof: ") == text ? text + 7 : text;
	line[strcspn(line, "\n")] = '\0';
	ct_serve_reply_set(job->reply, 500, CT_SERVE_PLAIN, "");
	job->reply->error = true;
	if (ftruncate(job->body, 0) || lseek(job->body, 0, SEEK_SET) < 0)
		return;
	f = fdopen(dup(job->body), "w");
	if (!f)
		return;
	if (*line)
		fprintf(f, "%s\n", line);
	else if (WIFSIGNALED(status))
		fprintf(f, "the worker was ended by signal %d\n", WTERMSIG(status));
	else
		fputs("the worker failed\n", f);
	fclose(f);
}

struct ct_serve_job *ct_serve_jobs_ended(void)
{
	int status;
	pid_t pid = waitpid(-1, &status, WNOHANG);

	if (pid <= 0)
		return NULL;
	for (struct ct_serve_job **at = &jobs; *at; at = &(*at)->next) {
		struct ct_serve_job *job = *at;

		if (job->worker != pid)
			continue;
		*at = job->next;
		job_count--;
		if (status || !job->reply->status)
			say_why(job, status);
		return job;
	}
	return ct_serve_jobs_ended(); /* The child was no worker, so look for another one. */
}
