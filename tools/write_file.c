/* A profile's file is replaced as a whole or not at all; see write.h. */
#include "write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory.h"

static int write_stdout(const struct ct_profile *p)
{
	if (isatty(STDOUT_FILENO)) {
		fputs("cprof: a profile is not written to a terminal; give -output=FILE\n", stderr);
		return -ENOTTY;
	}
	return ct_write(p, stdout);
}

/* Devices, pipes and the like can't be replaced by rename. */
static int write_directly(const struct ct_profile *p, const char *path)
{
	FILE *to = fopen(path, "we");
	int error;

	if (!to)
		return -errno;
	error = ct_write(p, to);
	if (fclose(to) && !error)
		error = -errno;
	return error;
}

static int write_all(const struct ct_profile *p, int fd, mode_t mode)
{
	FILE *to = fdopen(fd, "w");
	int error;

	if (!to) {
		error = -errno;
		close(fd);
		return error;
	}
	error = ct_write(p, to);
	if (!error && (fchmod(fd, mode) || fsync(fd)))
		error = -errno;
	if (fclose(to) && !error)
		error = -errno;
	return error;
}

static int replace(const struct ct_profile *p, const char *path, mode_t mode)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char *temporary = ct_printf("%.*s.%s.XXXXXX", (int)(name - path), path, name);
	int fd = mkostemp(temporary, O_CLOEXEC);
	int error = fd < 0 ? -errno : write_all(p, fd, mode);

	if (fd >= 0 && !error && rename(temporary, path))
		error = -errno;
	if (fd >= 0 && error)
		unlink(temporary);
	free(temporary);
	return error;
}

int ct_write_file(const struct ct_profile *p, const char *path)
{
	char *real = realpath(path, NULL); /* a link stays one */
	struct stat st;
	bool there = !stat(path, &st);
	int error;

	if (!strcmp(path, "-"))
		error = write_stdout(p);
	else if (there && !S_ISREG(st.st_mode))
		error = write_directly(p, path);
	else
		error = replace(p, real ? real : path, there ? st.st_mode & 0777 : 0600);
	free(real);
	if (error && error != -ENOTTY)
		fprintf(stderr, "cprof: %s can't be written: %s\n", path, strerror(-error));
	return error;
}
