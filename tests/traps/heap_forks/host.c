/* SPDX-License-Identifier: BSD-3-Clause */
/* Children of a fork that allocate.
 *
 *     heap-forks alike     a dozen, one after the other, which all do the same
 *     heap-forks less      one, which allocates less than its parent has
 */
#include "system.h"

#define SITE __attribute__((noinline, noclone))

static void *volatile keep;

static SITE void site_child(int count)
{
	for (int i = 0; i < count; i++)
		keep = malloc(100000);
}

static bool child(int count)
{
	int status;

	if (!fork()) {
		site_child(count);
		exit(0);
	}
	return wait(&status) > 0 && status == 0;
}

int main(int argc, char **argv)
{
	bool less = argc > 1 && !strcmp(argv[1], "less"), well = true;

	for (int i = 0; i < 80; i++)
		keep = malloc(100000);
	if (less)
		well = child(35);
	for (int i = 0; i < 12 && !less; i++)
		well = child(64) && well;
	return !well;
}
