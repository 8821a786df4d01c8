/* SPDX-License-Identifier: BSD-3-Clause */
/* A server that forks for each request. The parent's profile has the name that was asked for; each
 * child writes its own beside it, NAME.PID, and they can be read as one.
 *
 *     cc -O2 -g 08-fork-server.c -o 08-fork-server
 *     LD_PRELOAD=libcprof.so CPUPROFILE=08-fork-server.pb ./08-fork-server
 *       -> 3 children
 *     cprof merge -o all.pb 08-fork-server.pb.*
 *     cprof top all.pb
 *       -> handle_request
 */
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sum;

__attribute__((noinline)) static void handle_request(void)
{
	clock_t end = clock() + CLOCKS_PER_SEC / 5;

	while (clock() < end)
		for (unsigned i = 0; i < 1000; i++)
			sum += i;
}

int main(void)
{
	int ended = 0;

	for (int i = 0; i < 3; i++) {
		if (fork() == 0) {
			handle_request();
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		ended++;
	printf("%d children\n", ended);
	return 0;
}
