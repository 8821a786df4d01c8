/* SPDX-License-Identifier: BSD-3-Clause */
/* Forks without exec. Parent and children work in functions of their own, so that a profile shows
 * whose samples it holds; the children report errors by their exit status.
 *
 *   forks once | grandchild | idle | deep | dump | crash | thread
 *   forks drained FILE    after a dump, which is FILE
 *   forks many            children that work for a moment, one after the other
 */
#include "host.h"

#define WORK_SECONDS 0.05
/* Enough stack that a ring holds a few dozen samples only, and enough samples to fill it. */
#define DEEP_FRAMES 250
#define DEEP_SECONDS 0.8

__attribute__((noinline)) static void parent_work(void)
{
	burn(WORK_SECONDS);
	__asm__ volatile("");
}

__attribute__((noinline)) static void child_work(void)
{
	burn(WORK_SECONDS);
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void grandchild_work(void)
{
	burn(WORK_SECONDS);
	__asm__ volatile("" ::: "cc");
}

__attribute__((noinline)) static void *child_thread_work(void *arg)
{
	burn(WORK_SECONDS);
	return arg;
}

__attribute__((noinline)) static int child_descends(int depth)
{
	volatile int left = depth;

	if (depth)
		return child_descends(depth - 1) + left;
	burn(DEEP_SECONDS);
	return 0;
}

static void child_once(void)
{
	child_work();
}

static void child_forks(void)
{
	int status;
	pid_t pid;

	child_work();
	pid = fork();
	if (pid == 0) {
		grandchild_work();
		exit(5);
	}
	EXPECT(waitpid(pid, &status, 0) == pid);
	EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 5);
	child_work();
}

static void child_does_nothing(void)
{
	_exit(4);
}

static void child_lives_long(void)
{
	EXPECT(child_descends(DEEP_FRAMES) > 0);
}

static void child_dumps(void)
{
	child_work();
	/* To the only thread of the process: taken before kill returns. */
	kill(getpid(), SIGUSR2);
	child_work();
}

static void child_crashes(void)
{
	child_work();
	abort();
}

static void child_makes_threads(void)
{
	pthread_t t;

	child_work();
	for (int i = 0; i < 3; i++) {
		EXPECT(pthread_create(&t, NULL, child_thread_work, NULL) == 0);
		EXPECT(pthread_join(t, NULL) == 0);
	}
}

static const struct {
	const char *name;
	void (*child)(void);
	int status; /* as wait gives it */
} kinds[] = {
	{ "once", child_once, 4 << 8 },
	{ "grandchild", child_forks, 4 << 8 },
	{ "idle", child_does_nothing, 4 << 8 },
	{ "deep", child_lives_long, 4 << 8 },
	{ "dump", child_dumps, 4 << 8 },
	{ "crash", child_crashes, SIGABRT },
	{ "thread", child_makes_threads, 4 << 8 },
	{ "drained", child_once, 4 << 8 },
};

/* Waits until earlier samples have left the thread's buffer. At most 20 s. */
static void drain(const char *file)
{
	kill(getpid(), SIGUSR2);
	for (int i = 0; i < 4000 && access(file, R_OK) < 0; i++)
		usleep(5000);
	EXPECT(access(file, R_OK) == 0);
}

static void run(void (*child)(void), int expected, const char *drained)
{
	int status = -1;
	pid_t pid;

	parent_work();
	if (drained)
		drain(drained);
	pid = fork();
	if (pid == 0) {
		child();
		exit(host_failures ? 1 : 4);
	}
	EXPECT(waitpid(pid, &status, 0) == pid);
	EXPECT((status & 0xff7f) == expected);
	parent_work();
}

#define MANY 32
#define MOMENT_SECONDS 0.025

static void run_many(void)
{
	for (int i = 0; i < MANY; i++) {
		int status = -1;
		pid_t pid = fork();

		if (pid == 0) {
			burn(MOMENT_SECONDS);
			exit(0);
		}
		EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
	}
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "many"))
		run_many();
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (argc > 1 && !strcmp(kinds[i].name, argv[1]))
			run(kinds[i].child, kinds[i].status, argc > 2 ? argv[2] : NULL);
	HOST_END();
}
