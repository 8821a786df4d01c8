/* SPDX-License-Identifier: BSD-3-Clause */
/* See core.h. */
#include "core/core.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#define TRIES 16
/* A name has at most 255 bytes, and the temporary name must fit, too. */
#define NAME_KEPT 230
/* A profile may have a gigabyte as text. */
#define BUFFER ((size_t)256 << 10)

/* Returns true if the file's owner is the user, or root, who could write any file. */
static bool is_trusted(const struct stat *st)
{
	return st->st_uid == geteuid() || !st->st_uid;
}

/* Is PATH a stream or a device, which is written directly? A name in /dev may lead to any open
 * file. */
static bool is_special(const char *path)
{
	return (ct_starts(path, "/dev/") && !ct_starts(path, "/dev/shm/")) ||
	       ct_starts(path, "/proc/");
}

/* Makes the stream of FD, which may be -1 after an error. Returns 0 or a negative errno. */
static int open_stream(struct ct_target *t, int fd)
{
	t->to = fd < 0 ? NULL : fdopen(fd, "w");
	if (!t->to)
		return -errno;
	t->buffer = ct_memory_realloc(NULL, BUFFER, 1);
	setvbuf(t->to, t->buffer, _IOFBF, BUFFER);
	return 0;
}

/* FLAGS: O_TRUNC; or O_NOFOLLOW for a file that was examined, but may be another one by now. */
static int open_directly(struct ct_target *t, const char *path, int flags)
{
	int fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC | flags);
	struct stat now;

	if (fd >= 0 && flags == O_NOFOLLOW &&
	    (fstat(fd, &now) || now.st_dev != t->was.st_dev || now.st_ino != t->was.st_ino)) {
		close(fd);
		return -ESTALE;
	}
	return open_stream(t, fd);
}

static int open_temporary(struct ct_target *t)
{
	int fd = -1;

	for (unsigned try = 0; fd < 0 && try < TRIES; try++) {
		uint64_t random = 0;

		if (getrandom(&random, sizeof(random), 0) < 0)
			return -errno;
		free(t->temporary);
		t->temporary = ct_memory_printf(".%.*s.%d-%08x.tmp", NAME_KEPT, t->name,
						(int)getpid(), (unsigned)random);
		fd = openat(t->directory, t->temporary,
			    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	if (!open_stream(t, fd)) {
		/* A file without a lock was left by a killed process; the library removes it. */
		flock(fd, LOCK_EX | LOCK_NB);
		return 0;
	}
	free(t->temporary);
	t->temporary = NULL;
	return -errno;
}

static void forget_target(struct ct_target *t)
{
	if (t->directory >= 0)
		close(t->directory);
	free(t->name);
	free(t->temporary);
	free(t->buffer);
	t->directory = -1;
	t->name = t->temporary = t->buffer = NULL;
	t->to = NULL;
}

static int open_replacing(struct ct_target *t, const char *path)
{
	const char *slash = strrchr(path, '/');
	char *directory = slash ? ct_memory_printf("%.*s", (int)(slash - path) + 1, path)
				: ct_memory_strdup(".");
	int error;

	t->name = ct_memory_strdup(slash ? slash + 1 : path);
	t->directory = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	error = t->directory < 0 ? -errno : *t->name ? open_temporary(t) : -EISDIR;
	free(directory);
	if (error)
		forget_target(t);
	return error;
}

/* Handles a link at PATH: if it leads to a file, that file is replaced and the link stays; any
 * other link is itself replaced. */
static int open_linked(struct ct_target *t, const char *path)
{
	char *real = realpath(path, NULL);
	int error = -EINVAL;

	if (!real)
		return open_replacing(t, path);
	if (!lstat(real, &t->was) && S_ISREG(t->was.st_mode))
		error = open_replacing(t, real);
	free(real);
	return error;
}

int ct_target_open(struct ct_target *t, const char *path)
{
	struct stat *st = &t->was;

	*t = (struct ct_target){ .directory = -1 };
	if (is_special(path))
		return open_directly(t, path, O_TRUNC);
	if (lstat(path, st)) {
		*st = (struct stat){ 0 };
		return errno == ENOENT ? open_replacing(t, path) : -errno;
	}
	if (S_ISREG(st->st_mode))
		return open_replacing(t, path);
	if (S_ISDIR(st->st_mode))
		return -EISDIR;
	if (!is_trusted(st))
		return -EPERM;
	if (S_ISLNK(st->st_mode))
		return open_linked(t, path);
	return S_ISCHR(st->st_mode) || S_ISFIFO(st->st_mode) ? open_directly(t, path, O_NOFOLLOW)
							     : -EINVAL;
}

static mode_t mode_of(const struct ct_target *t)
{
	bool kept = S_ISREG(t->was.st_mode) && t->was.st_uid == geteuid();

	return kept ? t->was.st_mode & 0777 : 0600;
}

/* As the library does it: a new name has nothing to lose, and fsync waits for the disk, for seconds
 * if others write. */
static bool takes_a_place(const struct ct_target *t)
{
	return S_ISREG(t->was.st_mode) && t->was.st_size > 0;
}

/* Does everything that can fail before the rename. */
static int complete(struct ct_target *t)
{
	int fd = fileno(t->to);

	if (fflush(t->to))
		return -errno;
	if (ferror(t->to))
		return -EIO;
	if (!t->temporary)
		return 0;
	if (fchmod(fd, mode_of(t)) || (takes_a_place(t) && fsync(fd)))
		return -errno;
	/* The new profile gets the time of the old one, by which a running process recognizes its
	 * file. */
	if (t->dated && S_ISREG(t->was.st_mode))
		futimens(fd, (struct timespec[]){ t->was.st_atim, t->was.st_mtim });
	return 0;
}

int ct_target_close(struct ct_target *t, int error)
{
	error = error ? error : complete(t);
	if (fclose(t->to) && !error)
		error = -errno;
	if (t->temporary && !error && renameat(t->directory, t->temporary, t->directory, t->name))
		error = -errno;
	if (t->temporary && error)
		unlinkat(t->directory, t->temporary, 0);
	forget_target(t);
	return error;
}
