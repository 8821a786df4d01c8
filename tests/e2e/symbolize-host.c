/* SPDX-License-Identifier: BSD-3-Clause */
/* For symbolize.sh: samples in calls that the compiler must have inlined two deep, each on a line
 * of its own. The script looks for mix(), whose body begins two lines below its name, and for the
 * call of twice(). */
#include <stdio.h>
#include <stdlib.h>

static inline __attribute__((always_inline)) unsigned mix(unsigned x)
{
	x ^= x << 13;
	x ^= x >> 17;
	return x ^ x << 5;
}

static inline __attribute__((always_inline)) unsigned twice(unsigned x)
{
	return mix(mix(x) + 1);
}

__attribute__((noinline)) unsigned burn(unsigned n)
{
	unsigned s = 1;

	while (n--)
		s = twice(s);
	return s;
}

int main(int argc, char **argv)
{
	unsigned s = 0, n = 3000000;

	for (int i = argc > 1 ? atoi(argv[1]) : 15; i > 0; i--) {
		/* Else one call would do for all. */
		__asm__ volatile("" : "+r"(n));
		s += burn(n);
	}
	printf("%u\n", s);
	return 0;
}
