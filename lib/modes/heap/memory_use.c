/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads /proc and the cgroup's files; see heap.h. */
#include "modes/heap/heap.h"

#include <errno.h>
#include <sys/resource.h>

#include "base/sys.h"
#include "base/text.h"

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
