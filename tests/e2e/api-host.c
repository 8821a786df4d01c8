/* SPDX-License-Identifier: BSD-3-Clause */
/* Every function of cprof.h, used as a program would; for api.sh. Files go to argv[1]. */
#include <cprof.h>

#include <stddef.h>

#include "host.h"

/* The line makes each function different: equal ones would be folded into one. */
static volatile unsigned long sink;

#define BURN(name)                                                                                 \
	__attribute__((noinline)) static void name(double seconds)                                 \
	{                                                                                          \
		double end = host_clock(CLOCK_THREAD_CPUTIME_ID) + seconds;                        \
		while (host_clock(CLOCK_THREAD_CPUTIME_ID) < end)                                  \
			for (int i = 0; i < 20000; i++)                                            \
				sink += (unsigned long)i + __LINE__;                               \
	}

BURN(before_start)
BURN(first_window)
BURN(second_window)
BURN(paused_part)
BURN(other_thread)
BURN(between)

static int failures;

static void expect(const char *what, int got, int want)
{
	if (got == want)
		return;
	printf("%s: %d, not %d\n", what, got, want);
	failures++;
}

static void *thread(void *go)
{
	other_thread(0.3);
	return NULL;
}

/* A thread that exists before the start is sampled too. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *early_thread(void *arg)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	return thread(arg);
}

static void refusals(const char *directory)
{
	struct cprof_options o = CPROF_OPTIONS_INIT;
	struct cprof_stats s = { 0 };

	expect("start without a path", cprof_start(&o), -EINVAL);
	o.cpu_path = directory;
	expect("start on a directory", cprof_start(&o), -EISDIR);
	o.cpu_path = "/nonexistent/x.pb";
	expect("start in no directory", cprof_start(&o), -ENOENT);
	o.cpu_path = "x.pb";
	o.frequency = 10001;
	expect("start at 10001 Hz", cprof_start(&o), -EINVAL);
	o.frequency = 0;
	o.unwind = "magic";
	expect("start with an unknown unwinder", cprof_start(&o), -EINVAL);
	o.unwind = NULL;
	o.size = 3;
	expect("start with a wrong size", cprof_start(&o), -EINVAL);
	o.size = offsetof(struct cprof_options, reserved);
	expect("start with too small a struct", cprof_start(&o), -EINVAL);
	o.size = sizeof(o) + sizeof(long);
	expect("start with a newer struct", cprof_start(&o), -EINVAL);
	expect("start from an empty environment", cprof_start(NULL), -EINVAL);
	expect("stop when stopped", cprof_stop(), -ESRCH);
	expect("dump when stopped", cprof_dump(NULL), -ESRCH);
	expect("dump of the last second when stopped", cprof_dump_last(1), -ESRCH);
	expect("dump to fd -1", cprof_dump_fd(-1), -EBADF);
	expect("resume without pause", cprof_thread_resume(), -EINVAL);
	expect("stats of size 0", cprof_get_stats(&s), -EINVAL);
	expect("stats of NULL", cprof_get_stats(NULL), -EINVAL);
}

/* A program that was built when the struct ended with RESERVED: what follows there isn't read. */
static void built_before(void)
{
	struct cprof_options o = CPROF_OPTIONS_INIT;

	o.size = offsetof(struct cprof_options, io_path);
	o.cpu_path = "before.pb";
	o.io_path = "never.pb";
	expect("start with an older struct", cprof_start(&o), 0);
	expect("stop the mode that it doesn't know", cprof_stop_mode(CPROF_IO), -ESRCH);
	expect("stop what it started", cprof_stop(), 0);
}

static void first(void)
{
	struct cprof_options o = CPROF_OPTIONS_INIT;
	pthread_t early, late;
	int fd;

	pthread_mutex_lock(&lock);
	pthread_create(&early, NULL, early_thread, NULL);
	o.cpu_path = "first.pb";
	o.frequency = 500;
	o.labels = "window=first,who=me";
	o.checkpoint_ms = CPROF_OFF;
	expect("start", cprof_start(&o), 0);
	expect("start twice", cprof_start(&o), -EALREADY);
	pthread_mutex_unlock(&lock);
	pthread_create(&late, NULL, thread, NULL);
	first_window(0.3);
	pthread_join(early, NULL);
	pthread_join(late, NULL);
	expect("numbered dump", cprof_dump(NULL), 0);
	expect("dump to a path", cprof_dump("asked.pb"), 0);
	expect("dump to no directory", cprof_dump("nowhere/x.pb"), -ENOENT);
	expect("dump on a directory", cprof_dump("."), -EISDIR);
	fd = open("fd.pb", O_CREAT | O_WRONLY | O_TRUNC, 0600);
	expect("dump to a descriptor", cprof_dump_fd(fd), 0);
	expect("the descriptor is still open", close(fd), 0);
	expect("pause", cprof_thread_pause(), 0);
	expect("pause again", cprof_thread_pause(), 0);
	paused_part(0.1);
	expect("resume", cprof_thread_resume(), 0);
	paused_part(0.1);
	expect("resume again", cprof_thread_resume(), 0);
	expect("stop", cprof_stop(), 0);
}

static void second(void)
{
	struct cprof_options o = CPROF_OPTIONS_INIT;

	o.cpu_path = "second.pb";
	o.frequency = 500;
	expect("start again", cprof_start(&o), 0);
	second_window(0.3);
	expect("stop again", cprof_stop(), 0);
}

static void statistics(void)
{
	struct cprof_stats s = { .size = sizeof(s) };

	expect("stats", cprof_get_stats(&s), 0);
	if (!s.samples || s.expiries < s.samples || s.period != 2000000)
		printf("stats: %llu samples, %llu expiries, period %llu\n",
		       (unsigned long long)s.samples, (unsigned long long)s.expiries,
		       (unsigned long long)s.period);
	expect("losses", (int)(s.lost_ring + s.lost_memory + s.lost_thread), 0);
	expect("paused expiries of the second window", (int)s.lost_paused, 0);
}

int main(int argc, char **argv)
{
	if (argc != 2 || chdir(argv[1]) < 0)
		return 2;
	expect("version", strcmp(cprof_version(), CPROF_VERSION), 0);
	refusals(argv[1]);
	before_start(0.1);
	built_before();
	first();
	between(0.1);
	second();
	statistics();
	if (!failures)
		puts("as expected");
	return failures != 0;
}
