/* SPDX-License-Identifier: BSD-3-Clause */
/* What programs do at the edges of profiling; bench/edges.sh runs it under each profiler. It does a
 * slice of work for each byte on its stdin, and prints the slice's figures after a "=", as
 * bench/turns.c asks for; it ends at the end of stdin.
 *
 *   edges exec N [VAR=VALUE...]   starts /bin/true N times, with these variables: CPU us of each
 *   edges fork N                  fork, _exit, waitpid, N times: the median and each time, us
 *   edges thread N [alone]        creates and joins N empty threads: CPU us of each
 *   edges mask N [alone]          pthread_sigmask of one signal, of all, sigaction
 *                                 with an empty mask, with a full one: ns a call
 *   edges deep DEPTH N            malloc and free under DEPTH frames, one repeated stack: ns
 *   edges ping N [alone]          two threads and two semaphores: CPU us of a round
 *   edges wake HZ SECONDS LOOKS   wakes up, and each time reads the CPU clock of a waiting thread
 *                                 LOOKS times: CPU time in % of a core, once
 *
 * With "alone" it does, without a profiler, the system calls that the profiler can't do without: a
 * timer for each thread, a getpid before each call, a perf event for each thread. That is the bound
 * that the kernel sets.
 */
#include <linux/perf_event.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static bool alone;

static double clock_us(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static double children_us(void)
{
	struct rusage r;

	getrusage(RUSAGE_CHILDREN, &r);
	return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1e6 +
	       (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
}

static int exec_true(int n, char **environment)
{
	char *command[] = { "/bin/true", NULL };
	double began = children_us();

	for (int i = 0; i < n; i++) {
		pid_t pid;

		if (posix_spawn(&pid, command[0], NULL, NULL, command, environment) ||
		    waitpid(pid, NULL, 0) != pid)
			return 1;
	}
	printf("= %.1f\n", (children_us() - began) / n);
	return 0;
}

static double fork_us(void)
{
	double began = clock_us(CLOCK_MONOTONIC);
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	if (waitpid(pid, NULL, 0) != pid)
		abort();
	return clock_us(CLOCK_MONOTONIC) - began;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static int fork_and_exit(int n)
{
	double *us = calloc((size_t)n, sizeof(*us));

	fork_us(); /* another program had the caches */
	for (int i = 0; i < n; i++)
		us[i] = fork_us();
	qsort(us, (size_t)n, sizeof(*us), by_value);
	printf("= %.1f", us[n / 2]);
	for (int i = 0; i < n; i++)
		printf(" %.1f", us[i]);
	printf("\n");
	free(us);
	return 0;
}

static void *nothing(void *arg)
{
	return arg;
}

/* A thread that makes, sets and deletes a timer of its own CPU time, as a sampled one does. */
static void *timed(void *arg)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF };
	struct itimerspec when = { { 0, 10000000 }, { 1, 0 } };
	int timer;

	event._sigev_un._tid = gettid();
	if (syscall(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event, &timer))
		abort();
	syscall(SYS_timer_settime, timer, 0, &when, NULL);
	syscall(SYS_timer_delete, timer);
	return arg;
}

static int make_threads(int n)
{
	void *(*start)(void *) = alone ? timed : nothing;
	double began = clock_us(CLOCK_PROCESS_CPUTIME_ID);

	for (int i = 0; i < n; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, start, NULL))
			return 1;
		pthread_join(thread, NULL);
	}
	printf("= %.2f\n", (clock_us(CLOCK_PROCESS_CPUTIME_ID) - began) / n);
	return 0;
}

static void handler(int sig)
{
	(void)sig;
}

static void ask_pid(void)
{
	if (alone)
		syscall(SYS_getpid);
}

static double mask_ns(int n, const sigset_t *set)
{
	double began = clock_us(CLOCK_THREAD_CPUTIME_ID);
	sigset_t old;

	for (int i = 0; i < n; i++) {
		ask_pid();
		pthread_sigmask(SIG_BLOCK, set, &old);
		ask_pid();
		pthread_sigmask(SIG_SETMASK, &old, NULL);
	}
	return (clock_us(CLOCK_THREAD_CPUTIME_ID) - began) * 1e3 / n / 2;
}

