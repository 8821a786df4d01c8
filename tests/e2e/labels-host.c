/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests on two routes by two workers, one of which inherits its maker's labels.
 *
 *   labels-host SECONDS      CPU time to burn
 *   labels-host cost         ns of a set and clear, on a line
 */
#define HOST_BURNS_EXACTLY
#include "cprof.h"
#define HOST_HAS_TIMERS /* burns wholly, always */
#include "host.h"

static __attribute__((noinline)) void handle(const char *route, double seconds)
{
	CPROF_LABEL_SCOPE("route", route);
	cprof_label_set("email", "someone@example.org");
	burn(seconds);
	cprof_label_clear("email");
}

static void *worker(void *arg)
{
	double seconds = *(double *)arg;

	/* In small pieces, as requests come. A piece of a whole number of the kernel's ticks could
	 * have one tick too few each time. */
	for (int i = 0; i < 23; i++) {
		handle("/cheap", seconds / 23 * 0.25);
		handle("/dear", seconds / 23 * 0.75);
	}
	return NULL;
}

static void *inheriting(void *arg)
{
	burn(*(double *)arg / 2);
	return NULL;
}

static int cost(void)
{
	enum { TIMES = 2000000 };
	double began;

	cprof_label_set("tenant", "acme");
	began = host_clock(CLOCK_MONOTONIC);
	for (int i = 0; i < TIMES; i++) {
		cprof_label_set("route", i & 1 ? "/api/v1/orders" : "/api/v1/customers");
		cprof_label_clear("route");
	}
	printf("%.1f\n", (host_clock(CLOCK_MONOTONIC) - began) / TIMES * 1e9);
	return 0;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	pthread_t threads[2];
	int err = 0;

	if (argc > 1 && !strcmp(argv[1], "cost"))
		return cost();
	err |= pthread_create(&threads[0], NULL, worker, &seconds);
	cprof_label_set("tenant", "acme");
	cprof_labels_inherit(1);
	err |= pthread_create(&threads[1], NULL, inheriting, &seconds);
	/* Later changes by the maker are its own. */
	cprof_label_set("tenant", "other");
	for (int i = 0; i < 2 && !err; i++)
		pthread_join(threads[i], NULL);
	return err;
}
