/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs the command; see verbs.h. */
#include "verbs/verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Time between SIGTERM and SIGKILL. */
#define GRACE_SECONDS 10.0

static const int passed_on[] = { SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1,
				 SIGUSR2, SIGALRM, SIGCONT, SIGWINCH };

#define PASSED_ON (sizeof(passed_on) / sizeof(*passed_on))

/* Runs in the child; never returns. */
static void become(const char *program, char *const argv[], char *const settings[],
		   const sigset_t *mask, int report)
{
	int error;

	for (; *settings; settings++)
		putenv(*settings);
	sigprocmask(SIG_SETMASK, mask, NULL);
	execv(program, argv);
	error = errno;
	/* The shell runs a script without "#!", as everywhere. A program for another machine is not
	 * run. */
	if (error == ENOEXEC && !ct_preload_is_elf(program))
		execvp(program, argv);
	if (write(report, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

/* Returns the child's errno from exec, or 0 if the command was started. */
static int exec_error(int from)
{
	int error = 0;
	ssize_t n;

	do
		n = read(from, &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(error) ? error : 0;
}

struct watch {
	pid_t pid;
	sigset_t awaited;
	double term_at, kill_at; /* 0 = never */
	struct ct_ended *end;
};

static void take_signal(struct watch *w, const siginfo_t *si)
{
	/* The terminal sends its signals to the whole foreground group, which contains both the
	 * command and cprof. */
	if (si->si_signo == SIGCHLD || si->si_code == SI_KERNEL)
		return;
	kill(w->pid, si->si_signo);
}

static void take_time(struct watch *w)
{
	double t = ct_now();

	if (w->kill_at && t >= w->kill_at) {
		kill(w->pid, SIGKILL);
		w->kill_at = 0;
	} else if (w->term_at && t >= w->term_at) {
		w->end->by_us = true;
		kill(w->pid, SIGTERM);
		w->term_at = 0;
		w->kill_at = t + GRACE_SECONDS;
	}
}

static void await(struct watch *w)
{
	while (waitpid(w->pid, &w->end->status, WNOHANG) != w->pid) {
		double at = w->term_at ? w->term_at : w->kill_at, left = at - ct_now();
		struct timespec t = { 3600, 0 };
		siginfo_t si;

		if (at)
			t = left > 0 ? (struct timespec){ (time_t)left,
							  (long)((left - (double)(time_t)left) *
								 1e9) }
				     : (struct timespec){ 0, 0 };
		if (sigtimedwait(&w->awaited, &si, &t) > 0)
			take_signal(w, &si);
		take_time(w);
	}
}

int ct_run_command(const char *program, char *const argv[], char *const settings[], double seconds,
		   struct ct_ended *end)
{
	struct watch w = { .end = end, .term_at = seconds > 0 ? ct_now() + seconds : 0 };
	int report[2], error = 0;
	sigset_t before;

	*end = (struct ct_ended){ 0 };
	if (pipe2(report, O_CLOEXEC))
		return -errno;
	/* SIGCHLD must not be ignored, or waitpid would get no status. */
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&w.awaited);
	sigaddset(&w.awaited, SIGCHLD);
	for (unsigned i = 0; i < PASSED_ON; i++)
		sigaddset(&w.awaited, passed_on[i]);
	sigprocmask(SIG_BLOCK, &w.awaited, &before);
	w.pid = fork();
	if (!w.pid)
		become(program, argv, settings, &before, report[1]);
	if (w.pid < 0)
		error = -errno;
	close(report[1]);
	if (!error) {
		end->error = exec_error(report[0]);
		await(&w);
	}
	close(report[0]);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return error;
}

int ct_run_command_end_like(const struct ct_ended *end)
{
	struct rlimit none = { 0, 0 };
	int sig = WIFSIGNALED(end->status) ? WTERMSIG(end->status) : 0;
	sigset_t set;

	if (!sig)
		return WEXITSTATUS(end->status);
	if (end->by_us && sig == SIGTERM)
		return 0;
	/* The command's core dump is the useful one, so this process leaves none. */
	setrlimit(RLIMIT_CORE, &none);
	signal(sig, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	raise(sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	return 128 + sig;
}
