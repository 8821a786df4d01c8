/* SPDX-License-Identifier: BSD-3-Clause */
/* Four threads, each loading a module of its own, working in it and unloading it, over and
 * over; a fifth loads and unloads another all the time. Usage: dlclose-storm MS MODULE... */
#include <stdatomic.h>

#include "system.h"

static long budget_ms;
static atomic_int working = 4;

static long cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void visit(const char *path, const char *function, long argument)
{
	void *module = dlopen(path, RTLD_NOW);
	void *f = module ? dlsym(module, function) : NULL;

	if (!f) {
		fprintf(stderr, "%s: %s\n", path, dlerror());
		exit(2);
	}
	if (argument)
		((void (*)(long))f)(argument);
	dlclose(module);
}

static void *work(void *path)
{
	long end = cpu_ms() + budget_ms, ms;

	do {
		ms = cpu_ms() < end ? -3 : 3;
		visit(path, "work", ms);
	} while (ms < 0);
	working--;
	return NULL;
}

static void *churn(void *path)
{
	while (working)
		visit(path, "work", 0);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[5];

	if (argc != 7)
		return 3;
	budget_ms = atol(argv[1]);
	for (int i = 0; i < 5; i++)
		if (pthread_create(&threads[i], NULL, i < 4 ? work : churn, argv[2 + i]))
			return 3;
	for (int i = 0; i < 5; i++)
		pthread_join(threads[i], NULL);
	puts("done");
	return 0;
}
