/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory in use and its limits, read from /proc and from cgroups. */
#define OWN_MAIN
#include "harness.h"

#include <sys/stat.h>

#include "base/base.h"
#include "modes/heap/heap.h"

static char root[] = "/tmp/test-memory-use.XXXXXX";

static void put(const char *name, const char *text)
{
	char path[300];
	FILE *f;

	snprintf(path, sizeof(path), "%s%s", root, name);
	for (char *s = path + 1; (s = strchr(s, '/')); *s++ = '/') {
		*s = '\0';
		mkdir(path, 0700);
	}
	f = fopen(path, "w");
	if (f) {
		fputs(text, f);
		fclose(f);
	}
}

static struct cp_memory_use use(void)
{
	struct cp_memory_use u;

	cp_memory_use_find();
	cp_memory_use_read(&u);
	return u;
}

static void limit_is(const struct cp_memory_use *u, unsigned i, const char *of, uint64_t used,
		     uint64_t limit)
{
	CHECK(i < u->count && !strcmp(u->limits[i].of, of));
	CHECK_EQ(u->limits[i].used, used);
	CHECK_EQ(u->limits[i].limit, limit);
}

static void begin(void)
{
	char command[100], path[CP_THREAD_FILE_PATH];

	snprintf(command, sizeof(command), "rm -rf %s", root);
	if (system(command))
		exit(1);
	mkdir(root, 0700);
	put(cp_thread_file_path(path, "status"),
	    "Name: x\nVmSize:\t 4000 kB\nVmRSS:\t   1000 kB\n");
	put("/proc/meminfo", "MemTotal: 100000 kB\nMemFree: 1 kB\nMemAvailable: 90000 kB\n");
}

TEST(test_without_a_group_the_machine_is_the_limit)
{
	struct cp_memory_use u;

	begin();
	u = use();
	CHECK_EQ(u.resident, 1000 << 10);
	CHECK_EQ(u.count, 1);
	limit_is(&u, 0, "machine", 10000 << 10, 100000 << 10);
}

/* The group around the process's own has a limit. Pages of files that lie idle don't count. */
TEST(test_the_groups_around_it_have_limits)
{
	struct cp_memory_use u;

	begin();
	put("/proc/self/cgroup", "0::/a/b\n");
	put("/sys/fs/cgroup/a/b/memory.current", "5000000\n");
	put("/sys/fs/cgroup/a/b/memory.max", "max\n");
	put("/sys/fs/cgroup/a/memory.current", "7000000\n");
	put("/sys/fs/cgroup/a/memory.max", "8000000\n");
	put("/sys/fs/cgroup/a/memory.stat", "anon 6\ninactive_file 1000000\nactive_file 9\n");
	u = use();
	CHECK_EQ(u.count, 2);
	limit_is(&u, 1, "cgroup", 6000000, 8000000);
}

/* In a container the path is the host's, and the group is at the top. */
TEST(test_a_group_of_v1_is_the_limit)
{
	struct cp_memory_use u;

	begin();
	put("/proc/self/cgroup", "3:cpu:/x\n4:memory:/docker/123\n0::/\n");
	put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "3000000\n");
	put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "4000000\n");
	put("/sys/fs/cgroup/memory/memory.stat",
	    "cache 1\ninactive_file 7\ntotal_inactive_file 500000\n");
	u = use();
	CHECK_EQ(u.count, 2);
	limit_is(&u, 1, "cgroup", 2500000, 4000000);
	put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
	CHECK_EQ(use().count, 1);
}

static void end(void)
{
	char command[100];

	snprintf(command, sizeof(command), "rm -rf %s", root);
	if (system(command))
		exit(1);
}

int main(void)
{
	CHECK(mkdtemp(root));
	cp_memory_use_set_root(root);
	harness_all();
	end();
	return harness_end();
}
