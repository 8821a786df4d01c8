/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums of resident memory; see heap.h. */
#include "modes/heap/heap.h"

#include <errno.h>

#include "base/sys.h"
#include "base/text.h"

#define BUFFER 16384
#define LINE_MOST 4400 /* a path of PATH_MAX and the fields before it */

/* Each arena of glibc's malloc but the first begins at a multiple of this. */
#define ARENA (UINT64_C(64) << 20)

/* A thread's stack and its guard are mappings, and smaps takes 3 us for each. */
#define THREADS_MOST 2000

struct area {
	uint64_t start, end; /* the key is START */
	uint64_t resident;   /* bytes */
	enum cp_memory_table_kind kind;
	bool is_modules_data; /* a file's private writable mapping: its .bss may follow */
};

static struct area *area_at(const struct cp_memory_table *t, size_t i)
{
	return CP_VEC_AT(&t->areas, struct area, i);
}

static bool has_stack(const struct cp_memory_table *t, uint64_t start, uint64_t end)
{
	size_t i = cp_sort_first(t->stacks.items, t->stacks.count, sizeof(uint64_t), start);

	return i < t->stacks.count && *CP_VEC_AT(&t->stacks, uint64_t, i) < end;
}

static enum cp_memory_table_kind kind_of_file(const struct cp_memory_table *t, const char *path)
{
	static const char *const shared[] = { "/SYSV", "/memfd:", "/dev/zero", "/dev/shm/" };

	for (unsigned i = 0; i < sizeof(shared) / sizeof(*shared); i++)
		if (cp_text_begins(path, shared[i]))
			return CP_MEMORY_SHARED;
	return t->own_path && !strcmp(path, t->own_path) ? CP_MEMORY_OWN : CP_MEMORY_FILES;
}

static enum cp_memory_table_kind kind_of(const struct cp_memory_table *t, const struct area *a,
					 const char *path)
{
	const struct area *before = t->areas.count ? area_at(t, t->areas.count - 1) : NULL;

	if (*path == '/')
		return kind_of_file(t, path);
	if (!strcmp(path, "[heap]"))
		return CP_MEMORY_HEAP;
	if (cp_text_begins(path, "[stack"))
		return CP_MEMORY_STACKS;
	if (*path == '[' && !cp_text_begins(path, "[anon"))
		return CP_MEMORY_FILES;
	if (cp_sys_is_own_part(a->start))
		return CP_MEMORY_OWN;
	if (has_stack(t, a->start, a->end))
		return CP_MEMORY_STACKS;
	if (before && before->is_modules_data && before->end == a->start)
		return before->kind;
	return t->is_glibc && !(a->start % ARENA) ? CP_MEMORY_HEAP : CP_MEMORY_ANONYMOUS;
}

/* Returns the text after N fields that are separated by blanks. */
static const char *skip_fields(const char *s, unsigned n)
{
	for (; n > 0; n--) {
		s += strcspn(s, " ");
		s += strspn(s, " ");
	}
	return s;
}

/* Add the area of a line "start-end perms offset device inode path". */
static int add_area(struct cp_memory_table *t, const char *line)
{
	struct area a = { 0 }, *to;
	const char *s = line, *perms, *path;

	if (cp_text_parse_u64(&s, 16, &a.start) || *s++ != '-' || cp_text_parse_u64(&s, 16, &a.end))
		return 0;
	perms = skip_fields(s, 1);
	path = skip_fields(perms, 4);
	a.kind = kind_of(t, &a, path);
	a.is_modules_data = *path == '/' && !strncmp(perms, "rw-p", 4);
	to = cp_vec_add(&t->areas);
	if (!to)
		return -ENOMEM;
	*to = a;
	return 0;
}

/* Return the bytes of a line such as "Rss: 12 kB". */
static uint64_t bytes_of(const char *line)
{
	const char *s = skip_fields(line, 1);
	uint64_t kb = 0;

	return cp_text_parse_u64(&s, 10, &kb) ? 0 : kb << 10;
}

