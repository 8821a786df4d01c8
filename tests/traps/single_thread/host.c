/* SPDX-License-Identifier: BSD-3-Clause */
/* A program with one thread stays one in libc's eyes, whatever is asked of the profiler meanwhile;
 * and then it makes one, or has one made.
 *
 *     single-thread alone FILE...     ask for a dump, and go on until the files are there
 *     single-thread WAY [FILE...]     see main
 *     single-thread filter COMMAND    runs it where the kernel gives no descriptor away
 */
#include <dirent.h>
#include <linux/kcmp.h>

#if __has_include(<sys/single_threaded.h>) /* glibc 2.32 */
#include <sys/single_threaded.h>
#else
#define __libc_single_threaded 1 /* not told: the streams' locks say it */
#endif

#ifndef SYS_pidfd_getfd /* glibc before 2.32 */
#define SYS_pidfd_getfd 438
#endif

#include "host.h"
#include "deny.h"
#include "tasks.h"

#define NEEDS_LOCK 128 /* glibc's _IO_FLAGS2_NEED_LOCK: of a stream, once there was a thread */
#define KILL_AND_STOP (1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1))

static void expect_single(void)
{
	EXPECT(__libc_single_threaded);
#ifdef __GLIBC__
	EXPECT(!(stdin->_flags2 & NEEDS_LOCK));
#endif
}

static unsigned long long blocked_by(const char *tid)
{
	unsigned long long mask = ~0ull;
	char path[300], line[200];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%s/status", tid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "SigBlk: %llx", &mask);
	if (f)
		fclose(f);
	return mask;
}

/* No signal of the program is ever handled in another task. 33 is libc's own: while the task
 * sleeps, it takes that one, which it sends to itself (rt_sigtimedwait). */
static void expect_others_block_all(void)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *entry;

	while (tasks && (entry = readdir(tasks)))
		if (entry->d_name[0] != '.' && atoi(entry->d_name) != getpid())
			EXPECT((blocked_by(entry->d_name) | KILL_AND_STOP | 1ull << 32) == ~0ull);
	if (tasks)
		closedir(tasks);
}

__attribute__((noinline)) static void work_alone(double seconds)
{
	void *volatile block = malloc(100000);

	burn(seconds);
	free(block);
}

/* At most a minute. */
static void wait_for_files(char **files)
{
	for (int i = 0; *files && i < 6000; i++) {
		work_alone(0.01);
		if (!access(*files, F_OK))
			files++;
	}
	EXPECT(!*files);
}

static void be_alone(char **files)
{
	raise(SIGUSR2);
	expect_single();
	wait_for_files(files);
	for (int i = 0; i < 30; i++)
		work_alone(0.01);
	work_alone(0.05);
	expect_single();
	expect_others_block_all();
}

__attribute__((noinline)) static void *work_of_thread(void *unused)
{
	burn(0.3);
	return unused;
}

static void make_thread(void)
{
	pthread_t thread;

	EXPECT(pthread_create(&thread, NULL, work_of_thread, NULL) == 0);
	work_alone(0.01);
	pthread_join(thread, NULL);
}

/* While a dump is written, which is asked for again and again. */
static void make_threads(void)
{
	for (int i = 0; i < 3; i++) {
		raise(SIGUSR2);
		make_thread();
	}
}

/* Nothing is left of a thread that could not be made. */
static void fail_to_make(void)
{
	int before = count_tasks();
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	EXPECT(pthread_attr_setstacksize(&attr, (size_t)1 << 46) == 0);
	EXPECT(pthread_create(&thread, &attr, work_of_thread, NULL) != 0);
	pthread_attr_destroy(&attr);
	work_alone(0.01);
	EXPECT(count_tasks() == before);
}

static int expired;

static void on_expiry(union sigval unused)
{
	(void)unused;
	burn(0.05);
	__atomic_store_n(&expired, 1, __ATOMIC_RELEASE);
}

/* libc makes threads by itself. */
static void have_made(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD };
	struct itimerspec soon = { .it_value.tv_nsec = 1000000 };
	timer_t timer;

	event.sigev_notify_function = on_expiry;
	EXPECT(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
	EXPECT(timer_settime(timer, 0, &soon, NULL) == 0);
	while (!__atomic_load_n(&expired, __ATOMIC_ACQUIRE))
		work_alone(0.01);
	/* libc knows of its threads alone, and changes all. */
	EXPECT(seteuid(geteuid()) == 0);
	make_thread();
}

static void fork_and_work(char **files)
{
	int status;
	pid_t child = fork();

	if (!child) {
		expect_single();
		for (int i = 0; i < 10; i++)
			work_alone(0.01);
		expect_single();
		make_thread();
		exit(host_failures ? 1 : 0);
	}
	EXPECT(waitpid(child, &status, 0) == child && !status);
	be_alone(files);
}

/* Each time our task ends and comes back. */
static void change_ids(void)
{
	for (int i = 0; i < 100; i++) {
		EXPECT(setegid(getegid()) == 0);
		EXPECT(setuid(getuid()) == 0);
	}
	expect_single();
}

/* A process that has no semaphores to undo has no list of them, its child none either. */
static void compare_with_child(void)
{
	pid_t child = fork();
	int status;

	if (!child) {
		long same = syscall(SYS_kcmp, getppid(), getpid(), KCMP_SYSVSEM, 0, 0);

		_exit(same <= 0 ? 0 : 1);
	}
	EXPECT(waitpid(child, &status, 0) == child && !status);
}

static void filter(char **command)
{
	if (!deny_call(SYS_pidfd_getfd))
		exit(77);
	execvp(command[0], command);
	exit(127);
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";

	if (!strcmp(way, "filter"))
		filter(argv + 2);
	expect_single();
	burn(0.05);
	if (!strcmp(way, "alone"))
		be_alone(argv + 2);
	else if (!strcmp(way, "threads"))
		make_threads();
	else if (!strcmp(way, "no-thread"))
		fail_to_make();
	else if (!strcmp(way, "libc"))
		have_made();
	else if (!strcmp(way, "fork"))
		fork_and_work(argv + 2);
	else if (!strcmp(way, "kcmp"))
		compare_with_child();
	else if (!strcmp(way, "ids"))
		change_ids();
	printf("done\n");
	if (!strcmp(way, "pthread_exit"))
		pthread_exit(NULL);
	HOST_END();
}
