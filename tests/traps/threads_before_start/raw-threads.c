/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that libc doesn't know of: made by clone(), with and without TLS of their own, as other
 * languages' runtimes make them. They work, end, and others come.
 *
 *   raw-threads [profiled | together]   profiled: wait until there is a timer for each thread, and
 *                                       then until it must have expired. together: the program has
 *                                       an ITIMER_PROF; wait until each must have met it
 */
#include <linux/futex.h>
#include <sys/time.h>

#include "system.h"
#include "raw-threads.h"

#define THREADS 2
#define CPU_SECONDS 0.05

static volatile int stop;
static volatile unsigned long turns[THREADS];

/* No libc in here: its TLS may not be this thread's, or not be there at all. */
__attribute__((noinline, optimize("no-stack-protector"))) static void raw_work(int i)
{
	while (!stop)
		turns[i]++;
}

__attribute__((optimize("no-stack-protector"))) static int raw_thread(void *arg)
{
	raw_work((int)(intptr_t)arg);
	return 0;
}

static void join(int i)
{
	int tid;

	while ((tid = __atomic_load_n(&tids[i], __ATOMIC_ACQUIRE)) != 0)
		syscall(SYS_futex, &tids[i], FUTEX_WAIT, tid, NULL, NULL, 0);
}

/* The profiler's timers are listed with the thread that they signal. */
static bool has_timer(int tid)
{
	FILE *f = fopen("/proc/self/timers", "r");
	char line[256], wanted[64];
	bool found = false;

	snprintf(wanted, sizeof(wanted), "tid.%d\n", tid);
	while (f && fgets(line, sizeof(line), f))
		found |= strstr(line, wanted) != NULL;
	if (f)
		fclose(f);
	return found;
}

static double cpu_of(int tid)
{
	return host_clock((clockid_t)((~(unsigned)tid << 3) | 6));
}

static void wait_for_samples(int tid, bool together)
{
	struct host_tick tick = { .of = tid };
	double since;

	for (int i = 0; i < 1000 && !together && !has_timer(tid); i++)
		usleep(10000);
	EXPECT(together || has_timer(tid));
	since = cpu_of(tid);
	for (int i = 0; i < 1000 && cpu_of(tid) < since + CPU_SECONDS; i++)
		usleep(10000);
	while (!host_ticked(&tick))
		usleep(10000);
}

static void on_prof(int sig)
{
	(void)sig;
}

static void signal_any_thread(void)
{
	struct sigaction act = { .sa_handler = on_prof, .sa_flags = SA_RESTART };
	struct itimerval often = { { 0, 1000 }, { 0, 1000 } };

	EXPECT(sigaction(SIGPROF, &act, NULL) == 0 && setitimer(ITIMER_PROF, &often, NULL) == 0);
}

static void wait_for_work(int i)
{
	for (int tries = 0; tries < 1000 && !turns[i]; tries++)
		usleep(10000);
	EXPECT(turns[i] > 0);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "together"))
		signal_any_thread();
	/* Two generations, so that a thread takes another's place. */
	for (int generation = 0; generation < 2; generation++) {
		stop = 0;
		turns[0] = turns[1] = 0;
		for (int i = 0; i < THREADS; i++)
			start(i);
		for (int i = 0; i < THREADS; i++)
			if (argc > 1)
				wait_for_samples(tids[i], !strcmp(argv[1], "together"));
		for (int i = 0; i < THREADS; i++)
			wait_for_work(i);
		stop = 1;
		for (int i = 0; i < THREADS; i++)
			join(i);
	}
	puts("raw threads are done");
	HOST_END();
}
