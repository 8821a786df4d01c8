/* SPDX-License-Identifier: BSD-3-Clause */
/* Files in place of requests; see push_directory.h. */
#include "push/push_directory.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "core/memory.h"
#include "core/target.h"
#include "push/push_files.h"

#define SUFFIX ".window.pb"

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
		ct_push_files_limit(path, SUFFIX, limit, 0);
	free(whole);
	free(name);
	return error;
}
