/* SPDX-License-Identifier: BSD-3-Clause */
/* Lets some programs take turns on one processor, in slices of a few milliseconds, and prints the
 * figures of each slice: a line "ROUND NAME FIGURE..." each. All programs live all the time, so
 * starts and ends are not in the figures; only one of them works at a time; in each round the order
 * is another one. What else the machine does, and the host's clock, then hit all alike, and the
 * differences within a round are known to a per cent where runs one after the other differ by ten.
 *
 * A program is told to do a slice by a byte on its stdin, and answers with a line "= FIGURE...";
 * other lines are ignored. At the end of its stdin it ends. One that fails is left out, and said.
 * With -a they may use all processors: for work that is measured by the clock on the wall, and
 * whose threads would otherwise wait for each other.
 *
 * Usage: turns [-a] ROUNDS NAME [NAME=VALUE...] COMMAND... [-- NAME [NAME=VALUE...] COMMAND...]...
 */
#include "one_processor.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST 64
#define WARM_UP 3 /* rounds that are not printed */

static struct player {
	char **argv; /* its name first */
	pid_t pid;
	int ask; /* -1: it has failed */
	FILE *answers;
} players[MOST];
static int count;

static void run(char **argv, int in, int out)
{
	int null = open("/dev/null", O_WRONLY);

	dup2(in, 0);
	dup2(out, 1);
	dup2(null, 2);
	signal(SIGPIPE, SIG_DFL);
	for (argv++; *argv && strchr(*argv, '='); argv++)
		putenv(*argv);
	if (*argv)
		execvp(*argv, argv);
	_exit(127);
}

static int start(struct player *p)
{
	int to[2], from[2];

	if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC))
		return -1;
	p->pid = fork();
	if (!p->pid)
		run(p->argv, to[0], from[1]);
	close(to[0]);
	close(from[1]);
	p->ask = to[1];
	p->answers = fdopen(from[0], "r");
	return p->pid < 0 || !p->answers ? -1 : 0;
}

static void leave_out(struct player *p)
{
	fprintf(stderr, "turns: %s failed\n", p->argv[0]);
	close(p->ask);
	p->ask = -1;
}

static void take_turn(struct player *p, int round)
{
	static char line[4096];

	if (p->ask < 0)
		return;
	if (write(p->ask, "", 1) != 1) {
		leave_out(p);
		return;
	}
	do {
		if (!fgets(line, sizeof(line), p->answers)) {
			leave_out(p);
			return;
		}
	} while (line[0] != '=');
	if (round > 0)
		printf("%d %s%s", round, p->argv[0], line + 1);
}

static void shuffle(int *order)
{
	for (int i = count - 1; i > 0; i--) {
		int j = rand() % (i + 1), was = order[i];

		order[i] = order[j];
		order[j] = was;
	}
}

static void take_commands(char **argv)
{
	while (*argv && count < MOST) {
		players[count++].argv = argv;
		while (*argv && strcmp(*argv, "--"))
			argv++;
		if (*argv)
			*argv++ = NULL;
	}
}

int main(int argc, char **argv)
{
	int everywhere = argc > 1 && !strcmp(argv[1], "-a"), rounds, order[MOST];

	argv += everywhere;
	argc -= everywhere;
	rounds = argc > 2 ? atoi(argv[1]) : 0;
	take_commands(argv + (argc > 2 ? 2 : argc));
	if (!everywhere)
		one_processor_stay();
	signal(SIGPIPE, SIG_IGN);
	for (int i = 0; i < count; i++) {
		order[i] = i;
		if (start(&players[i]))
			return 1;
	}
	for (int round = 1 - WARM_UP; round <= rounds; round++) {
		shuffle(order);
		for (int i = 0; i < count; i++)
			take_turn(&players[order[i]], round);
	}
	for (int i = 0; i < count; i++)
		if (players[i].ask >= 0)
			close(players[i].ask);
	while (wait(NULL) > 0)
		;
	return 0;
}
