/* SPDX-License-Identifier: BSD-3-Clause */
/* Becomes a user who may have eight tasks, makes threads until there is an error, and tells how
 * many there were; or the same with children, made by fork, clone, syscall or spawn. */
#include <spawn.h>
#include <sys/resource.h>

#include "tests/lib/host.h"

#define USER 54323
#define MOST 8

static void *wait_for_end(void *unused)
{
	pause();
	return unused;
}

static void make_threads(void)
{
	pthread_t thread[2 * MOST];
	int n = 0, err = 0;

	while (n < 2 * MOST && !(err = pthread_create(&thread[n], NULL, wait_for_end, NULL)))
		n++;
	printf("%d threads, then %s\n", n, err == EAGAIN ? "EAGAIN" : "something else");
}

static int wait_in_child(void *unused)
{
	pause();
	return unused != NULL;
}

/* The environment of a spawned program is empty: it has no tasks of the profiler's. */
static int make_child(const char *how)
{
	static char *const arguments[] = { "sleep", "60", NULL }, *const nothing[] = { NULL };
	static char stack[65536] __attribute__((aligned(16)));
	pid_t pid = -1;

	if (!strcmp(how, "fork"))
		return fork();
	if (!strcmp(how, "clone"))
		return clone(wait_in_child, stack + sizeof(stack), SIGCHLD, NULL);
	if (!strcmp(how, "syscall"))
		return (int)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	errno = posix_spawn(&pid, "/bin/sleep", NULL, NULL, arguments, nothing);
	return errno ? -1 : pid;
}

static void make_children(const char *how)
{
	int pids[2 * MOST], n = 0;

	while (n < 2 * MOST && (pids[n] = make_child(how)) > 0)
		n++;
	if (n < 2 * MOST && !pids[n]) {
		pause();
		_exit(0);
	}
	printf("%d children, then %s\n", n, errno == EAGAIN ? "EAGAIN" : "something else");
	for (int i = 0; i < n; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
}

int main(int argc, char **argv)
{
	struct rlimit l = { MOST, MOST };

	burn(0.05);
	if (setrlimit(RLIMIT_NPROC, &l) || setresuid(USER, USER, USER))
		return 77;
	if (argc > 1)
		make_children(argv[1]);
	else
		make_threads();
	burn(0.05);
	fflush(stdout);
	_exit(0);
}
