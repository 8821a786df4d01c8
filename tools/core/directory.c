/* SPDX-License-Identifier: BSD-3-Clause */
/* See directory.h. */
#include "core/directory.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "core/memory.h"

int ct_directory_make(const char *path)
{
	char *part = ct_memory_strdup(path);
	int error = 0;

	for (char *c = part + 1; !error; c++) {
		char end = *c;

		if (end && end != '/')
			continue;
		*c = '\0';
		error = mkdir(part, 0700) && errno != EEXIST ? -errno : 0;
		*c = end;
		if (!end)
			break;
	}
	free(part);
	return error;
}
