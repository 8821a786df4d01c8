/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs some commands at the same time on one processor, again and again, and prints the CPU time of
 * each: a line "ROUND NAME us" each. They take turns there every few milliseconds, so other work on
 * the machine, and the host's clock, affect all of them alike: their ratio is known to a per cent,
 * whereas runs one after the other differ by ten. Work that depends on real time (the wall mode's
 * visits) is a larger part of a run if there are more commands.
 *
 * Usage: beside ROUNDS NAME [NAME=VALUE...] COMMAND... [-- NAME [NAME=VALUE...] COMMAND...]...
 * In a COMMAND @ stands for the name.
 */
#include "one_processor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST 32

static struct {
	char **argv; /* its name first */
	pid_t pid;
	long us;
} commands[MOST];
static int count;

static long us(struct timeval t)
{
	return t.tv_sec * 1000000 + t.tv_usec;
}

static char *with_name(char *argument, const char *name)
{
	char *at = strchr(argument, '@'), *made;

	if (!at || asprintf(&made, "%.*s%s%s", (int)(at - argument), argument, name, at + 1) < 0)
		return argument;
	return made;
}

static void run(char **argv)
{
	int null = open("/dev/null", O_RDWR);
	const char *name = *argv++;

	dup2(null, 0);
	dup2(null, 1);
	dup2(null, 2);
	for (char **a = argv; *a; a++)
		*a = with_name(*a, name);
	for (; *argv && strchr(*argv, '='); argv++)
		putenv(*argv);
	if (*argv)
		execvp(*argv, argv);
	_exit(127);
}

static void start(int i)
{
	commands[i].pid = fork();
	if (!commands[i].pid)
		run(commands[i].argv);
}

/* false: one failed. */
static int wait_for_all(void)
{
	for (int left = count; left;) {
		struct rusage used;
		int status;
		pid_t pid = wait4(-1, &status, 0, &used);

		if (pid < 0 && errno == EINTR)
			continue;
		if (pid < 0)
			return 0;
		for (int i = 0; i < count; i++) {
			if (commands[i].pid != pid)
				continue;
			commands[i].us = us(used.ru_utime) + us(used.ru_stime);
			left--;
			if (!WIFEXITED(status) || WEXITSTATUS(status) > 1) {
				fprintf(stderr, "beside: %s failed\n", commands[i].argv[0]);
				return 0;
			}
		}
	}
	return 1;
}

static void take_commands(char **argv)
{
	while (*argv && count < MOST) {
		commands[count++].argv = argv;
		while (*argv && strcmp(*argv, "--"))
			argv++;
		if (*argv)
			*argv++ = NULL;
	}
}

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? atoi(argv[1]) : 0;

	take_commands(argv + (argc > 2 ? 2 : argc));
	one_processor_stay();
	for (int round = 1; round <= rounds; round++) {
		for (int i = 0; i < count; i++)
			start((i + round) % count);
		if (!wait_for_all())
			return 1;
		for (int i = 0; i < count; i++)
			printf("%d %s %ld\n", round, commands[i].argv[0], commands[i].us);
		fflush(stdout);
	}
	return 0;
}
