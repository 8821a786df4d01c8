/* SPDX-License-Identifier: BSD-3-Clause */
/* See flame.h. */
#include "flame/flame.h"

#include <errno.h>
#include <string.h>

static int write_stdout(ct_flame_writer *write, const void *what)
{
	write(what, stdout);
	if (fflush(stdout))
		return -errno;
	return ferror(stdout) ? -EIO : 0;
}

static int write_target(const char *path, ct_flame_writer *write, const void *what)
{
	struct ct_target t;
	int error = ct_target_open(&t, path);

	if (error)
		return error;
	write(what, t.to);
	return ct_target_close(&t, 0);
}

int ct_flame_file(const char *path, ct_flame_writer *write, const void *what)
{
	bool standard = !path || !strcmp(path, "-");
	int error = standard ? write_stdout(write, what) : write_target(path, write, what);

	if (error)
		fprintf(stderr, "cprof: %s can't be written: %s\n",
			standard ? "standard output" : path, strerror(-error));
	return error ? CT_FAILED : CT_OK;
}
