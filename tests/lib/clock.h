/* SPDX-License-Identifier: BSD-3-Clause */
/* For programs of tests that measure their own waits. */
#ifndef TEST_CLOCK_H
#define TEST_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Not a tail call, because the function must be on the stack. */
#define STAYS __asm__ volatile("" ::: "memory")
#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noipa)) /* not merged with one of the same code */
#endif

__attribute__((unused)) static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

__attribute__((unused)) static uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

__attribute__((unused)) static void nap(long ns)
{
	struct timespec t = { 0, ns };

	while (nanosleep(&t, &t))
		;
}

#endif
