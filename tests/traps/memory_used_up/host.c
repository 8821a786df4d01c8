/* SPDX-License-Identifier: BSD-3-Clause */
/* host as|data|both exit|abort: works in two threads, sets the limit (RLIMIT_AS, RLIMIT_DATA)
 * to what it has, uses up the rest, and ends. */
#include <sys/resource.h>

#include "tests/lib/host.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void *before_the_limit(void *unused)
{
	for (int i = 0; i < 60; i++) {
		void *volatile block = malloc(30000);

		pthread_mutex_lock(&lock);
		burn(0.001);
		pthread_mutex_unlock(&lock);
		if (i & 1)
			free(block);
	}
	burn_and_tick(0);
	return unused;
}

static void limit(int which)
{
	struct rlimit l;
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (!f || fscanf(f, "%lu", &pages) != 1)
		exit(9);
	fclose(f);
	/* All that is mapped is more than what is data: the limit of data is below what there is.
	 */
	l.rlim_cur = l.rlim_max = which == RLIMIT_AS ? pages * 4096 : 1 << 20;
	setrlimit(which, &l);
}

static void use_up(void)
{
	for (size_t n = 1 << 24; n >= 4096; n /= 2)
		while (mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
		       MAP_FAILED)
			;
	while (malloc(16))
		;
}

int main(int argc, char **argv)
{
	static char out[64];
	pthread_t thread;

	if (argc < 3)
		return 2;
	setvbuf(stdout, out, _IOFBF, sizeof(out));
	pthread_create(&thread, NULL, before_the_limit, NULL);
	before_the_limit(NULL);
	pthread_join(thread, NULL);
	if (strcmp(argv[1], "data"))
		limit(RLIMIT_AS);
	if (strcmp(argv[1], "as"))
		limit(RLIMIT_DATA);
	use_up();
	printf("used up\n");
	fflush(stdout);
	if (!strcmp(argv[2], "abort"))
		abort();
	return 0;
}
