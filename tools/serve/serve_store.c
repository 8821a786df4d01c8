/* SPDX-License-Identifier: BSD-3-Clause */
/* See serve_store.h. */
#include "serve/serve_store.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/memory.h"

struct dump {
	char *key;
	double time;
	int fd;
	long long size;
};

/* In the order of their times. */
static struct dump *dumps;
static size_t count, room;
static long long bytes;

static void drop(size_t i)
{
	close(dumps[i].fd);
	free(dumps[i].key);
	bytes -= dumps[i].size;
	memmove(&dumps[i], &dumps[i + 1], (--count - i) * sizeof(*dumps));
}

static void tidy(double now)
{
	while (count && (count > CT_SERVE_STORED || bytes > CT_SERVE_STORED_BYTES ||
			 dumps[0].time < now - CT_SERVE_STORED_SECONDS))
		drop(0);
}

int ct_serve_store_find(const char *key, double now, double at_least, double at_most)
{
	int found = -1;

	tidy(now);
	for (size_t i = 0; i < count; i++) {
		double age = now - dumps[i].time;

		if (!strcmp(dumps[i].key, key) && age <= at_most && (found < 0 || age >= at_least))
			found = dumps[i].fd;
	}
	return found;
}

void ct_serve_store_put(const char *key, double now, int fd, int alone)
{
	struct stat st;

	for (size_t i = count; alone && i-- > 0;)
		if (!strcmp(dumps[i].key, key))
			drop(i);
	*CT_PUSH(dumps, count, room) =
		(struct dump){ ct_memory_strdup(key), now, fd, fstat(fd, &st) ? 0 : st.st_size };
	bytes += dumps[count - 1].size;
	tidy(now);
}
