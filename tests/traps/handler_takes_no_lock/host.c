/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that spend their time under the locks of malloc, the loader and stdio: a handler that
 * takes one of them hangs.
 *
 *   lock-loops SECONDS MODULE...    modules that nothing else has loaded; 0: until the input ends
 */
#if __has_include(<execinfo.h>)
#include <execinfo.h>
#endif
#include <link.h>

#include "host.h"

static char **modules;
static double seconds;
static int stop;

static void allocate(void)
{
	void *blocks[64];

	for (int i = 0; i < 64; i++)
		blocks[i] = malloc((size_t)16 << i % 12);
	for (int i = 0; i < 64; i++)
		free(blocks[i]);
}

static int count(struct dl_phdr_info *info, size_t size, void *arg)
{
	++*(int *)arg;
	return 0;
}

static void iterate(void)
{
	int n = 0;

	dl_iterate_phdr(count, &n);
	EXPECT(n > 2);
}

static void load(void)
{
	for (char **m = modules; *m; m++) {
		void *handle = dlopen(*m, RTLD_NOW);

		EXPECT(handle);
		if (handle)
			dlclose(handle);
	}
}

static void print(void)
{
	char text[256];
	FILE *f = fopen("/dev/null", "w");

	snprintf(text, sizeof(text), "%.20g %s", 1.0 / 3, "text");
	fprintf(f, "%s\n", text);
	fclose(f);
}

static void look_back(void)
{
	void *pcs[32];

	EXPECT(backtrace(pcs, 32) > 1);
}

static void (*const loops[])(void) = { allocate, iterate, load, print, look_back };

static void *run(void *arg)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		(*(void (**)(void))arg)();
	return NULL;
}

int main(int argc, char **argv)
{
	size_t n = sizeof(loops) / sizeof(*loops);
	pthread_t threads[8];

	seconds = atof(argv[1]);
	modules = argv + 2;
	for (size_t i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, run, (void *)&loops[i]);
	while (host_goes_on(CLOCK_PROCESS_CPUTIME_ID, seconds))
		allocate();
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (size_t i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	puts("done");
	HOST_END();
}
