/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums of resident memory, and its limits; see heap.h. */
#include "modes/heap/heap.h"

#include <errno.h>
#include <sys/resource.h>

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

/* Reads /proc and the cgroup's files. */

#define PATH 1024
#define TEXT 8192 /* memory.stat has some 60 lines */

/* A limit of a cgroup that is at least this large means no limit: v1 writes the largest number of
 * pages. */
#define UNLIMITED (UINT64_C(1) << 60)

struct version {
	const char *base, *limit, *used, *inactive;
};

static const struct version v1 = { "/sys/fs/cgroup/memory", "memory.limit_in_bytes",
				   "memory.usage_in_bytes", "\ntotal_inactive_file " };
static const struct version v2 = { "/sys/fs/cgroup", "memory.max", "memory.current",
				   "\ninactive_file " };

static const char *root = "";
static const struct version *version; /* NULL: no cgroup with a limit of memory was found */
static char group[PATH];	      /* the cgroup's directory, without ROOT */

void cp_memory_use_set_root(const char *to)
{
	root = to;
}

/* Reads the file DIR/NAME into TO. Returns whether there is text. */
static bool read_file(const char *dir, const char *name, char *to, size_t size)
{
	char path[2 * PATH];
	long got = 0, n = 0;
	int fd;

	cp_text_format(path, sizeof(path), "%s%s%s%s", root, dir, *name ? "/" : "", name);
	fd = cp_sys_open(path, O_RDONLY, 0);
	if (fd < 0)
		return false;
	while ((size_t)n + 1 < size && (got = cp_sys_read(fd, to + n, size - 1 - (size_t)n)) > 0)
		n += got;
	cp_sys_close(fd);
	to[n] = '\0';
	return n > 0;
}

uint64_t cp_memory_use_number(const char *text, const char *key)
{
	const char *s = strstr(text, key);
	uint64_t n = 0;

	if (!s)
		return 0;
	s += strlen(key);
	s += strspn(s, " \t");
	return cp_text_parse_u64(&s, 10, &n) ? 0 : n;
}

static uint64_t file_number(const char *dir, const char *name)
{
	char text[64];
	const char *s = text;
	uint64_t n = 0;

	return read_file(dir, name, text, sizeof(text)) && !cp_text_parse_u64(&s, 10, &n) ? n : 0;
}

/* Is PATH the cgroup's directory, as the process sees it? In a container the path of /proc may be
 * the host's. */
static bool try_group(const struct version *v, const char *path)
{
	char text[64];

	cp_text_format(group, sizeof(group), "%s%s", v->base, strcmp(path, "/") ? path : "");
	if (!read_file(group, v->used, text, sizeof(text)))
		return false;
	version = v;
	return true;
}

/* LINE is "4:memory:/path" or "0::/path". */
static void look_at_line(char *line)
{
	char *controllers = strchr(line, ':'),
	     *path = controllers ? strchr(controllers + 1, ':') : NULL;
	const struct version *v;

	if (!path)
		return;
	*path++ = '\0';
	controllers++;
	v = !*controllers ? &v2 : strstr(controllers, "memory") ? &v1 : NULL;
	if (v && !try_group(v, path))
		try_group(v, "/");
}

void cp_memory_use_find(void)
{
	char text[TEXT], *line = text, *end;

	version = NULL;
	if (!read_file("/proc/self", "cgroup", text, sizeof(text)))
		return;
	for (; !version && (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		look_at_line(line);
	}
}

static void add_use(struct cp_memory_use *to, uint64_t used, uint64_t limit, const char *of)
{
	if (limit && limit < UNLIMITED && to->count < CP_MEMORY_USE_LIMITS)
		to->limits[to->count++] = (struct cp_memory_limit){ used, limit, of };
}

/* Pages of files that were not used lately don't count: the kernel drops them before it kills. */
static void look_at_group(struct cp_memory_use *to, const char *dir)
{
	char text[TEXT];
	uint64_t limit = file_number(dir, version->limit), used, inactive;

	if (!limit || limit >= UNLIMITED)
		return;
	used = file_number(dir, version->used);
	inactive = read_file(dir, "memory.stat", text, sizeof(text))
			   ? cp_memory_use_number(text, version->inactive)
			   : 0;
	add_use(to, used > inactive ? used - inactive : 0, limit, "cgroup");
}

static void look_at_groups(struct cp_memory_use *to)
{
	char dir[PATH];
	size_t base = strlen(version->base);

	memcpy(dir, group, sizeof(dir));
	for (;;) {
		look_at_group(to, dir);
		if (strlen(dir) <= base)
			return;
		*strrchr(dir, '/') = '\0';
	}
}

static void look_at_process(struct cp_memory_use *to)
{
	char text[TEXT], path[CP_THREAD_FILE_PATH];
	struct rlimit l = { 0 };

	if (!read_file(cp_thread_file_path(path, "status"), "", text, sizeof(text)))
		return;
	to->resident = cp_memory_use_number(text, "VmRSS:") << 10;
	if (cp_sys4(SYS_prlimit64, 0, RLIMIT_AS, NULL, &l) == 0 && l.rlim_cur != RLIM_INFINITY)
		add_use(to, cp_memory_use_number(text, "VmSize:") << 10, l.rlim_cur,
			"address space");
}

static void look_at_machine(struct cp_memory_use *to)
{
	char text[TEXT];
	uint64_t all, free;

	if (!read_file("/proc", "meminfo", text, sizeof(text)))
		return;
	all = cp_memory_use_number(text, "MemTotal:") << 10;
	free = cp_memory_use_number(text, "MemAvailable:") << 10;
	add_use(to, all > free ? all - free : 0, all, "machine");
}

void cp_memory_use_read(struct cp_memory_use *to)
{
	*to = (struct cp_memory_use){ 0 };
	look_at_process(to);
	look_at_machine(to);
	if (version)
		look_at_groups(to);
}
