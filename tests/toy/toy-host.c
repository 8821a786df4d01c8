/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls getpid from several places, for toy.sh.
 *
 *   toy-host plain DUMP    a profile that the environment asks for; waits for the file DUMP
 *   toy-host api           starts, dumps and stops the toy mode itself
 */
#include <cprof.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host.h"

/* The line makes each function different: equal ones would be folded into one. */
static volatile pid_t last;
static volatile int sink;

#define ASKS(name)                                                                                 \
	__attribute__((noinline)) static void name(int calls)                                      \
	{                                                                                          \
		for (int i = 0; i < calls; i++)                                                    \
			last = getpid();                                                           \
		sink = __LINE__;                                                                   \
	}

ASKS(asks_often)
ASKS(asks_seldom)
ASKS(asks_later)
ASKS(thread_asks)
ASKS(child_asks)

static void *thread(void *arg)
{
	thread_asks(500);
	return arg;
}

static void work(void)
{
	pthread_t t;

	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	asks_often(1000);
	asks_seldom(100);
}

static void in_child(void)
{
	pid_t child = fork();
	int status = 1;

	if (!child) {
		child_asks(50);
		exit(0);
	}
	EXPECT(waitpid(child, &status, 0) == child && status == 0);
}

static void plain(const char *dump)
{
	work();
	raise(SIGUSR2);
	while (access(dump, R_OK))
		usleep(1000);
	asks_later(10);
	in_child();
}

/* A program that was built when the struct ended with RESERVED. */
static void old_program(void)
{
	struct cprof_options o = { .size = sizeof(o) };

	o.size = offsetof(struct cprof_options, toy_path);
	o.cpu_path = "cpu.pb";
	o.toy_path = "never.pb";
	EXPECT(cprof_start(&o) == 0);
	EXPECT(cprof_stop_mode(CPROF_TOY) == -ESRCH);
	o.size = offsetof(struct cprof_options, reserved);
	EXPECT(cprof_start(&o) == -EINVAL);
	o.size = sizeof(o) + sizeof(long);
	EXPECT(cprof_start(&o) == -EINVAL);
}

/* The CPU mode is on. */
static void by_number(void)
{
	struct cprof_stats s = { .size = sizeof(s) };
	struct cprof_options o = { .size = sizeof(o) };

	o.toy_path = "toy.pb";
	o.toy_every = 1001;
	EXPECT(cprof_start(&o) == -EINVAL);
	/* All samples of a thread fit into its ring: a collector that is late loses none. */
	o.toy_every = 5;
	EXPECT(cprof_dump_mode(CPROF_TOY, "early.pb") == -ESRCH);
	EXPECT(cprof_start(&o) == 0);
	EXPECT(cprof_start(&o) == -EALREADY);
	work();
	EXPECT(cprof_thread_pause() == 0);
	asks_later(10);
	EXPECT(cprof_thread_resume() == 0);
	EXPECT(cprof_dump_mode(CPROF_TOY, "asked.pb") == 0);
	EXPECT(cprof_get_mode_stats(CPROF_TOY, &s) == 0);
	EXPECT(s.samples == 320 && s.expiries == 1600 && s.period == 5 && s.lost_paused == 10);
	EXPECT(!s.lost_thread && !s.lost_ring && !s.lost_memory);
	EXPECT(cprof_stop_mode(CPROF_TOY) == 0);
	EXPECT(cprof_stop_mode(CPROF_TOY) == -ESRCH);
	EXPECT(cprof_stop_mode(7) == -EINVAL && cprof_get_mode_stats(7, &s) == -EINVAL);
	EXPECT(cprof_stop() == 0);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "plain")) {
		plain(argv[2]);
	} else {
		old_program();
		by_number();
	}
	HOST_END();
}
