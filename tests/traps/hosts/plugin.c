/* SPDX-License-Identifier: BSD-3-Clause */
/* A module that burns CPU in one function of its own, for the hosts of the loader's traps.
 *
 * -DHOT=name is that function's name; -DWITH_TLS=bytes gives it thread-local storage; -DROOM=bytes
 * makes the frame of its caller so much larger, with the code where it is; with -DPARTING=name it
 * is busy in that function while it is unloaded.
 */
#include "tick.h"

#define EXPORT __attribute__((visibility("default")))

#ifdef WITH_TLS
/* As old OpenGL and OpenMP runtimes have it: room in the static TLS block, or no load. */
static __thread volatile char room[WITH_TLS] __attribute__((tls_model("initial-exec")));
#endif

EXPORT unsigned long HOT(unsigned long n);
EXPORT void work(long ms);
EXPORT int work_in_thread(long ms);

EXPORT __attribute__((noinline)) unsigned long HOT(unsigned long n)
{
	volatile unsigned long sum = 0;

	for (unsigned long i = 0; i < n; i++)
		sum += i * i;
	return sum;
}

static long cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* For so much CPU time of the calling thread, and on until the kernel has looked; -MS: only for MS.
 */
EXPORT __attribute__((noinline)) void work(long ms)
{
	long end = cpu_ms() + labs(ms);
	struct host_tick tick = {};

#ifdef ROOM
	void *volatile space[ROOM / sizeof(void *)];

	/* An unwinder that uses the rule of another frame finds a likely caller in each of these,
	 * and the test sees it. */
	for (unsigned i = 0; i < ROOM / sizeof(*space); i++)
		space[i] = __builtin_return_address(0);
#endif
#ifdef WITH_TLS
	room[0]++;
#endif
	do
		HOT(100000);
	while (cpu_ms() < end || (ms >= 0 && !host_ticked(&tick)));
}

#ifdef PARTING
EXPORT unsigned long PARTING(unsigned long n);

EXPORT __attribute__((noinline)) unsigned long PARTING(unsigned long n)
{
	return HOT(n) + 1;
}

__attribute__((destructor)) static void part(void)
{
	long end = cpu_ms() + 100;
	struct host_tick tick = {};

	do
		PARTING(100000);
	while (cpu_ms() < end || !host_ticked(&tick));
}
#endif

static void *in_thread(void *ms)
{
	work(*(long *)ms);
	return NULL;
}

/* The same in a thread that this module makes. */
EXPORT int work_in_thread(long ms)
{
	pthread_t thread;
	int err = pthread_create(&thread, NULL, in_thread, &ms);

	return err ? err : pthread_join(thread, NULL);
}
