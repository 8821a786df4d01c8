/* SPDX-License-Identifier: BSD-3-Clause */
/* Linked with the library: threads exist before the profile is started, and one more starts it. */
#include "cprof.h"
#include "host.h"

static volatile int stop;

__attribute__((noinline)) static void *early_thread(void *arg)
{
	while (!stop)
		burn(0.01);
	burn_and_tick(0);
	return arg;
}

__attribute__((noinline)) static void *starter_thread(void *path)
{
	struct cprof_options o = CPROF_OPTIONS_INIT;

	o.cpu_path = path;
	o.frequency = 1000;
	EXPECT(cprof_start(&o) == 0);
	burn(0.1);
	return NULL;
}

__attribute__((noinline)) static void main_work(void)
{
	burn(0.2);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	pthread_t early[2], starter;

	for (int i = 0; i < 2; i++)
		EXPECT(pthread_create(&early[i], NULL, early_thread, NULL) == 0);
	usleep(20000);
	EXPECT(pthread_create(&starter, NULL, starter_thread, argv[1]) == 0);
	pthread_join(starter, NULL);
	main_work();
	stop = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(early[i], NULL);
	if (argc > 2)
		quick_exit(host_failures ? 1 : 0);
	EXPECT(cprof_stop() == 0);
	HOST_END();
}
