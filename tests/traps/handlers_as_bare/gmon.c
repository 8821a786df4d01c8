/* SPDX-License-Identifier: BSD-3-Clause */
/* Built with -pg: libc takes SIGPROF and ITIMER_PROF by calls of its own, before main. Prints its
 * CPU time in hundredths of a second, as many as the ticks that gmon.out should hold. */
#include <stdio.h>
#include <time.h>

static volatile unsigned long sum;

__attribute__((noinline)) static void hot(long n)
{
	for (long i = 0; i < n; i++)
		sum = sum * 31 + (unsigned long)i;
}

int main(void)
{
	while (clock() < CLOCKS_PER_SEC * 4 / 10)
		hot(100000);
	printf("%ld\n", clock() / (CLOCKS_PER_SEC / 100));
	return 0;
}
