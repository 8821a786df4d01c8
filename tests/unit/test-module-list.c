/* SPDX-License-Identifier: BSD-3-Clause */
/* A fork while a thread of ours is in the loader's list: the child's walk of it must not hang. */
#include "clock.h"
#include "harness.h"

#include "unwind/unwind.h"
#include "base/atomic.h"

static uint32_t in_list, forking;

static int stay(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)info;
	(void)size;
	(void)arg;
	cp_store_release(&in_list, 1);
	while (!cp_load_acquire(&forking))
		nap(1000000);
	/* The fork is about to look for us, or does already. */
	for (int i = 0; i < 5; i++)
		nap(1000000);
	return 1;
}

static void *walk(void *arg)
{
	cp_module_list(stay, NULL);
	return arg;
}

static int count(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)info;
	(void)size;
	++*(int *)arg;
	return 0;
}

static void before(void)
{
	cp_store_release(&forking, 1);
	cp_module_list_fork_begin();
}

TEST(test_child_of_a_fork_amid_a_walk)
{
	pthread_t t;
	int status = -1;
	pid_t child;

	pthread_atfork(before, cp_module_list_fork_end, cp_module_list_fork_child);
	CHECK_EQ(pthread_create(&t, NULL, walk, NULL), 0);
	while (!cp_load_acquire(&in_list))
		nap(1000000);
	child = fork();
	if (child == 0) {
		int modules = 0;

		alarm(20);
		dl_iterate_phdr(count, &modules);
		cp_module_list(count, &modules);
		_exit(modules > 1 ? 0 : 1);
	}
	CHECK(child > 0);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	pthread_join(t, NULL);
}

static struct {
	uint32_t tid, done;
	uint64_t took_ns;
	int modules;
} late;

static void *walk_late(void *arg)
{
	uint64_t began = now_ns();

	cp_store_release(&late.tid, (uint32_t)syscall(SYS_gettid));
	cp_module_list(count, &late.modules);
	late.took_ns = now_ns() - began;
	cp_store_release(&late.done, 1);
	return arg;
}

/* It is in the call that a walk waits with; where /proc doesn't tell, false. */
static bool is_waiting(unsigned tid)
{
	char path[64];
	int call = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%u/syscall", tid);
	f = fopen(path, "r");
	if (!f)
		return false;
	if (fscanf(f, "%d", &call) != 1)
		call = -1;
	fclose(f);
	return call == SYS_nanosleep;
}

/* However late this thread, which forks, comes to look: it is seen to wait, or has waited as long
 * as it does at most. */
TEST(test_a_walk_waits_for_a_fork)
{
	bool waits = false;
	int modules = 0;
	pthread_t t;

	cp_module_list_fork_begin();
	/* Not the forking thread's own. */
	cp_module_list(count, &modules);
	CHECK(modules > 0);
	CHECK_EQ(pthread_create(&t, NULL, walk_late, NULL), 0);
	while (!waits && !cp_load_acquire(&late.done))
		waits = is_waiting(cp_load_acquire(&late.tid));
	cp_module_list_fork_end();
	pthread_join(t, NULL);
	CHECK(waits || late.took_ns >= 1000000000);
	CHECK(late.modules > 0);
}

static int fork_within(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)info;
	(void)size;
	cp_module_list_fork_begin();
	cp_module_list_fork_end();
	++*(int *)arg;
	return 1;
}

TEST(test_a_fork_from_the_list_goes_on)
{
	int times = 0;

	cp_module_list(fork_within, &times);
	CHECK_EQ(times, 1);
}
