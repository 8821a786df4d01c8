/* SPDX-License-Identifier: BSD-3-Clause */
/* A module of the storm: -DNAME=x makes x_burn, which only x_middle calls, which only x_entry
 * calls. */
#define GLUE(a, b) a##b
#define MAKE(a, b) GLUE(a, b)
#define EXPORT __attribute__((visibility("default")))

EXPORT long MAKE(NAME, _burn)(long n);
EXPORT long MAKE(NAME, _middle)(long n);
EXPORT long MAKE(NAME, _entry)(long n);

EXPORT __attribute__((noinline)) long MAKE(NAME, _burn)(long n)
{
	volatile long sum = 0;

	for (long i = 0; i < n; i++)
		sum += i * i;
	return sum;
}

EXPORT __attribute__((noinline)) long MAKE(NAME, _middle)(long n)
{
	return MAKE(NAME, _burn)(n) + 1;
}

EXPORT long MAKE(NAME, _entry)(long n)
{
	return MAKE(NAME, _middle)(n) + 1;
}
