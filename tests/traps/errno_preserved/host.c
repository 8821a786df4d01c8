/* SPDX-License-Identifier: BSD-3-Clause */
/* errno is what it was, whatever interrupts. */
#include "host.h"

static void *loop(void *arg)
{
	double end = host_clock(CLOCK_THREAD_CPUTIME_ID) + 0.4;
	struct host_tick tick = {};

	do
		for (int value = 1; value < 5000; value++) {
			errno = value;
			for (volatile int i = 0; i < 20; i++)
				;
			__asm__ volatile("" ::: "memory"); /* errno is read again */
			EXPECT(errno == value);
			if (host_failures)
				return NULL;
		}
	while (host_clock(CLOCK_THREAD_CPUTIME_ID) < end || !host_ticked(&tick));
	return NULL;
}

int main(void)
{
	pthread_t thread;

	EXPECT(errno == 0); /* a library's constructor has left it alone */
	pthread_create(&thread, NULL, loop, NULL);
	loop(NULL);
	pthread_join(thread, NULL);
	HOST_END();
}