static int add_line(struct cp_memory_table *t, const char *line)
{
	/* Names of fields begin with capitals; lines of areas don't. */
	if (*line >= 'A' && *line <= 'Z') {
		if (!t->areas.count)
			return 0;
		if (cp_text_begins(line, "Rss:"))
			area_at(t, t->areas.count - 1)->resident = bytes_of(line);
		else if (cp_text_begins(line, "Swap:"))
			t->swapped += bytes_of(line);
		return 0;
	}
	return add_area(t, line);
}

int cp_memory_table_add(struct cp_memory_table *t, char *text)
{
	char *end;
	int err = 0;

	t->areas.size = sizeof(struct area);
	for (; !err && (end = strchr(text, '\n')); text = end + 1) {
		*end = '\0';
		err = add_line(t, text);
	}
	return err;
}

static int add_stacks(struct cp_memory_table *t)
{
	t->stacks.size = sizeof(uint64_t);
	for (uint32_t i = 0; i < cp_thread_limit(); i++) {
		const struct cp_thread *thread = cp_thread_at(i);
		uint64_t *to;

		if (!thread || cp_load_relaxed(&thread->state) != CP_THREAD_LIVE ||
		    !thread->stack_high)
			continue;
		to = cp_vec_add(&t->stacks);
		if (!to)
			return -ENOMEM;
		*to = thread->stack_high - 1;
	}
	cp_sort(t->stacks.items, t->stacks.count, sizeof(uint64_t));
	return 0;
}

static const char *own_path(const struct cp_modules *m)
{
	for (uint32_t i = 0; i < m->mappings.count; i++)
		if (cp_modules_at(m, i)->ours)
			return cp_modules_at(m, i)->path;
	return NULL;
}

/* Each read gives whole lines, but the buffer may end within one. */
static int read_all(struct cp_memory_table *t, int fd)
{
	char buffer[BUFFER];
	size_t kept = 0;
	long got;
	int err = 0;

	while (!err && (got = cp_sys_read(fd, buffer + kept, sizeof(buffer) - 1 - kept)) > 0) {
		size_t n = kept + (size_t)got, whole = n;
		char first;

		while (whole > 0 && buffer[whole - 1] != '\n')
			whole--;
		/* No line of smaps is longer. */
		if (n - whole > LINE_MOST)
			return -EIO;
		first = buffer[whole];
		buffer[whole] = '\0';
		err = cp_memory_table_add(t, buffer);
		buffer[whole] = first;
		kept = n - whole;
		memmove(buffer, buffer + whole, kept);
	}
	return err ? err : got < 0 ? (int)got : t->areas.count ? 0 : -EIO;
}

int cp_memory_table_read(struct cp_memory_table *t, const struct cp_modules *modules, bool is_glibc)
{
	int fd = cp_thread_file_open("smaps"), err;

	*t = (struct cp_memory_table){ .own_path = own_path(modules), .is_glibc = is_glibc };
	if (fd < 0)
		return fd;
	err = add_stacks(t);
	if (!err && t->stacks.count > THREADS_MOST)
		err = -E2BIG;
	if (!err)
		err = read_all(t, fd);
	cp_sys_close(fd);
	if (err)
		cp_memory_table_release(t);
	return err;
}

void cp_memory_table_mark(struct cp_memory_table *t, uint64_t address)
{
	struct area *a = t->areas.count ? area_at(t, t->found) : NULL;
	size_t i;

	if (!a)
		return;
	if (address - a->start >= a->end - a->start) {
		i = cp_sort_first(t->areas.items, t->areas.count, sizeof(*a), address + 1);
		if (!i)
			return;
		t->found = i - 1;
		a = area_at(t, t->found);
		if (address - a->start >= a->end - a->start)
			return;
	}
	if (a->kind == CP_MEMORY_ANONYMOUS)
		a->kind = CP_MEMORY_HEAP;
}

void cp_memory_table_sum(const struct cp_memory_table *t, struct cp_memory_sums *to)
{
	*to = (struct cp_memory_sums){ .swapped = t->swapped };
	for (size_t i = 0; i < t->areas.count; i++)
		to->resident[area_at(t, i)->kind] += area_at(t, i)->resident;
}

void cp_memory_table_release(struct cp_memory_table *t)
{
	cp_vec_release(&t->areas);
	cp_vec_release(&t->stacks);
	*t = (struct cp_memory_table){ 0 };
}
