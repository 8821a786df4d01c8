/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes one call of its own, and otherwise work that makes the profiler work: threads, memory,
 * dumps.
 */
#include "host.h"

static void *thread(void *arg)
{
	burn(0.05);
	free(malloc(100000));
	return arg;
}

int main(void)
{
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		EXPECT(pthread_create(&t[i], NULL, thread, NULL) == 0);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	raise(SIGUSR2);
	burn(0.1);
	EXPECT(write(2, "", 0) == 0);
	HOST_END();
}
