/* Nanoseconds a frame of each unwinder, side by side in one run.
 *
 *     bench/unwind [depth [rounds]]
 *
 * One context is taken DEPTH calls deep, through functions that use 0 to 6
 * callee-saved registers, and walked ROUNDS times by each unwinder in turn, which
 * evens out what the machine does meanwhile; the median is printed. "warm" walks
 * the same stack again and again; "cold" empties the caches of ours and of
 * libunwind before each walk.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sigsafe/unwind.h"

#define NOINLINE __attribute__((noinline))
#define ROUNDS_MAX 100000
#define WARM_REPEAT 20

static struct cp_unwind_input in;
static uint64_t pcs[4096];
static volatile int sink;
static unsigned rounds = 501;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct contestant {
	const struct cp_unwinder *u;
	bool usable;
	unsigned frames;
	enum cp_unwind_end end;
	double *warm, *cold;
};

static double time_walk(struct contestant *c, unsigned repeat)
{
	uint64_t from = now();

	for (unsigned i = 0; i < repeat; i++)
		c->frames = c->u->walk(&in, pcs, 4096, &c->end);
	return (double)(now() - from) / repeat;
}

static void round_of(struct contestant *c, unsigned round)
{
	if (c->u->modules_changed)
		c->u->modules_changed();
	c->cold[round] = time_walk(c, 1);
	time_walk(c, 2);
	c->warm[round] = time_walk(c, WARM_REPEAT);
}

static void report(struct contestant *c)
{
	static const char *const ends[] = { "complete", "truncated", "incomplete" };

	qsort(c->warm, rounds, sizeof(double), by_value);
	qsort(c->cold, rounds, sizeof(double), by_value);
	printf("%-10s %6u frames %-10s  warm %8.1f ns/frame %9.0f ns/walk   cold %8.1f ns/frame\n",
	       c->u->name, c->frames, ends[c->end], c->warm[rounds / 2] / c->frames,
	       c->warm[rounds / 2], c->cold[rounds / 2] / c->frames);
}

static void run(void)
{
	struct contestant c[] = { { .u = &cp_unwinder_fp },
				  { .u = &cp_unwinder_dwarf },
				  { .u = &cp_unwinder_libunwind } };
	unsigned count = sizeof(c) / sizeof(c[0]);

	for (unsigned i = 0; i < count; i++) {
		c[i].usable = !c[i].u->prepare || !c[i].u->prepare();
		c[i].warm = calloc(rounds, sizeof(double));
		c[i].cold = calloc(rounds, sizeof(double));
	}
	for (unsigned r = 0; r < rounds; r++)
		for (unsigned i = 0; i < count; i++)
			if (c[i].usable)
				round_of(&c[i], r);
	for (unsigned i = 0; i < count; i++)
		if (c[i].usable)
			report(&c[i]);
}

static void take(int sig, siginfo_t *info, void *context)
{
	pthread_attr_t attr;
	void *low;
	size_t size;

	memset(&in, 0, sizeof(in));
	cp_regs_of_context(&in.regs, context);
	pthread_getattr_np(pthread_self(), &attr);
	pthread_attr_getstack(&attr, &low, &size);
	pthread_attr_destroy(&attr);
	in.stack_low = (uint64_t)low;
	in.stack_high = in.stack_low + size;
	in.stable_modules = in.own_tls = true;
	/* Here, where the interrupted stack still is as it was. */
	run();
}

static int descend(unsigned depth);

#define FRAME(name, count)                                                                         \
	static NOINLINE int name(unsigned depth)                                                   \
	{                                                                                          \
		int v[count + 1], r;                                                               \
                                                                                                   \
		for (int i = 0; i <= count; i++)                                                   \
			v[i] = sink + i;                                                           \
		r = descend(depth - 1);                                                            \
		for (int i = 0; i <= count; i++)                                                   \
			r += v[i] * i;                                                             \
		return r;                                                                          \
	}
FRAME(frame_0, 0)
FRAME(frame_1, 1)
FRAME(frame_2, 2)
FRAME(frame_3, 3)
FRAME(frame_5, 5)
FRAME(frame_40, 40)

static NOINLINE int descend(unsigned depth)
{
	static int (*const frame[])(unsigned) = { frame_0, frame_1, frame_2,
						  frame_3, frame_5, frame_40 };
	int r = 0;

	if (depth == 0)
		raise(SIGUSR1);
	else
		r = frame[depth % 6](depth);
	return r + sink;
}

int main(int argc, char **argv)
{
	unsigned depth = argc > 1 ? (unsigned)atoi(argv[1]) : 15;
	struct sigaction sa = { .sa_sigaction = take, .sa_flags = SA_SIGINFO };

	if (argc > 2)
		rounds = (unsigned)atoi(argv[2]);
	if (rounds < 1 || rounds > ROUNDS_MAX || depth > 1500) {
		fprintf(stderr, "usage: unwind [depth up to 1500 [rounds]]\n");
		return 2;
	}
	sigaction(SIGUSR1, &sa, NULL);
	return descend(depth) == 12345;
}
