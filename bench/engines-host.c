/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs that are hard to sample, with the truth of what they did.
 *
 *   engines-host turns SECONDS [MS]       70 % in seventy, 30 % in thirty, every MS (4) of CPU time
 *   engines-host bursts SECONDS           1 ms of work, then a sleep of random length
 *   engines-host between SECONDS          1 ms of work, each between two ticks of the kernel; after
 *                                         ten of them as long in across, around a tick
 *   engines-host threads SECONDS MS       threads that live so long, one after the other
 *   engines-host together SECONDS N       N threads at once
 *
 *   engines-host loop COUNT               a fixed amount of work
 *   engines-host switches COUNT           so many round trips between two threads on one CPU
 *
 * SECONDS: of CPU time in all. Prints for each function how many seconds it had, by the clock of
 * its thread, and, where TASK_CLOCK is set and the kernel allows, by a perf event that counts: the
 * two differ, since a thread that was woken is charged by its CPU clock from then on, though
 * another works on until the switch. The last two say how many ns of the process's CPU time a round
 * took.
 */
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS 1000000000u

static uint64_t total_ns;
static double had[2]; /* ns of seventy or work, and of thirty or across */
static const char *names[2] = { "work", "-" };

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * NS + (uint64_t)t.tv_nsec;
}

static __thread int task_fd;

static void open_task_clock(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_TASK_CLOCK };

	task_fd = getenv("TASK_CLOCK") ? (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1,
						      PERF_FLAG_FD_CLOEXEC)
				       : -1;
}

/* The two clocks of this thread, one after the other. */
struct clocks {
	uint64_t cpu, task;
};
/* How far each went in each function, and what reading them takes: of both the same. */
static struct clocks went[2];

static struct clocks clocks(void)
{
	struct clocks c = { now(CLOCK_THREAD_CPUTIME_ID), 0 };

	if (task_fd >= 0 && read(task_fd, &c.task, sizeof(c.task)) != sizeof(c.task))
		c.task = 0;
	return c;
}

/* Since BEGIN it was INDEX, of the names, that worked. */
static void count_clocks(struct clocks begin, int index)
{
	struct clocks end = clocks();

	__atomic_add_fetch(&went[index].cpu, end.cpu - begin.cpu, __ATOMIC_RELAXED);
	__atomic_add_fetch(&went[index].task, end.task - begin.task, __ATOMIC_RELAXED);
}

static uint64_t until(uint64_t end)
{
	volatile unsigned sum = 0;
	uint64_t t;

	do
		for (unsigned i = 0; i < 500; i++)
			sum += i;
	while ((t = now(CLOCK_THREAD_CPUTIME_ID)) < end);
	return t;
}

#define FUNCTION(name)                                                                             \
	__attribute__((noinline, noipa)) uint64_t name(uint64_t end);                              \
	__attribute__((noinline, noipa)) uint64_t name(uint64_t end)                               \
	{                                                                                          \
		uint64_t t = until(end);                                                           \
                                                                                                   \
		__asm__ volatile("");                                                              \
		return t;                                                                          \
	}
FUNCTION(seventy)
FUNCTION(thirty)
FUNCTION(work)
FUNCTION(across)

static void turns(uint64_t each)
{
	uint64_t begin = now(CLOCK_THREAD_CPUTIME_ID), t = begin;

	names[0] = "seventy";
	names[1] = "thirty";
	for (uint64_t at = begin; at < begin + total_ns; at += each) {
		uint64_t before = t, middle;
		struct clocks c = clocks();

		middle = seventy(at + each / 10 * 7);
		count_clocks(c, 0);
		c = clocks();
		t = thirty(at + each);
		count_clocks(c, 1);
		had[0] += (double)(middle - before);
		had[1] += (double)(t - middle);
	}
}

/* FUNCTION, which is the program's INDEXth, works for NS: how long it was. */
static uint64_t work_for(uint64_t ns, uint64_t (*function)(uint64_t), int index)
{
	struct clocks c = clocks();
	uint64_t begin = now(CLOCK_THREAD_CPUTIME_ID), took = function(begin + ns) - begin;

	count_clocks(c, index);
	had[index] += (double)took;
	return took;
}

static void bursts(void)
{
	uint64_t done = 0;

	while (done < total_ns) {
		struct timespec pause = { 0, 200000 + random() % 6000000 };

		done += work_for(1000000, work, 0);
		nanosleep(&pause, NULL);
	}
}

#define PARTS 40
static uint64_t tick_ns;
static volatile unsigned expiries[PARTS], expired;

static void on_expiry(int sig)
{
	uint64_t part = now(CLOCK_MONOTONIC) % tick_ns * PARTS / tick_ns;

	(void)sig;
	expiries[part] = expiries[part] + 1;
	expired = expired + 1;
}

