/* SPDX-License-Identifier: BSD-3-Clause */
/* A service that says which route it is working on: the profile can be asked for one.
 *
 *     cc -O2 -g 06-labels.c -o 06-labels $(pkg-config --cflags --libs libcprof)
 *     CPUPROFILE=06-labels.pb ./06-labels
 *       -> routes served
 *     cprof tags 06-labels.pb
 *       -> route
 *       -> /report
 *       -> /search
 *     cprof top -tagfocus=route=/report 06-labels.pb
 *       -> add_up
 *     CPUPROFILE=kept.pb CPROF_LABEL_KEYS=route ./06-labels
 *       -> routes served
 *     cprof tags kept.pb
 *       -> route
 */
#include <cprof.h>
#include <stdio.h>
#include <time.h>

static volatile unsigned long sum;

__attribute__((noinline)) static void add_up(double seconds)
{
	clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);

	while (clock() < end)
		for (unsigned i = 0; i < 1000; i++)
			sum += i;
}

static void serve(const char *route, const char *user, double seconds)
{
	CPROF_LABEL_SCOPE("route", route);
	CPROF_LABEL_SCOPE("user", user); /* CPROF_LABEL_KEYS can keep it out of files */

	add_up(seconds);
}

int main(void)
{
	for (int i = 0; i < 10; i++) {
		serve("/search", "anna", 0.01);
		serve("/report", "bert", 0.03);
	}
	puts("routes served");
	return 0;
}
