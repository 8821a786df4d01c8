/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that try all the time to load MODULE, which lacks a function.
 *
 *   host MODULE SECONDS
 */
#include "host.h"

static const char *module;
static double end;

static void *opens(void *arg)
{
	while (host_clock(CLOCK_MONOTONIC) < end)
		EXPECT(!dlopen(module, RTLD_NOW));
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	if (argc < 3)
		return 2;
	module = argv[1];
	end = host_clock(CLOCK_MONOTONIC) + atof(argv[2]);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, opens, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	HOST_END();
}
