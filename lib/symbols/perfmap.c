/* SPDX-License-Identifier: BSD-3-Clause */
/* JIT names, and text files line by line; see symbols.h. The JIT's file may contain anything,
 * because it is in /tmp. */
#include "symbols/symbols.h"

#include <errno.h>

#include "base/sys.h"
#include "base/text.h"

#define NAME_MAX_BYTES 1024

_Static_assert(offsetof(struct cp_symbol_query, offset) == 0, "sort key");

struct wanted {
	uint64_t base;
	struct cp_symbol_query *q;
	size_t n;
	struct cp_arena *names;
	int error;
};

/* Parse a number in base 16; some runtimes (Erlang's) write 0x before it. */
static int parse_number(const char **s, uint64_t *number)
{
	if ((*s)[0] == '0' && (*s)[1] == 'x')
		*s += 2;
	return cp_text_parse_u64(s, 16, number);
}

static bool take_line(void *wanted, const char *line, size_t length)
{
	struct wanted *w = wanted;
	const char *s = line, *name = NULL;
	uint64_t start, size, offset;
	size_t i;

	if (parse_number(&s, &start) || *s++ != ' ' || parse_number(&s, &size) || *s++ != ' ' ||
	    !*s)
		return true;
	offset = start > w->base ? start - w->base : 0;
	if (start < w->base)
		size -= size < w->base - start ? size : w->base - start;
	length -= (size_t)(s - line);
	i = cp_sort_first(w->q, w->n, sizeof(*w->q), offset);
	for (; i < w->n && w->q[i].offset - offset < size; i++) {
		if (!name)
			name = cp_arena_text(w->names, s,
					     length < NAME_MAX_BYTES ? length : NAME_MAX_BYTES);
		if (!name)
			w->error = -ENOMEM;
		w->q[i].name = name;
		w->q[i].start = offset;
	}
	return !w->error;
}

/* ---- lines ---- */

#define BUFFER ((size_t)64 << 10)

/* Pass on the complete lines of the N bytes at BUFFER. Returns how many bytes they took. */
static size_t take_lines(char *buffer, size_t n, cp_line_taker *take, void *to, bool *enough)
{
	char *line = buffer, *end;

	while (!*enough && (end = memchr(line, '\n', n - (size_t)(line - buffer)))) {
		*end = '\0';
		*enough = !take(to, line, (size_t)(end - line));
		line = end + 1;
	}
	return (size_t)(line - buffer);
}

int cp_perfmap_lines(int fd, cp_line_taker *take, void *to)
{
	char *buffer = cp_sys_map(BUFFER);
	bool enough = false;
	size_t have = 0;
	long got = 0;

	if (!buffer)
		return -ENOMEM;
	while (!enough && (got = cp_sys_read(fd, buffer + have, BUFFER - 1 - have)) > 0) {
		size_t taken;

		have += (size_t)got;
		taken = take_lines(buffer, have, take, to, &enough);
		have -= taken;
		memmove(buffer, buffer + taken, have);
		/* The line is too long: drop this piece and treat the following bytes as a line. */
		if (have == BUFFER - 1)
			have = 0;
	}
	cp_sys_unmap(buffer, BUFFER);
	return got < 0 ? (int)got : 0;
}

int cp_perfmap_read(int fd, uint64_t base, struct cp_symbol_query *q, size_t n,
		    struct cp_arena *names)
{
	struct wanted w = { base, q, n, names, 0 };
	int err;

	cp_sort(q, n, sizeof(*q));
	err = cp_perfmap_lines(fd, take_line, &w);
	return w.error ? w.error : err;
}

/* Can the file be trusted? It must be a regular file owned by the user that this process runs as,
 * and no second name that somebody has given to another file of that user. */
static bool is_trusted(int fd)
{
	struct stat st;

	return cp_sys4(SYS_newfstatat, fd, "", &st, AT_EMPTY_PATH) == 0 && S_ISREG(st.st_mode) &&
	       st.st_nlink == 1 && st.st_uid == (uid_t)cp_sys0(SYS_geteuid);
}

int cp_perfmap_find(uint64_t base, struct cp_symbol_query *q, size_t n, struct cp_arena *names)
{
	char path[64];
	int fd, err;

	cp_text_format(path, sizeof(path), "/tmp/perf-%d.map", cp_sys_getpid());
	fd = cp_sys_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	if (fd < 0)
		return fd;
	err = is_trusted(fd) ? cp_perfmap_read(fd, base, q, n, names) : -EPERM;
	cp_sys_close(fd);
	return err;
}
