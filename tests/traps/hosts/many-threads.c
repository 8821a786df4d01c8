/* SPDX-License-Identifier: BSD-3-Clause */
/* Many short threads, a few at a time; says on stderr how much memory the process took at most.
 *
 *   many-threads COUNT
 */
#include "host.h"

#define AT_ONCE 4

__attribute__((noinline)) static void *short_thread(void *arg)
{
	/* Some live through an expiry and take a buffer, most don't. */
	burn((size_t)arg % 20 == 0 ? 0.004 : 0.00002);
	return arg;
}

/* KiB; from /proc, as getrusage's number survives exec. */
static long memory(const char *what)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	long kib = -1;

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, what, strlen(what)))
			kib = atol(line + strlen(what));
	if (f)
		fclose(f);
	return kib;
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 0;
	pthread_t t[AT_ONCE];

	for (int i = 0; i < count; i += AT_ONCE) {
		for (int j = 0; j < AT_ONCE; j++)
			EXPECT(pthread_create(&t[j], NULL, short_thread, (void *)(size_t)(i + j)) ==
			       0);
		for (int j = 0; j < AT_ONCE; j++)
			EXPECT(pthread_join(t[j], NULL) == 0);
	}
	printf("%d threads\n", count);
	fprintf(stderr, "resident %ld\nmapped %ld\n", memory("VmHWM:"), memory("VmPeak:"));
	HOST_END();
}
