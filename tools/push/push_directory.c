/* SPDX-License-Identifier: BSD-3-Clause */
/* Files in place of requests; see push.h. */
#include "push/push.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "core/core.h"

#define SUFFIX ".window.pb"
/* The directory is read once for so many files. */
#define READ_EACH 1000

static char *safe(char *name)
{
	for (char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("-_+", *c))
			*c = '_';
	return name;
}

/* The time comes first, so that names are sorted by age. */
static char *name_of(const struct ct_push_item *item)
{
	char *service = ct_push_item_label(item, "service_name"), time[32], *name;
	char *pid = ct_push_item_label(item, "pid");
	time_t seconds = (time_t)(item->from_ns / 1000000000);
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(time, sizeof(time), "%Y%m%dT%H%M%S", &tm);
	name = ct_memory_printf(
		"%s.%03dZ.%.100s.%.20s.%s" SUFFIX, time, (int)(item->from_ns / 1000000 % 1000),
		service ? safe(service) : "unknown", pid ? safe(pid) : "0", item->series);
	free(service);
	free(pid);
	return name;
}

/* The directory is read as a whole at the first file, when it may be full, and now and then,
 * because others may write there. In between its size is counted: reading ten thousand names for
 * each file would cost more than all the rest. */
static void bound(const char *path, uint64_t added, uint64_t limit)
{
	static uint64_t bytes;
	static unsigned unread;

	bytes += added;
	if (unread && bytes <= limit) {
		unread--;
		return;
	}
	/* Room for some more, so that a full directory isn't read for each file. */
	bytes = ct_push_files_limit(path, SUFFIX, limit - limit / 16);
	unread = READ_EACH;
}

int ct_push_directory_add(const char *path, const struct ct_push_item *item, uint64_t limit)
{
	char *name, *whole;
	struct ct_target t;
	int error;

	if (mkdir(path, 0700) && errno != EEXIST)
		return -errno;
	name = name_of(item);
	whole = ct_memory_printf("%s/%s", path, name);
	error = ct_target_open(&t, whole);
	if (!error) {
		errno = 0;
		error = fwrite(item->data, 1, item->size, t.to) == item->size ? 0
			: errno						      ? -errno
									      : -EIO;
		error = ct_target_close(&t, error);
	}
	if (!error)
		bound(path, item->size, limit);
	free(whole);
	free(name);
	return error;
}
