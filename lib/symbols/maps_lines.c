/* SPDX-License-Identifier: BSD-3-Clause */
/* The lines of /proc/self/maps; see symbols.h. */
#include "symbols/symbols.h"

#include <errno.h>

#include "base/sys.h"
#include "base/text.h"

struct reader {
	void (*take)(struct cp_maps_line *l, void *arg);
	void *arg;
};

static const char *skip_spaces(const char *s)
{
	while (*s == ' ')
		s++;
	return s;
}

/* Parse "start-limit perms offset major:minor inode path", which ends with NUL. */
static int parse_line(const char *s, struct cp_maps_line *l)
{
	uint64_t major, minor;

	if (cp_text_parse_u64(&s, 16, &l->start) || *s++ != '-' ||
	    cp_text_parse_u64(&s, 16, &l->limit) || *s++ != ' ' || strlen(s) < 5)
		return -EINVAL;
	l->executable = s[2] == 'x';
	s += 5;
	if (cp_text_parse_u64(&s, 16, &l->offset) || *s++ != ' ' ||
	    cp_text_parse_u64(&s, 16, &major) || *s++ != ':' || cp_text_parse_u64(&s, 16, &minor) ||
	    *s++ != ' ' || cp_text_parse_u64(&s, 10, &l->inode))
		return -EINVAL;
	l->device = major << 32 | minor;
	l->path = skip_spaces(s);
	l->path_size = strlen(l->path);
	return 0;
}

/* Does the file at the line's path still belong to the line? */
static bool is_there(const struct cp_maps_line *l)
{
	struct stat st;

	return !cp_sys4(SYS_newfstatat, AT_FDCWD, l->path, &st, 0) && st.st_ino == l->inode;
}

/* The kernel writes a newline in a name as "\\012". A name may have these four characters itself.
 */
static void restore_newlines(struct cp_maps_line *l, char *path)
{
	static const char escape[] = "\\012";
	size_t n = sizeof(escape) - 1;

	if (!strstr(path, escape) || is_there(l))
		return;
	for (char *at = path; (at = strstr(at, escape)); at++) {
		*at = '\n';
		memmove(at + 1, at + n, strlen(at + n) + 1);
	}
	l->path_size = strlen(path);
}

/* A file's own name may end like that, too. */
static void strip_deleted(struct cp_maps_line *l)
{
	static const char suffix[] = " (deleted)";
	size_t n = sizeof(suffix) - 1;

	l->deleted =
		l->path_size > n && !memcmp(l->path + l->path_size - n, suffix, n) && !is_there(l);
	if (l->deleted)
		l->path_size -= n;
}

/* MAP_SHARED without a file: the kernel creates a file, which can't be read. */
static bool is_shared_memory(const struct cp_maps_line *l)
{
	static const char name[] = "/dev/zero";

	return l->deleted && l->path_size == sizeof(name) - 1 &&
	       !memcmp(l->path, name, sizeof(name) - 1);
}

static void take_text(const struct reader *r, char *text)
{
	struct cp_maps_line l = { 0 };

	if (parse_line(text, &l) < 0)
		return;
	if (l.executable) {
		restore_newlines(&l, text + (l.path - text));
		strip_deleted(&l);
	}
	if (l.executable && is_shared_memory(&l)) {
		l.inode = l.path_size = 0;
		l.deleted = false;
	}
	r->take(&l, r->arg);
}

static int take_loader_maps(const struct reader *r)
{
	const struct cp_loader_map *map;

	for (size_t i = 0; (map = cp_loader_maps_at(i)); i++) {
		struct cp_maps_line l = { .start = map->start,
					  .limit = map->limit,
					  .offset = map->offset };

		l.device = map->device;
		l.inode = map->inode;
		l.executable = map->executable;
		l.path = map->path;
		l.path_size = strlen(map->path);
		r->take(&l, r->arg);
	}
	return 0;
}

/* Pass complete lines of the file on. */
static int take_file(const struct reader *r, int fd, char *buffer, size_t size)
{
	size_t have = 0;
	long got;

	while ((got = cp_sys_read(fd, buffer + have, size - 1 - have)) > 0) {
		char *line = buffer, *end;

		have += (size_t)got;
		buffer[have] = '\0';
		while ((end = memchr(line, '\n', have - (size_t)(line - buffer)))) {
			*end = '\0';
			take_text(r, line);
			line = end + 1;
		}
		have -= (size_t)(line - buffer);
		memmove(buffer, line, have);
		if (have >= CP_MAPS_LINES_MOST)
			return -EINVAL;
	}
	return (int)got;
}

int cp_maps_lines_read(char *buffer, size_t size, void (*take)(struct cp_maps_line *l, void *arg),
		       void *arg)
{
	struct reader r = { take, arg };
	int err, fd = cp_thread_file_open("maps");

	if (fd < 0)
		return cp_loader_maps_at(0) ? take_loader_maps(&r) : fd;
	err = take_file(&r, fd, buffer, size);
	cp_sys_close(fd);
	return err;
}
