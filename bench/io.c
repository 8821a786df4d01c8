/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost of the I/O mode: a read of one byte that is already in a pipe. bench/io.sh runs it.
 *
 * Four functions read in turns, on one processor: libc's; one that only calls libc's, as any
 * interposition does; one that reads the processor's counter before and after the call, and adds
 * the difference to a sum, which is the least that can measure every call; and ours. Prints the
 * median of libc's times in ns, and, for each of the other three, that of the differences to
 * libc's.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "one_processor.h"

#define READS 2000 /* less than a time slice: most turns are not interrupted */
#define ROUNDS 401
#define FUNCTIONS 4

typedef ssize_t (*read_function)(int, void *, size_t);

static read_function real;
static uint64_t sum;

static inline uint64_t counter(void)
{
#ifdef __x86_64__
	return __builtin_ia32_rdtsc();
#else
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#endif
}

__attribute__((noinline, aligned(64))) static ssize_t forward(int fd, void *to, size_t n)
{
	return real(fd, to, n);
}

__attribute__((noinline, aligned(64))) static ssize_t measured(int fd, void *to, size_t n)
{
	uint64_t began = counter();
	ssize_t moved = real(fd, to, n);

	sum += counter() - began;
	return moved;
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double time_reads(const int *ends, read_function f)
{
	static char bytes[READS];
	volatile read_function call = f;
	double began;
	char byte;

	if (write(ends[1], bytes, READS) != READS)
		exit(1);
	began = now_ns();
	for (int i = 0; i < READS; i++)
		if (call(ends[0], &byte, 1) != 1)
			exit(1);
	return (now_ns() - began) / READS;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *values)
{
	qsort(values, ROUNDS, sizeof(*values), by_value);
	return values[ROUNDS / 2];
}

int main(void)
{
	static double ns[FUNCTIONS][ROUNDS];
	read_function functions[FUNCTIONS] = { NULL, forward, measured, read };
	int ends[2];

	*(void **)&real = dlsym(dlopen("libc.so.6", RTLD_LAZY), "read");
	functions[0] = real;
	if (!real || pipe(ends))
		return 1;
	one_processor_stay();
	for (int i = 0; i < ROUNDS; i++) {
		for (int j = 0; j < FUNCTIONS; j++)
			ns[(i + j) % FUNCTIONS][i] =
				time_reads(ends, functions[(i + j) % FUNCTIONS]);
		for (int j = 1; j < FUNCTIONS; j++)
			ns[j][i] -= ns[0][i];
	}
	printf("%.2f %.2f %.2f %.2f\n", median(ns[1]), median(ns[2]), median(ns[3]), median(ns[0]));
	return 0;
}
