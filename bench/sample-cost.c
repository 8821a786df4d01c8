/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost of one sample for the sampled thread, from the signal's delivery to its return.
 *
 * Usage: sample-cost DEPTH ROUNDS warm|cold. The kernel delivers CPU timers only at its tick,
 * so their cost vanishes in the noise of a run. Here the thread sends itself the very signal
 * that its timer sends (known from /proc/self/timers), at a stack of DEPTH frames, and
 * times each; a signal that is ignored is the base. Cold: other memory goes through
 * the caches before each. Prints the medians in ns: sample, base.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS_MAX 20000
#define EVICTED ((size_t)8 << 20)

static uint64_t sample_ns[ROUNDS_MAX], base_ns[ROUNDS_MAX];
static int rounds, cold;
static char *evicting;
static siginfo_t signal_of_timer, ignored;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The main thread's own timer. Without one (a process-wide timer) any SIGPROF will do. */
static void learn_timer(void)
{
	FILE *f = fopen("/proc/self/timers", "r");
	unsigned long value;
	char line[256];
	int id = 0, signo, notified;

	signal_of_timer.si_signo = SIGPROF;
	signal_of_timer.si_code = SI_TIMER;
	while (f && fgets(line, sizeof(line), f)) {
		sscanf(line, "ID: %d", &id);
		if (sscanf(line, "signal: %d/%lx", &signo, &value) == 2 && signo == SIGPROF)
			signal_of_timer.si_value.sival_ptr = (void *)value;
		if (sscanf(line, "notify: signal/tid.%d", &notified) == 1 && notified == getpid()) {
			signal_of_timer.si_timerid = id;
			break;
		}
	}
	if (f)
		fclose(f);
}

static void evict(void)
{
	for (size_t i = 0; cold && i < EVICTED; i += 64)
		evicting[i]++;
}

static uint64_t send(siginfo_t *si)
{
	uint64_t begin;

	evict();
	begin = now();
	if (syscall(SYS_rt_tgsigqueueinfo, getpid(), getpid(), si->si_signo, si) < 0)
		exit(4);
	return now() - begin;
}

static void measure(void)
{
	const struct timespec pause = { 0, 2000000 };

	for (int i = 0; i < rounds; i++) {
		/* The samples must be collected before there are too many of them. */
		if (i % 16 == 0)
			nanosleep(&pause, NULL);
		base_ns[i] = send(&ignored);
		sample_ns[i] = send(&signal_of_timer);
	}
}

__attribute__((noinline)) int descend(int depth, volatile int *up);

__attribute__((noinline)) int descend(int depth, volatile int *up)
{
	volatile int here = *up + depth;

	if (depth > 1)
		return descend(depth - 1, &here) + here;
	measure();
	return here;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static unsigned long median(uint64_t *values)
{
	qsort(values, (size_t)rounds, sizeof(*values), by_value);
	return (unsigned long)values[rounds / 2];
}

int main(int argc, char **argv)
{
	volatile int zero = 0;

	if (argc < 4 || (rounds = atoi(argv[2])) < 1 || rounds > ROUNDS_MAX)
		return 3;
	cold = !strcmp(argv[3], "cold");
	evicting = calloc(1, EVICTED);
	memset(evicting, 1, EVICTED);
	learn_timer();
	signal(SIGURG, SIG_IGN);
	ignored.si_signo = SIGURG;
	ignored.si_code = SI_QUEUE;
	descend(atoi(argv[1]), &zero);
	printf("%lu %lu\n", median(sample_ns), median(base_ns));
	return 0;
}
