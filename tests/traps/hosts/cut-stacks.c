/* SPDX-License-Identifier: BSD-3-Clause */
/* Burns CPU under a stack of so many frames.
 *
 *   cut-stacks DEPTH
 */
#include "tick.h"

__attribute__((noinline)) static int burn_deep(int n)
{
	struct host_tick tick = {};
	volatile int sum = 0;

	if (n > 0) {
		sum = burn_deep(n - 1);
		/* Not a loop. */
		__asm__ volatile("" ::: "memory");
		return sum + 1;
	}
	for (clock_t end = clock() + CLOCKS_PER_SEC / 5; clock() < end || !host_ticked(&tick);)
		for (int i = 0; i < 100000; i++)
			sum += i;
	return sum;
}

int main(int argc, char **argv)
{
	return argc > 1 && burn_deep(atoi(argv[1])) == 7;
}
