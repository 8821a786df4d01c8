/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that is pushed while it runs: it looks for children, signals and descriptors that are
 * not its own.
 *
 *   push-host SECONDS [fork]   works, until the file "go" is there if SECONDS is 0
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host.h"

static volatile sig_atomic_t children_ended;

static void count(int sig)
{
	(void)sig;
	children_ended++;
}

static int descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* A wait for any kind of child finds none. */
static void check_alone(void)
{
	EXPECT(waitpid(-1, NULL, __WALL | WNOHANG) == -1 && errno == ECHILD);
}

__attribute__((noinline)) static void work(double seconds)
{
	if (seconds > 0)
		burn(seconds);
	else
		while (access("go", F_OK))
			burn(0.02);
}

int main(int argc, char **argv)
{
	struct sigaction a = { .sa_handler = count };
	int before = descriptors();
	pid_t child;

	sigaction(SIGCHLD, &a, NULL);
	if (argc > 2 && !strcmp(argv[2], "fork")) {
		child = fork();
		if (!child) {
			work(atof(argv[1]));
			return 0;
		}
		work(atof(argv[1]));
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
		EXPECT(children_ended == 1);
	} else {
		work(atof(argv[1]));
		EXPECT(!children_ended);
	}
	check_alone();
	EXPECT(descriptors() == before);
	puts("done");
	fflush(stdout);
	return host_failures ? 1 : 3;
}
