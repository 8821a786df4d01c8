/* SPDX-License-Identifier: BSD-3-Clause */
/* The ./app of docs/commands.md and cprof(1): a thread called worker in parse(), which allocates,
 * and another that waits for its lock. Runs for some tenths of a second; with an argument "longer"
 * twice as long, with "forever" until it is killed. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long parsed;
static int forever, turns = 500;

__attribute__((noinline)) static char *malloc_copy(const char *text)
{
	char *copy = malloc(strlen(text) + 1);

	for (int round = 0; copy && round < 10; round++)
		for (size_t i = 0; i <= strlen(text); i++)
			((volatile char *)copy)[i] = text[i];
	return copy;
}

__attribute__((noinline)) static unsigned long parse(const char *text)
{
	char *copy = malloc_copy(text);
	unsigned long sum = 0;

	for (int round = 0; copy && round < 20; round++)
		for (const char *c = copy; *c; c++)
			sum = sum * 31 + (unsigned char)*c;
	free(copy);
	return sum;
}

static void *work(void *arg)
{
	pthread_setname_np(pthread_self(), "worker");
	for (int i = 0; forever || i < turns; i++) {
		pthread_mutex_lock(&lock);
		for (int k = 0; k < 100; k++)
			parsed += parse("what an application reads, line by line, and looks at");
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	forever = argc > 1 && !strcmp(argv[1], "forever");
	if (argc > 1 && !strcmp(argv[1], "longer"))
		turns *= 2;
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return parsed == 1;
}
