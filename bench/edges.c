/* SPDX-License-Identifier: BSD-3-Clause */
/* What programs do at the edges of profiling; bench/edges.sh runs it under each profiler.
 *
 *   edges exec N [VAR=VALUE...]   starts /bin/true N times, with these variables: CPU us of each
 *   edges fork N                  fork, _exit, waitpid: median and 99th percentile, us
 *   edges thread N [timer]        creates and joins an empty thread: CPU us of the process; with
 *                                 a timer on its CPU clock, made, set and deleted by the thread
 *   edges mask N                  pthread_sigmask of one signal, of all, and sigaction: ns a call
 *   edges deep DEPTH N            malloc and free under DEPTH frames, one repeated stack: ns
 *   edges ping N                  two threads and two semaphores: us a round
 *   edges wake HZ SECONDS         wake-ups by the kernel alone: CPU time in % of a core
 *
 * Prints its figures on one line, or on two lines for "fork", three for "mask".
 */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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
	printf("%.1f\n", (children_us() - began) / n);
	return 0;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static int fork_and_exit(int n)
{
	double *took = calloc((size_t)n, sizeof(*took));

	for (int i = 0; i < n; i++) {
		double began = clock_us(CLOCK_MONOTONIC);
		pid_t pid = fork();

		if (!pid)
			_exit(0);
		if (waitpid(pid, NULL, 0) != pid)
			return 1;
		took[i] = clock_us(CLOCK_MONOTONIC) - began;
	}
	qsort(took, (size_t)n, sizeof(*took), by_value);
	printf("%.1f\n%.1f\n", took[n / 2], took[n - 1 - n / 100]);
	free(took);
	return 0;
}

static void *nothing(void *arg)
{
	return arg;
}

/* A thread that makes, sets and deletes a timer of its own CPU time, as a sampled one does. */
static void *timed(void *arg)
{
	struct sigevent event = { .sigev_notify = SIGEV_NONE };
	struct itimerspec when = { { 0, 10000000 }, { 1, 0 } };
	int timer;

	if (syscall(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event, &timer))
		abort();
	syscall(SYS_timer_settime, timer, 0, &when, NULL);
	syscall(SYS_timer_delete, timer);
	return arg;
}

static int make_threads(int n, void *(*start)(void *))
{
	double began = clock_us(CLOCK_PROCESS_CPUTIME_ID);

	for (int i = 0; i < n; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, start, NULL))
			return 1;
		pthread_join(thread, NULL);
	}
	printf("%.2f\n", (clock_us(CLOCK_PROCESS_CPUTIME_ID) - began) / n);
	return 0;
}

static void handler(int sig)
{
	(void)sig;
}

static double mask_ns(int n, const sigset_t *set)
{
	double began = clock_us(CLOCK_THREAD_CPUTIME_ID);
	sigset_t old;

	for (int i = 0; i < n; i++) {
		pthread_sigmask(SIG_BLOCK, set, &old);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
	}
	return (clock_us(CLOCK_THREAD_CPUTIME_ID) - began) * 1e3 / n / 2;
}

static int change_masks(int n)
{
	struct sigaction action = { .sa_handler = handler };
	sigset_t one, all;
	double began;

	sigemptyset(&one);
	sigaddset(&one, SIGUSR1);
	sigfillset(&all);
	printf("%.1f\n", mask_ns(n, &one));
	printf("%.1f\n", mask_ns(n, &all));
	began = clock_us(CLOCK_THREAD_CPUTIME_ID);
	for (int i = 0; i < n; i++)
		sigaction(SIGUSR2, &action, NULL);
	printf("%.1f\n", (clock_us(CLOCK_THREAD_CPUTIME_ID) - began) * 1e3 / n);
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

static sem_t ping, pong;

static void *answer(void *arg)
{
	for (int i = 0; i < *(int *)arg; i++) {
		sem_wait(&ping);
		sem_post(&pong);
	}
	return NULL;
}

static int play(int n)
{
	pthread_t thread;
	double began;

	sem_init(&ping, 0, 0);
	sem_init(&pong, 0, 0);
	if (pthread_create(&thread, NULL, answer, &n))
		return 1;
	began = clock_us(CLOCK_PROCESS_CPUTIME_ID);
	for (int i = 0; i < n; i++) {
		sem_post(&ping);
		sem_wait(&pong);
	}
	printf("%.3f\n", (clock_us(CLOCK_PROCESS_CPUTIME_ID) - began) / n);
	pthread_join(thread, NULL);
	return 0;
}

static int wake_up(double hz, double seconds)
{
	struct timespec pause = { 0, (long)(1e9 / hz) };

	for (int i = 0; i < hz * seconds; i++)
		nanosleep(&pause, NULL);
	printf("%.4f\n", clock_us(CLOCK_PROCESS_CPUTIME_ID) / 1e4 / seconds);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	int n = argc > 2 ? atoi(argv[2]) : 0;

	if (!strcmp(what, "exec"))
		return exec_true(n, argv + 3);
	if (!strcmp(what, "fork"))
		return fork_and_exit(n);
	if (!strcmp(what, "thread"))
		return make_threads(n, argc > 3 ? timed : nothing);
	if (!strcmp(what, "mask"))
		return change_masks(n);
	if (!strcmp(what, "deep") && argc > 3)
		return printf("%.1f\n", deep(n, atoi(argv[3]))) < 0;
	if (!strcmp(what, "ping"))
		return play(n);
	if (!strcmp(what, "wake") && argc > 3)
		return wake_up(n, atof(argv[3]));
	fprintf(stderr, "usage: edges exec|fork|thread|mask|deep|ping|wake ...\n");
	return 2;
}
