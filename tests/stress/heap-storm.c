/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that allocate, grow, hand over and free; forks; threads that come and go; a plugin that
 * is loaded and unloaded; a handler that allocates. Nothing is left at the end.
 *
 *     heap-storm SECONDS PLUGIN     0: until the input ends
 */
#include <malloc.h>

#include "host.h"

#define BLOCKS 1024

static void *volatile blocks[BLOCKS];
static uint32_t stop;

static void check(const unsigned char *p, unsigned char mark)
{
	if (*p != mark)
		abort();
}

static unsigned char mark_of(const void *p)
{
	return (unsigned char)((uintptr_t)p >> 4);
}

static void *make(uint64_t x)
{
	size_t size = 1 + (x & 15 ? x >> 40 & 1023 : x >> 40 & 0xfffff);
	void *p = NULL;

	switch (x >> 60 & 7) {
	case 0: p = calloc(1, size); break;
	case 1: p = aligned_alloc(64, (size + 63) & ~(size_t)63); break;
	case 2:
		if (posix_memalign(&p, 4096, size))
			abort();
		break;
	case 3: p = realloc(realloc(malloc(10), size), size / 2 + 1); break;
	default: p = malloc(size);
	}
	if (!p)
		abort();
	*(unsigned char *)p = mark_of(p);
	return p;
}

static void *work(void *arg)
{
	uint64_t x = (uintptr_t)arg + 1;
	unsigned rounds = 0;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED) && rounds++ < 200000) {
		void *old;

		x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
		old = __atomic_exchange_n(&blocks[x >> 54], make(x), __ATOMIC_ACQ_REL);
		if (!old)
			continue;
		check(old, mark_of(old));
		if (x & 1 << 20) {
			old = realloc(old, 1 + (x >> 30 & 4095));
			*(unsigned char *)old = mark_of(old);
		}
		free(old);
	}
	return NULL;
}

static void *keep_threads(void *arg)
{
	uint64_t n = (uintptr_t)arg;
	pthread_t t;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		if (pthread_create(&t, NULL, work, (void *)(uintptr_t)(n += 1000)) == 0)
			pthread_join(t, NULL);
	return NULL;
}

static void *load(void *plugin)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		void *handle = dlopen(plugin, RTLD_NOW | RTLD_LOCAL), *f;
		int (*run)(void);

		if (!handle)
			abort();
		f = dlsym(handle, "plugin_run");
		memcpy(&run, &f, sizeof(f));
		if (run() < 1)
			abort();
		dlclose(handle);
	}
	return NULL;
}

/* The child of a fork in a program of many threads may do little, but libc lets it allocate. */
static void fork_once(void)
{
	int status = 0;
	pid_t pid = fork();

	if (pid < 0)
		return;
	if (!pid) {
		for (int i = 0; i < BLOCKS; i++) {
			void *p = blocks[i];

			free(i % 3 ? p : NULL);
			free(malloc((size_t)i + 1));
		}
		_exit(9);
	}
	waitpid(pid, &status, 0);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 9) {
		fprintf(stderr, "child: %x\n", status);
		abort();
	}
}

int main(int argc, char **argv)
{
	int seconds = argc > 1 ? atoi(argv[1]) : 10;
	double end = seconds ? host_clock(CLOCK_MONOTONIC) + seconds : 0;
	pthread_t t[5];

	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, keep_threads, (void *)(i * 77));
	pthread_create(&t[4], NULL, load, argv[2]);
	while (host_goes_on(CLOCK_MONOTONIC, end)) {
		fork_once();
		usleep(20000);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 5; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
	return 0;
}
