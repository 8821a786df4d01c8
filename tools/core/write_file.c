/* SPDX-License-Identifier: BSD-3-Clause */
/* Replaces a profile's file as a whole or not at all; see read.h. */
#include "core/read.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/core.h"

static int write_stdout(const struct ct_profile *p)
{
	FILE *to;
	int error;

	if (isatty(STDOUT_FILENO)) {
		fputs("cprof: a profile is not written to a terminal; give -output=FILE\n", stderr);
		return -ENOTTY;
	}
	to = ct_out_guard_past();
	error = ct_write(p, to);
	return error ? error : fflush(to) ? -errno : 0;
}

static int write_target(const struct ct_profile *p, const char *path, bool dated)
{
	struct ct_target t;
	int error = ct_target_open(&t, path);

	t.dated = dated;

	return error ? error : ct_target_close(&t, ct_write(p, t.to));
}

static int said(const char *path, int error)
{
	if (error && error != -ENOTTY)
		fprintf(stderr, "cprof: %s can't be written: %s\n", path, strerror(-error));
	return error;
}

int ct_write_file(const struct ct_profile *p, const char *path)
{
	return said(path, strcmp(path, "-") ? write_target(p, path, false) : write_stdout(p));
}

int ct_write_file_in_place(const struct ct_profile *p, const char *path)
{
	return said(path, write_target(p, path, true));
}
