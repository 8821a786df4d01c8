/* A fork while a thread of ours is in the loader's list: the child's walk of it must not hang. */
#include "harness.h"

#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "module_list.h"
#include "sigsafe/atomic.h"

static uint32_t in_list, forking, go_on;

static void nap(void)
{
	const struct timespec t = { 0, 1000000 };

	nanosleep(&t, NULL);
}

static int stay(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)info;
	(void)size;
	(void)arg;
	cp_store_release(&in_list, 1);
	while (!cp_load_acquire(&forking))
		nap();
	/* The fork is about to look for us, or does already. */
	for (int i = 0; i < 5; i++)
		nap();
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

static void test_child_of_a_fork_amid_a_walk(void)
{
	pthread_t t;
	int status = -1;
	pid_t child;

	pthread_atfork(before, cp_module_list_fork_end, cp_module_list_fork_child);
	CHECK_EQ(pthread_create(&t, NULL, walk, NULL), 0);
	while (!cp_load_acquire(&in_list))
		nap();
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

static void *walk_late(void *arg)
{
	int modules = 0;

	cp_module_list(count, &modules);
	CHECK(modules > 0);
	/* The fork was over. */
	CHECK(cp_load_acquire(&go_on));
	return arg;
}

static void test_a_walk_waits_for_a_fork(void)
{
	int modules = 0;
	pthread_t t;

	cp_module_list_fork_begin();
	/* Not the forking thread's own. */
	cp_module_list(count, &modules);
	CHECK(modules > 0);
	CHECK_EQ(pthread_create(&t, NULL, walk_late, NULL), 0);
	for (int i = 0; i < 5; i++)
		nap();
	cp_store_release(&go_on, 1);
	cp_module_list_fork_end();
	pthread_join(t, NULL);
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

static void test_a_fork_from_the_list_goes_on(void)
{
	int times = 0;

	cp_module_list(fork_within, &times);
	CHECK_EQ(times, 1);
}

int main(void)
{
	RUN(test_a_walk_waits_for_a_fork);
	RUN(test_a_fork_from_the_list_goes_on);
	RUN(test_child_of_a_fork_amid_a_walk);
	return harness_end();
}
