/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that is pushed while it runs: it looks for children, signals and descriptors that are
 * not its own.
 *
 *   push-host SECONDS [fork]   works, until the file "go" is there if SECONDS is 0, and until each
 *                              process has a CPU sample, if its CPU time is profiled
 */
#include <cprof.h>
#include <dirent.h>

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

/* A wait for any kind of child finds none. The task that starts a helper is soon gone. */
static void check_alone(void)
{
	siginfo_t si;
	int found = 0;

	for (int i = 0; i < 600 && !found; i++) {
		found = waitid(P_ALL, 0, &si, WEXITED | __WALL | WNOHANG | WNOWAIT);
		if (!found)
			usleep(10000);
	}
	EXPECT(found == -1 && errno == ECHILD);
}

/* How soon the kernel's tick meets this process is chance. */
static bool lacks_sample(void)
{
	int (*get)(int, struct cprof_stats *) = dlsym(RTLD_DEFAULT, "cprof_get_mode_stats");
	struct cprof_stats s = { .size = sizeof(s) };

	return getenv("CPUPROFILE") && get && !get(CPROF_CPU, &s) && !s.samples;
}

__attribute__((noinline)) static void work(double seconds)
{
	if (seconds > 0)
		burn(seconds);
	else
		while (access("go", F_OK))
			burn(0.02);
	while (lacks_sample())
		burn(0.01);
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
