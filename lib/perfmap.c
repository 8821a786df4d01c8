/* JIT names; see perfmap.h. The file may be anything: it lies in /tmp. */
#include "perfmap.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "sigsafe/sys.h"
#include "sigsafe/text.h"
#include "sort.h"

#define BUFFER ((size_t)64 << 10) /* a longer line is passed over */
#define NAME_MAX_BYTES 1024

_Static_assert(offsetof(struct cp_symbol_query, offset) == 0, "sort key");

struct wanted {
	uint64_t base;
	struct cp_symbol_query *q;
	size_t n;
	struct cp_arena *names;
	int error;
};

static void take_line(struct wanted *w, const char *line, size_t length)
{
	const char *s = line, *name = NULL;
	uint64_t start, size, offset;
	size_t i;

	if (cp_parse_u64(&s, 16, &start) || *s++ != ' ' || cp_parse_u64(&s, 16, &size) ||
	    *s++ != ' ' || !*s)
		return;
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
}

/* Whole lines of the N bytes at BUFFER: how many bytes they were. */
static size_t take_lines(struct wanted *w, char *buffer, size_t n)
{
	char *line = buffer, *end;

	while ((end = memchr(line, '\n', n - (size_t)(line - buffer)))) {
		*end = '\0';
		take_line(w, line, (size_t)(end - line));
		line = end + 1;
	}
	return (size_t)(line - buffer);
}

int cp_perfmap_read(int fd, uint64_t base, struct cp_symbol_query *q, size_t n,
		    struct cp_arena *names)
{
	struct wanted w = { base, q, n, names, 0 };
	char *buffer = cp_sys_map(BUFFER);
	size_t have = 0;
	long got = 0;

	if (!buffer)
		return -ENOMEM;
	cp_sort(q, n, sizeof(*q));
	while (!w.error && (got = cp_sys_read(fd, buffer + have, BUFFER - 1 - have)) > 0) {
		size_t taken;

		have += (size_t)got;
		taken = take_lines(&w, buffer, have);
		have -= taken;
		memmove(buffer, buffer + taken, have);
		/* No line is that long: what follows its end is read as a line again. */
		if (have == BUFFER - 1)
			have = 0;
	}
	cp_sys_unmap(buffer, BUFFER);
	return w.error ? w.error : got < 0 ? (int)got : 0;
}

/* Ours to trust: a plain file of the user that this process runs as. */
static bool is_trusted(int fd)
{
	struct stat st;

	return cp_sys4(SYS_newfstatat, fd, "", &st, AT_EMPTY_PATH) == 0 && S_ISREG(st.st_mode) &&
	       st.st_uid == (uid_t)cp_sys0(SYS_geteuid);
}

int cp_perfmap_find(uint64_t base, struct cp_symbol_query *q, size_t n, struct cp_arena *names)
{
	char path[64];
	int fd, err;

	cp_format(path, sizeof(path), "/tmp/perf-%d.map", cp_sys_getpid());
	fd = cp_sys_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	if (fd < 0)
		return fd;
	err = is_trusted(fd) ? cp_perfmap_read(fd, base, q, n, names) : -EPERM;
	cp_sys_close(fd);
	return err;
}
