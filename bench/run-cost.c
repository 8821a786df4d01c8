/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a command some times, its output thrown away, and prints what each run took:
 * CPU us, wall-clock us, and peak resident KiB.
 *
 * Usage: run-cost TIMES [NAME=VALUE...] COMMAND...
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long us(struct timeval t)
{
	return t.tv_sec * 1000000 + t.tv_usec;
}

static long wall_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void run(char **command)
{
	int null = open("/dev/null", O_RDWR);

	dup2(null, 0);
	dup2(null, 1);
	dup2(null, 2);
	for (; *command && strchr(*command, '='); command++)
		putenv(*command);
	if (*command)
		execvp(*command, command);
	_exit(127);
}

int main(int argc, char **argv)
{
	int times = argc > 2 ? atoi(argv[1]) : 0;

	for (int i = 0; i < times; i++) {
		long begin = wall_us();
		struct rusage used;
		pid_t pid = fork();
		int status;

		if (!pid)
			run(argv + 2);
		while (wait4(pid, &status, 0, &used) < 0 && errno == EINTR)
			;
		if (pid < 0 || !WIFEXITED(status) || WEXITSTATUS(status) > 1) {
			fprintf(stderr, "run-cost: %s failed\n", argv[argc - 1]);
			return 1;
		}
		printf("%ld %ld %ld\n", us(used.ru_utime) + us(used.ru_stime), wall_us() - begin,
		       used.ru_maxrss);
	}
	return 0;
}
