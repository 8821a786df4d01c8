/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that is slow but not busy: a CPU profile has next to nothing, a wall-clock profile has
 * all of it, running and waiting.
 *
 *     cc -O2 -g 05-waits.c -o 05-waits
 *     LD_PRELOAD=libcprof.so WALLPROFILE=05-waits.pb WALLPROFILE_FREQUENCY=200 ./05-waits
 *       -> done
 *     cprof top -cum 05-waits.pb
 *       -> ask_the_database
 *     cprof top -cum -tagfocus=state=waiting 05-waits.pb
 *       -> ask_the_database
 *     cprof top -cum -tagfocus=state=running 05-waits.pb
 *       -> think
 */
#include <poll.h>
#include <stdio.h>
#include <time.h>

__attribute__((noinline)) static int ask_the_database(void)
{
	return poll(NULL, 0, 60) + 1; /* nobody answers */
}

__attribute__((noinline)) static unsigned think(void)
{
	clock_t end = clock() + CLOCKS_PER_SEC / 25;
	unsigned n = 0;

	while (clock() < end)
		n++;
	return n;
}

int main(void)
{
	unsigned n = 0;

	for (int i = 0; i < 10; i++) {
		n += (unsigned)ask_the_database();
		n += think();
	}
	printf("done%s\n", n ? "" : ", strangely");
	return 0;
}