static double action_ns(int n, const sigset_t *set)
{
	struct sigaction action = { .sa_handler = handler, .sa_mask = *set };
	double began = clock_us(CLOCK_THREAD_CPUTIME_ID);

	for (int i = 0; i < n; i++) {
		ask_pid();
		sigaction(SIGUSR2, &action, NULL);
	}
	return (clock_us(CLOCK_THREAD_CPUTIME_ID) - began) * 1e3 / n;
}

static int change_masks(int n)
{
	sigset_t none, one, all;

	sigemptyset(&none);
	sigemptyset(&one);
	sigaddset(&one, SIGUSR1);
	sigfillset(&all);
	printf("= %.1f", mask_ns(n, &one));
	printf(" %.1f", mask_ns(n, &all));
	printf(" %.1f", action_ns(n, &none));
	printf(" %.1f\n", action_ns(n, &all));
	return 0;
}

__attribute__((noinline)) static double pairs_ns(int n)
{
	double began = clock_us(CLOCK_THREAD_CPUTIME_ID);

	for (int i = 0; i < n; i++) {
		void *volatile p = malloc(48);

		free(p);
	}
	return (clock_us(CLOCK_THREAD_CPUTIME_ID) - began) * 1e3 / n;
}

__attribute__((noinline)) static double deep(int depth, int n)
{
	volatile double ns = depth > 0 ? deep(depth - 1, n) : pairs_ns(n);

	return ns;
}

static int allocate_below(int depth, int n)
{
	return printf("= %.1f\n", deep(depth, n)) < 0;
}

/* An event that counts this thread's CPU time and has a sample 99 times a second, which nobody
 * reads: what the kernel takes for it at each switch between threads. */
static void have_event(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_TASK_CLOCK,
					.sample_period = 1000000000 / 99,
					.sample_type = PERF_SAMPLE_CALLCHAIN,
					.exclude_callchain_user = 1 };

	if (alone && syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC) < 0)
		exit(1);
}

static sem_t ping, pong;

static void *answer(void *arg)
{
	have_event();
	for (;;) {
		sem_wait(&ping);
		sem_post(&pong);
	}
	return arg;
}

static void begin_to_play(void)
{
	pthread_t thread;

	sem_init(&ping, 0, 0);
	sem_init(&pong, 0, 0);
	if (pthread_create(&thread, NULL, answer, NULL))
		abort();
	have_event();
}

static int play(int n)
{
	double began = clock_us(CLOCK_PROCESS_CPUTIME_ID);

	for (int i = 0; i < n; i++) {
		sem_post(&ping);
		sem_wait(&pong);
	}
	printf("= %.3f\n", (clock_us(CLOCK_PROCESS_CPUTIME_ID) - began) / n);
	return 0;
}

static void *wait_for_ever(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static int wake_up(double hz, double seconds, int looks)
{
	struct timespec pause = { 0, (long)(1e9 / hz) }, t;
	pthread_t thread;
	clockid_t clock;

	if (pthread_create(&thread, NULL, wait_for_ever, NULL) ||
	    pthread_getcpuclockid(thread, &clock))
		return 1;
	for (int i = 0; i < hz * seconds; i++) {
		nanosleep(&pause, NULL);
		for (int j = 0; j < looks; j++)
			clock_gettime(clock, &t);
	}
	printf("%.4f\n", clock_us(CLOCK_PROCESS_CPUTIME_ID) / 1e4 / seconds);
	return 0;
}

static int slice(const char *what, int n, char **rest)
{
	if (!strcmp(what, "exec"))
		return exec_true(n, rest);
	if (!strcmp(what, "fork"))
		return fork_and_exit(n);
	if (!strcmp(what, "thread"))
		return make_threads(n);
	if (!strcmp(what, "mask"))
		return change_masks(n);
	if (!strcmp(what, "deep") && rest[0])
		return allocate_below(n, atoi(rest[0]));
	if (!strcmp(what, "ping"))
		return play(n);
	fprintf(stderr, "usage: edges exec|fork|thread|mask|deep|ping|wake ...\n");
	return 2;
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	int n = argc > 2 ? atoi(argv[2]) : 0, err = 0;
	char turn;

	if (!strcmp(what, "wake") && argc > 4)
		return wake_up(n, atof(argv[3]), atoi(argv[4]));
	alone = argc > 3 && !strcmp(argv[3], "alone");
	if (!strcmp(what, "ping"))
		begin_to_play();
	while (!err && read(0, &turn, 1) == 1) {
		err = slice(what, n, argc > 2 ? argv + 3 : argv);
		fflush(stdout);
	}
	return err;
}
