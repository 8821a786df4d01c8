/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that live for US microseconds of CPU time on average, one after the other, until
 * CPU-SECONDS are used. Usage: short-threads-host CPU-SECONDS US.
 * In each, three functions work in turn: the first for 32 % of the time, the second for 44 %, the
 * third for 24 %. Prints the share that each really had, by the threads' CPU clocks, and the CPU
 * time of all. The lengths of lives are random, so nothing runs in step with the kernel's tick.
 */
#include "clock.h"
#include "host.h"

#define FUNCTIONS 3

static uint64_t life_ns, spent_ns[FUNCTIONS];

/* The same code three times; the constant keeps the linker from folding them. */
#define FUNCTION(name, seed)                                                                       \
	__attribute__((noinline)) uint64_t name(uint64_t end);                                     \
	__attribute__((noinline)) uint64_t name(uint64_t end)                                      \
	{                                                                                          \
		volatile uint64_t x = seed;                                                        \
		uint64_t now;                                                                      \
                                                                                                   \
		do                                                                                 \
			for (unsigned i = 0; i < 500; i++)                                         \
				x = x * 3 + i;                                                     \
		while ((now = clock_ns(CLOCK_THREAD_CPUTIME_ID)) < end);                           \
		return now;                                                                        \
	}

FUNCTION(takes_32, 1)
FUNCTION(takes_44, 2)
FUNCTION(takes_24, 3)

static uint64_t (*const functions[FUNCTIONS])(uint64_t) = { takes_32, takes_44, takes_24 };
static const char *const names[FUNCTIONS] = { "takes_32", "takes_44", "takes_24" };
static const unsigned until[FUNCTIONS] = { 32, 32 + 44, 100 };

static void *computes_nothing(void *arg)
{
	uint64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID), before = begin;
	uint64_t life = life_ns / 2 + life_ns * (uint64_t)(random() % 1000) / 1000;

	for (int f = 0; f < FUNCTIONS; f++) {
		uint64_t now = functions[f](begin + life * until[f] / 100);

		spent_ns[f] += now - before;
		before = now;
	}
	return arg;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1, all = 0;
	pthread_t thread;

	/* Main makes threads for some 10 ms. It has a stack to give that to. */
	burn_and_tick(0);
	srandom((unsigned)time(NULL));
	life_ns = 1000 * (argc > 2 ? (uint64_t)atoi(argv[2]) : 1000);
	while (all < seconds * 1e9) {
		if (pthread_create(&thread, NULL, computes_nothing, NULL) ||
		    pthread_join(thread, NULL))
			return 3;
		all = 0;
		for (int f = 0; f < FUNCTIONS; f++)
			all += (double)spent_ns[f];
	}
	for (int f = 0; f < FUNCTIONS; f++)
		printf("%s %.4f\n", names[f], 100 * (double)spent_ns[f] / all);
	printf("total %.6f\n", (double)clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9);
	HOST_END();
}
