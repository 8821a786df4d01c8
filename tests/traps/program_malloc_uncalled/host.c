/* SPDX-License-Identifier: BSD-3-Clause */
/* A program with an allocator of its own, which counts its calls. Each step of the program's life
 * prints how many there were; the same number is expected with and without the profiler. The count
 * is in memory that all processes of the program share, so calls at the end of a process count,
 * too.
 *
 *     host STEP...   what to do after main has begun: keys, exits, forks, start, thread, signal,
 *                    dump, child, exec
 */
#include "cprof.h"

#include <stddef.h>

#include "system.h"

#define ROOM ((size_t)32 << 20)

static uint32_t early; /* before the shared memory is there */
static uint32_t *count = &early;
static char heap[ROOM] __attribute__((aligned(16)));
static size_t used;

#define EXPORT __attribute__((visibility("default")))

static void called(void)
{
	__atomic_add_fetch(count, 1, __ATOMIC_RELAXED);
}

EXPORT void *malloc(size_t size)
{
	size_t need = (size + 31) & ~(size_t)15;
	size_t at = __atomic_fetch_add(&used, need, __ATOMIC_RELAXED);

	called();
	if (size > ROOM || at + need > ROOM)
		return NULL;
	memcpy(heap + at, &size, sizeof(size));
	return heap + at + 16;
}

EXPORT void free(void *p)
{
	if (p)
		called();
}

EXPORT void *calloc(size_t n, size_t each)
{
	return malloc(n * each);
}

EXPORT void *realloc(void *p, size_t size)
{
	void *to = malloc(size);
	size_t have = 0;

	if (!to || !p)
		return to;
	memcpy(&have, (char *)p - 16, sizeof(have));
	return memcpy(to, p, have < size ? have : size);
}

EXPORT int posix_memalign(void **to, size_t alignment, size_t size)
{
	char *p = malloc(size + alignment);

	if (!p)
		return 12;
	*to = (void *)(((uintptr_t)p + alignment - 1) & ~(alignment - 1));
	return 0;
}

static void say(const char *step)
{
	char line[80];
	int n = snprintf(line, sizeof(line), "%s: %u\n", step,
			 __atomic_load_n(count, __ATOMIC_RELAXED));

	if (write(1, line, (size_t)n) != n)
		_exit(3);
}

static volatile unsigned long spun;

static void work(long ms)
{
	struct timespec t;
	long end;

	clock_gettime(CLOCK_MONOTONIC, &t);
	end = t.tv_sec * 1000 + t.tv_nsec / 1000000 + ms;
	do {
		for (int i = 0; i < 10000; i++)
			spun++;
		clock_gettime(CLOCK_MONOTONIC, &t);
	} while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < end);
}

#define THREADS 3
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t all;

/* The threads exist at the same time: libc reuses the memory of one that has ended. */
static void *thread(void *arg)
{
	pthread_barrier_wait(&all);
	pthread_mutex_lock(&lock);
	work(10);
	pthread_mutex_unlock(&lock);
	return arg;
}

static void nothing(void)
{
}

static void on_signal(int number)
{
	(void)number;
}

/* libc keeps so many of each in memory that it has from the start. */
static void use_up(const char *what)
{
	pthread_key_t key;

	for (int i = 0; i < 64; i++) {
		if (!strcmp(what, "keys"))
			pthread_key_create(&key, NULL);
		else if (!strcmp(what, "exits"))
			atexit(nothing);
		else
			pthread_atfork(NULL, NULL, nothing);
	}
}

static void make_threads(void)
{
	pthread_t t[THREADS];

	pthread_barrier_init(&all, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, thread, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

static void make_child(char **argv)
{
	int status = 0;
	pid_t child = fork();

	if (!child) {
		work(10);
		if (argv)
			execv("/proc/self/exe", argv);
		make_threads();
		exit(0);
	}
	waitpid(child, &status, 0);
	if (status)
		say("the child failed");
}

/* The library is preloaded, or isn't there. */
extern __typeof__(cprof_start) cprof_start __attribute__((weak));

static void start(void)
{
	struct cprof_options o = CPROF_OPTIONS_INIT;

	o.cpu_path = o.wall_path = o.lock_path = o.io_path = getenv("START");
	if (o.cpu_path && cprof_start && cprof_start(&o))
		say("no start");
}

static void step(const char *what)
{
	char *again[] = { "host", NULL };

	if (!strcmp(what, "thread"))
		make_threads();
	else if (!strcmp(what, "signal"))
		signal(SIGPROF, on_signal);
	else if (!strcmp(what, "start"))
		start();
	else if (!strcmp(what, "dump"))
		kill(getpid(), getenv("DUMPS") ? SIGUSR2 : 0);
	else if (!strcmp(what, "child") || !strcmp(what, "exec"))
		make_child(*what == 'e' ? again : NULL);
	else
		use_up(what);
	work(50);
	say(what);
}

static int run(int argc, char **argv)
{
	say("main");
	for (int i = 1; i < argc; i++)
		step(argv[i]);
	return 0;
}

int main(int argc, char **argv)
{
	int status = 0;
	pid_t child;

	if (argc < 2) {
		/* The program that a child has become. */
		work(10);
		return early != 0;
	}
	count = mmap(NULL, sizeof(*count), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	*count = early;
	child = fork();
	if (!child)
		exit(run(argc, argv));
	waitpid(child, &status, 0);
	say(status ? "failed" : "end");
	return 0;
}
