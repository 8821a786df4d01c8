/* See flame_file.h. */
#include "flame_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory.h"
#include "verbs.h"

static int finish(FILE *to)
{
	int error = ferror(to) ? EIO : 0;

	if (fclose(to) && !error)
		error = errno;
	return error;
}

static mode_t usual_mode(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~mask;
}

static int write_and_rename(const char *path, mode_t mode, ct_flame_writer *write, const void *what)
{
	char *temporary = ct_printf("%s.XXXXXX", path);
	int fd = mkostemp(temporary, O_CLOEXEC), error = fd < 0 ? errno : 0;
	FILE *to = fd < 0 ? NULL : fdopen(fd, "w");

	if (to) {
		write(what, to);
		if (fflush(to) || fchmod(fd, mode) || fsync(fd))
			error = errno;
		if (!error)
			error = finish(to);
		else
			fclose(to);
		if (!error && rename(temporary, path))
			error = errno;
	}
	if (fd >= 0 && error)
		unlink(temporary);
	free(temporary);
	return error;
}

/* Devices and pipes can't be replaced. */
static int write_through(const char *path, ct_flame_writer *write, const void *what)
{
	FILE *to = fopen(path, "we");

	if (!to)
		return errno;
	write(what, to);
	return finish(to);
}

int ct_flame_file(const char *path, ct_flame_writer *write, const void *what)
{
	struct stat st;
	int error = 0;

	if (!path || !strcmp(path, "-")) {
		path = "standard output";
		write(what, stdout);
		if (fflush(stdout))
			error = errno;
		else if (ferror(stdout))
			error = EIO;
	} else if (!stat(path, &st) && !S_ISREG(st.st_mode)) {
		error = write_through(path, write, what);
	} else {
		error = write_and_rename(path, usual_mode(), write, what);
	}
	if (error)
		fprintf(stderr, "cprof: %s can't be written: %s\n", path, strerror(error));
	return error ? CT_FAILED : CT_OK;
}
