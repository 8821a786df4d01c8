/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds source files, and their lines; see model.h. */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/read.h"

#define FILE_MAX ((off_t)64 << 20)

/* Returns the descriptor of a regular file, or a negative errno. A FIFO must not block cprof. */
static int open_regular(const char *path, size_t *size)
{
	int fd = ct_input_open_plain(path);
	struct stat st;
	int error = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		error = -errno;
	else if (!S_ISREG(st.st_mode))
		error = -EINVAL;
	else if (st.st_size > FILE_MAX)
		error = -EFBIG;
	if (error) {
		close(fd);
		return error;
	}
	*size = (size_t)st.st_size;
	return fd;
}

/* Opens FILE in DIRECTORY or in one of its parents. */
static int open_upwards(const char *directory, const char *file, size_t *size)
{
	char *at = realpath(directory, NULL);
	int fd = -ENOENT;

	while (at && fd < 0) {
		char *path = ct_memory_printf("%s/%s", at, file), *slash = strrchr(at, '/');

		fd = open_regular(path, size);
		free(path);
		if (!slash || !at[1])
			break;
		slash[slash == at] = '\0';
	}
	free(at);
	return fd;
}

static int open_in(const char *search_path, const char *file, size_t *size)
{
	char *copy = ct_memory_strdup(search_path), *rest = copy, *directory;
	int fd = -ENOENT;

	while (fd < 0 && (directory = strsep(&rest, ":")))
		if (*directory)
			fd = open_upwards(directory, file, size);
	free(copy);
	return fd;
}

/* Returns PATH without the first of PREFIXES that it begins with. */
static const char *trim(const char *path, const char *prefixes)
{
	for (const char *p = prefixes; *p;) {
		size_t n = strcspn(p, ":");

		if (n && !strncmp(path, p, n) && (p[n - 1] == '/' || path[n] == '/'))
			return path + n + strspn(path + n, "/");
		p += n + (p[n] == ':');
	}
	return path;
}

/* Returns the part of PATH after the name of a search directory, if PATH has a directory of that
 * name; else PATH. Finds the sources of a tree that was built in another place. */
static const char *below_same_name(const char *path, const char *search_path)
{
	char *copy = ct_memory_strdup(search_path), *rest = copy, *directory;
	const char *found = NULL;

	while (!found && (directory = strsep(&rest, ":"))) {
		char *want = ct_memory_printf("/%s/", ct_base_name(directory));

		found = want[1] == '/' ? NULL : strstr(path, want);
		if (found)
			found += strlen(want);
		free(want);
	}
	free(copy);
	return found ? found : path;
}

static int open_source(const char *path, const char *search_path, const char *trim_path,
		       size_t *size)
{
	if (trim_path)
		path = trim(path, trim_path);
	else if (search_path)
		path = below_same_name(path, search_path);
	path = trim(path, "/proc/self/cwd");
	return *path == '/' ? open_regular(path, size)
			    : open_in(search_path ? search_path : ".", path, size);
}

static void split(struct ct_source *s, size_t size)
{
	size_t room = 0, n = 0;
	char *rest = s->text;

	*CT_PUSH(s->lines, n, room) = NULL; /* lines count from 1 */
	for (size_t i = 0; i < size; i++)
		if (!s->text[i])
			s->text[i] = '?';
	while (rest && rest < s->text + size)
		*CT_PUSH(s->lines, n, room) = strsep(&rest, "\n");
	s->count = n - 1;
}

int ct_source_read(struct ct_source *s, const char *path, const char *search_path,
		   const char *trim_path)
{
	size_t size = 0, got = 0;
	int fd = open_source(path, search_path, trim_path, &size);
	long n = 1;

	if (fd < 0)
		return fd;
	*s = (struct ct_source){ .text = ct_memory_alloc(size + 1) };
	while (got < size && (n = read(fd, s->text + got, size - got)) > 0)
		got += (size_t)n;
	close(fd);
	if (n < 0) {
		free(s->text);
		return -EIO;
	}
	s->text[got] = '\0';
	split(s, got);
	return 0;
}

void ct_source_release(struct ct_source *s)
{
	free(s->text);
	free(s->lines);
	*s = (struct ct_source){ 0 };
}
