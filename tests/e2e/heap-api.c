/* SPDX-License-Identifier: BSD-3-Clause */
/* Linked: two heap profiles one after the other, with labels.
 *
 *     heap-api FIRST SECOND DUMP
 */
#include <stdlib.h>

#include "cprof.h"

#define SITE static __attribute__((noinline)) void

static void *kept[100];
static unsigned count;

static void keep(void *p)
{
	kept[count++] = p;
}

SITE site_first(void)
{
	keep(malloc(100));
}

SITE site_between(void)
{
	keep(malloc(200));
}

SITE site_second(void)
{
	keep(malloc(300));
}

SITE site_labelled(void)
{
	keep(malloc(400));
}

static int start(const char *path)
{
	struct cprof_options o = CPROF_OPTIONS_INIT;

	o.heap_path = path;
	o.heap_interval = 1;
	return cprof_start(&o);
}

int main(int argc, char **argv)
{
	if (argc < 4 || start(argv[1]))
		return 1;
	for (int i = 0; i < 10; i++)
		site_first();
	free(kept[0]);
	if (cprof_stop())
		return 2;
	site_between();
	free(kept[1]);
	if (start(argv[2]))
		return 3;
	/* Of the run before, and of no run. */
	free(kept[2]);
	free(kept[10]);
	for (int i = 0; i < 5; i++)
		site_second();
	for (int i = 0; i < 6; i++) {
		cprof_label_set("request", i % 3 ? "many" : "few");
		site_labelled();
	}
	cprof_label_clear("request");
	if (cprof_dump_mode(CPROF_HEAP, argv[3]))
		return 4;
	free(kept[11]);
	return cprof_stop() ? 5 : 0;
}
