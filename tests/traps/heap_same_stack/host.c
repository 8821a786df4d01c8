/* SPDX-License-Identifier: BSD-3-Clause */
/* Linked: allocates from one and the same stack, with the same registers, again and again, while
 * all else that a sample depends on changes. Every allocation is a sample, so all can be counted.
 *
 *     heap-same-stack FIRST SECOND THIRD
 */
#include <alloca.h>

#include "system.h"
#include "cprof.h"

#define NOINLINE __attribute__((noinline))

static NOINLINE void site_same(unsigned n)
{
	while (n--) {
		void *volatile p = malloc(10);

		free(p);
	}
}

/* Its frame is counted from a register of its own, not from one of its caller's, which differ. */
static NOINLINE void site_thread(unsigned n)
{
	volatile char *room = alloca(n);

	room[0] = 0;
	while (n--) {
		void *volatile p = malloc(100);

		free(p);
	}
}

static int start(const char *path, uint64_t interval)
{
	struct cprof_options o = CPROF_OPTIONS_INIT;

	o.heap_path = path;
	o.heap_interval = interval;
	return cprof_start(&o);
}

static void *restart(void *path)
{
	return cprof_stop() || start(path, 1) ? path : NULL;
}

/* Not by the thread that allocates. */
static bool restart_elsewhere(char *path)
{
	void *failed = path;
	pthread_t t;

	return pthread_create(&t, NULL, restart, path) || pthread_join(t, &failed) || failed;
}

/* Before each call of site_same, from one place; how often it allocates then. */
static unsigned prepare(int step, char **argv)
{
	switch (step) {
	case 1: return cprof_thread_pause() ? 0 : 5000;
	case 2: return cprof_thread_resume() ? 0 : 4;
	case 3: return restart_elsewhere(argv[2]) ? 0 : 700;
	case 4: return cprof_label_set("request", "one") ? 0 : 200;
	case 5: return cprof_label_clear("request") ? 0 : 30;
	/* A sample every 4 KiB, then all again. */
	case 6: return cprof_stop() || start(argv[3], 4096) ? 0 : 100000;
	case 7: return cprof_stop() || start(argv[3], 1) ? 0 : 80;
	default: return 1000;
	}
}

#define STACK ((size_t)256 << 10)
#define LESS ((size_t)64 << 10)
#define THREADS 600

static uintptr_t wanted; /* frame of the threads' function, less what it takes */

static void *allocate(void *unused)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	volatile char *room = alloca(here - wanted);

	room[0] = 0;
	site_thread(20);
	return unused;
}

/* The rest of its stack goes, so that it mustn't be read. */
static int run_thread(char *stack, size_t size)
{
	pthread_attr_t a;
	pthread_t t;

	pthread_attr_init(&a);
	return pthread_attr_setstack(&a, stack, size) || pthread_create(&t, &a, allocate, NULL) ||
	       pthread_join(t, NULL);
}

/* Threads at one place of one stack; every other one has less above. The profiler has a record for
 * each of 256 threads at a time, one of them main's: so each record serves both kinds in turn. */
static int run_threads(void)
{
	char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (stack == MAP_FAILED)
		return -1;
	wanted = (uintptr_t)stack + STACK / 2;
	for (int i = 0; i < THREADS; i++) {
		size_t less = i % 2 ? LESS : 0;

		/* NOLINTNEXTLINE: protected while it isn't the thread's */
		mprotect(stack + STACK - LESS, LESS, less ? PROT_NONE : PROT_READ | PROT_WRITE);
		if (run_thread(stack, STACK - less))
			return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 4 || start(argv[1], 1))
		return 1;
	if (run_threads())
		return 2;
	for (int step = 0; step < 8; step++) {
		unsigned n = prepare(step, argv);

		if (!n)
			return 3 + step;
		site_same(n);
	}
	return cprof_stop() ? 20 : 0;
}
