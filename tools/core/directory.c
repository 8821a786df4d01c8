/* SPDX-License-Identifier: BSD-3-Clause */
/* See core.h. */
#include "core/core.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* Could other users replace the directory PATH, or PATH itself if it is a link? */
static bool is_safe(const char *path, struct stat *st)
{
	if (lstat(path, st))
		return false;
	if (S_ISLNK(st->st_mode) && ((st->st_uid && st->st_uid != geteuid()) || stat(path, st)))
		return false;
	if (!S_ISDIR(st->st_mode) || (st->st_uid && st->st_uid != geteuid()))
		return false;
	/* In a sticky directory, users can't touch each other's entries. A group often has one user
	 * only. */
	return st->st_mode & S_ISVTX || !(st->st_mode & (st->st_gid == getegid() ? 002 : 022));
}

static int check_directory(const char *path, bool make)
{
	char *part = ct_memory_strdup(path);
	struct stat st = { .st_mode = 0 };
	int error = 0;

	for (char *c = part + 1; !error; c++) {
		char end = *c;

		if (end && end != '/')
			continue;
		*c = '\0';
		if (make && mkdir(part, 0700) && errno != EEXIST)
			error = -errno;
		else if (!is_safe(part, &st))
			error = -EPERM;
		*c = end;
		if (!end)
			break;
	}
	if (!error && (st.st_uid != geteuid() || st.st_mode & 022))
		error = -EPERM;
	free(part);
	return error;
}

int ct_directory_make_own(const char *path)
{
	return check_directory(path, true);
}

int ct_directory_is_own(const char *path)
{
	return check_directory(path, false);
}
