/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernel symbols; see symbols.h. Lines are "address type name", followed by a tab and "[module]"
 * for modules. */
#include "symbols/symbols.h"

#include <errno.h>

#include "base/sys.h"
#include "base/text.h"

#define NAME_MAX_BYTES 512

/* No function is longer than this: an address further after a symbol doesn't belong to it. In the
 * kernel's own part the next symbol ends a function. The symbols of modules and of BPF programs are
 * unordered. */
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
	uint64_t highest; /* highest address of the queries */
	struct cp_arena *names;
	struct symbol last;
	int error;
};

/* Assign the addresses from the last symbol up to LIMIT to that symbol. */
static void settle_symbol(struct reading *r, uint64_t limit)
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
		/* A nearer symbol, out of order, was read before. */
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

static bool take_line(void *reading, const char *s, size_t length)
{
	struct reading *r = reading;
	const char *end = s + length, *tab;
	uint64_t start;
	bool done;
	char type;

	if (cp_text_parse_u64(&s, 16, &start) || s[0] != ' ' || !s[1] || s[2] != ' ' || !s[3])
		return true;
	type = s[1];
	/* Several names for one address: the first one is kept. */
	if (start == r->last.start && r->last.code)
		return true;
	settle_symbol(r, start);
	/* The last address is passed, and every address has a name from the sorted part. Symbols of
	 * modules follow, whatever their addresses. */
	done = r->last.start <= r->highest && start > r->highest && all_named(r);
	s += 3;
	tab = memchr(s, '\t', (size_t)(end - s));
	r->last.start = start;
	r->last.code = is_code(type);
	r->last.length = (size_t)((tab ? tab : end) - s);
	if (r->last.length > NAME_MAX_BYTES)
		r->last.length = NAME_MAX_BYTES;
	memcpy(r->last.name, s, r->last.length);
	return !done && !r->error;
}

int cp_kallsyms_read(int fd, struct cp_symbol_query *q, size_t n, struct cp_arena *names)
{
	struct reading r = { .q = q, .n = n, .names = names };
	int err;

	cp_sort(q, n, sizeof(*q));
	r.highest = n ? q[n - 1].offset : 0;
	err = cp_perfmap_lines(fd, take_line, &r);
	settle_symbol(&r, UINT64_MAX);
	return r.error ? r.error : err;
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
