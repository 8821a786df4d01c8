/* Kernel symbols; see kallsyms.h. Lines are "address type name", with "[module]" behind a tab. */
#include "kallsyms.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "sigsafe/sys.h"
#include "sigsafe/text.h"
#include "sort.h"

#define BUFFER ((size_t)64 << 10)
#define NAME_MAX_BYTES 512

/* No function is that long: what is further behind a symbol isn't its own. In the kernel's own part
 * the next symbol ends it; those of modules and of BPF programs are in no order. */
#define FUNCTION_MAX ((uint64_t)256 << 10)

struct symbol {
	uint64_t start;
	bool code;
	char name[NAME_MAX_BYTES];
	size_t length;
};

struct reading {
	struct cp_symbol_query *q;
	size_t n;
	uint64_t highest; /* of the addresses */
	struct cp_arena *names;
	struct symbol last;
	bool done;
	int error;
};

/* The addresses from the last symbol up to LIMIT are its own. */
static void settle(struct reading *r, uint64_t limit)
{
	const struct symbol *s = &r->last;
	const char *name = NULL;
	size_t i;

	if (!s->code || !s->start)
		return;
	if (limit <= s->start || limit - s->start > FUNCTION_MAX)
		limit = s->start + FUNCTION_MAX;
	i = cp_sort_first(r->q, r->n, sizeof(*r->q), s->start);
	for (; i < r->n && r->q[i].offset < limit; i++) {
		/* What begins closer before it was read already, out of order. */
		if (r->q[i].name && r->q[i].start > s->start)
			continue;
		if (!name)
			name = cp_arena_text(r->names, s->name, s->length);
		if (!name)
			r->error = -ENOMEM;
		r->q[i].name = name;
		r->q[i].start = s->start;
	}
}

static bool is_code(char type)
{
	return type == 't' || type == 'T' || type == 'w' || type == 'W' || type == 'i';
}

static bool all_named(const struct reading *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (!r->q[i].name)
			return false;
	return true;
}

static void take_line(struct reading *r, const char *s)
{
	uint64_t start;
	const char *end;
	char type;

	if (cp_parse_u64(&s, 16, &start) || s[0] != ' ' || !s[1] || s[2] != ' ' || !s[3])
		return;
	type = s[1];
	/* Other names of one place: the first is kept. */
	if (start == r->last.start && r->last.code)
		return;
	settle(r, start);
	/* Past the last address, with a name for each: in the part that is sorted. Those of modules
	 * come behind it, wherever they lie. */
	r->done = r->last.start <= r->highest && start > r->highest && all_named(r);
	s += 3;
	end = strchr(s, '\t');
	r->last.start = start;
	r->last.code = is_code(type);
	r->last.length = end ? (size_t)(end - s) : strlen(s);
	if (r->last.length > NAME_MAX_BYTES)
		r->last.length = NAME_MAX_BYTES;
	memcpy(r->last.name, s, r->last.length);
}

static size_t take_lines(struct reading *r, char *buffer, size_t n)
{
	char *line = buffer, *end;

	while (!r->done && (end = memchr(line, '\n', n - (size_t)(line - buffer)))) {
		*end = '\0';
		take_line(r, line);
		line = end + 1;
	}
	return (size_t)(line - buffer);
}

int cp_kallsyms_read(int fd, struct cp_symbol_query *q, size_t n, struct cp_arena *names)
{
	struct reading r = { .q = q, .n = n, .names = names };
	char *buffer = cp_sys_map(BUFFER);
	size_t have = 0;
	long got = 0;

	if (!buffer)
		return -ENOMEM;
	cp_sort(q, n, sizeof(*q));
	r.highest = n ? q[n - 1].offset : 0;
	while (!r.error && !r.done &&
	       (got = cp_sys_read(fd, buffer + have, BUFFER - 1 - have)) > 0) {
		size_t taken;

		have += (size_t)got;
		taken = take_lines(&r, buffer, have);
		have -= taken;
		memmove(buffer, buffer + taken, have);
		if (have == BUFFER - 1)
			have = 0; /* no line is that long */
	}
	settle(&r, UINT64_MAX);
	cp_sys_unmap(buffer, BUFFER);
	return r.error ? r.error : got < 0 ? (int)got : 0;
}

int cp_kallsyms_find(struct cp_symbol_query *q, size_t n, struct cp_arena *names)
{
	int fd = cp_sys_open("/proc/kallsyms", O_RDONLY, 0), err;

	if (fd < 0)
		return fd;
	err = cp_kallsyms_read(fd, q, n, names);
	cp_sys_close(fd);
	return err;
}
