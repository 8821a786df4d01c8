/* SPDX-License-Identifier: BSD-3-Clause */
/* Linked with the library: a thread blocks every signal, and then the profile is started. */
/* Nor does the blocked thread touch its mask again. */
#define HOST_BURNS_EXACTLY
#include "cprof.h"
#include "host.h"

static volatile int ready, started;

__attribute__((noinline)) static void *early_blocked(void *arg)
{
	sigset_t full;

	sigfillset(&full);
	pthread_sigmask(SIG_SETMASK, &full, NULL);
	ready = 1;
	while (!started)
		usleep(1000);
	burn(1);
	return arg;
}

__attribute__((noinline)) static void main_work(void)
{
	burn_and_tick(0.1);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	struct cprof_options o = CPROF_OPTIONS_INIT;
	pthread_t early;

	o.cpu_path = argv[1];
	o.frequency = 1000;
	EXPECT(pthread_create(&early, NULL, early_blocked, NULL) == 0);
	while (!ready)
		usleep(1000);
	EXPECT(cprof_start(&o) == 0);
	started = 1;
	main_work();
	pthread_join(early, NULL);
	EXPECT(cprof_stop() == 0);
	HOST_END();
}