/* When the kernel's tick comes on this CPU, within the tick's length: timers on CPU clocks expire
 * with it, most of them unless something else runs first. */
static uint64_t phase_of_tick(void)
{
	struct itimerspec often = { { 0, 100000 }, { 0, 100000 } };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM };
	unsigned best = 0;
	timer_t timer;

	signal(SIGALRM, on_expiry);
	if (timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer) ||
	    timer_settime(timer, 0, &often, NULL))
		exit(3);
	while (expired < 100)
		;
	timer_delete(timer);
	for (unsigned i = 1; i < PARTS; i++)
		if (expiries[i] > expiries[best])
			best = i;
	return best * tick_ns / PARTS;
}

/* Until AT within the next tick that is not begun. */
static void sleep_till(uint64_t at)
{
	uint64_t t = now(CLOCK_MONOTONIC), next = t - t % tick_ns + at;
	struct timespec wake;

	while (next <= t)
		next += tick_ns;
	wake = (struct timespec){ (time_t)(next / NS), (long)(next % NS) };
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, NULL);
}

static void between(void)
{
	uint64_t phase, quarter, done = 0;
	struct timespec tick;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
	tick_ns = (uint64_t)tick.tv_nsec;
	quarter = tick_ns / 4;
	phase = phase_of_tick();
	names[1] = "across";
	for (unsigned i = 1; done < total_ns; i++) {
		sleep_till(i % 11 ? phase + quarter : phase + tick_ns - quarter / 2);
		done += work_for(quarter, i % 11 ? work : across, i % 11 == 0);
	}
}

static uint64_t each_ns;
static uint64_t sum_ns;

/* Its work begins when it begins, and not with the thread: to set a timer costs a thread more that
 * is due soon, and so just those that can be hit would do less of it until a given time. */
static void *thread(void *arg)
{
	uint64_t begin, end;
	struct clocks c;

	open_task_clock();
	c = clocks();
	begin = now(CLOCK_THREAD_CPUTIME_ID);
	end = work(begin + each_ns);
	count_clocks(c, 0);
	__atomic_add_fetch(&sum_ns, end - begin, __ATOMIC_RELAXED);
	close(task_fd);
	return arg;
}

static void threads(uint64_t count, int together)
{
	pthread_t *t = calloc(count, sizeof(*t));

	for (uint64_t i = 0; i < count; i++) {
		if (pthread_create(&t[i], NULL, thread, NULL))
			exit(3);
		if (!together)
			pthread_join(t[i], NULL);
	}
	for (uint64_t i = 0; together && i < count; i++)
		pthread_join(t[i], NULL);
	had[0] = (double)sum_ns;
	free(t);
}

static int there[2], back[2];

static void *answer(void *arg)
{
	char byte;

	while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1)
		;
	return arg;
}

static void switches(uint64_t count)
{
	pthread_t t;
	char byte = 0;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	if (pipe(there) || pipe(back) || pthread_create(&t, NULL, answer, NULL))
		exit(3);
	for (uint64_t i = 0; i < count; i++)
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			exit(3);
	close(there[1]);
	pthread_join(t, NULL);
}

__attribute__((noinline)) static void loop(uint64_t count)
{
	volatile uint64_t x = 1;

	for (uint64_t i = 0; i < count * 1000; i++)
		x = x * 3 + i;
}

static void timed(void (*round)(uint64_t), uint64_t count)
{
	uint64_t begin = now(CLOCK_PROCESS_CPUTIME_ID);

	round(count);
	printf("%.1f\n", (double)(now(CLOCK_PROCESS_CPUTIME_ID) - begin) / (double)count);
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[1] : "";
	double last = argc > 3 ? atof(argv[3]) : 1;

	total_ns = argc > 2 ? (uint64_t)(atof(argv[2]) * NS) : 0;
	srandom((unsigned)time(NULL));
	open_task_clock();
	if (!strcmp(how, "turns"))
		turns((uint64_t)((argc > 3 ? last : 4) * 1e6));
	else if (!strcmp(how, "bursts"))
		bursts();
	else if (!strcmp(how, "between"))
		between();
	else if (!strcmp(how, "threads") && (each_ns = (uint64_t)(last * 1e6)))
		threads(total_ns / each_ns, 0);
	else if (!strcmp(how, "together") && (each_ns = total_ns / (uint64_t)last))
		threads((uint64_t)last, 1);
	else if (!strcmp(how, "loop"))
		timed(loop, (uint64_t)atoll(argv[2]));
	else if (!strcmp(how, "switches"))
		timed(switches, (uint64_t)atoll(argv[2]));
	else
		return 3;
	for (int i = 0; i < 2 && had[i] > 0; i++)
		printf("%s %.6f %.6f\n", names[i], had[i] / NS,
		       had[i] / NS * (double)went[i].task / (double)went[i].cpu);
	return 0;
}
