/* SPDX-License-Identifier: BSD-3-Clause */
/* Becomes a user who may have eight tasks, makes threads until there is an error, and tells how
 * many there were; then the same with children. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

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

static void make_children(void)
{
	int pids[2 * MOST], n = 0;

	while (n < 2 * MOST && (pids[n] = fork()) > 0)
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
		make_children();
	else
		make_threads();
	burn(0.05);
	fflush(stdout);
	_exit(0);
}
