/* SPDX-License-Identifier: BSD-3-Clause */
/* Does what the lines of its input say, and says "did LINE" after each. For tests of the control
 * socket, which is asked from outside meanwhile.
 *
 *   burn SECONDS | burn-and-tick SECONDS | end-work SECONDS | stop-timers | allocate COUNT |
 * contend COUNT | hand-over COUNT | poll SECONDS | sleeper | stuck COUNT | spin | close-all | fork
 * | thread [COUNT] | user UID | group GID | effective-user UID | exec | exec-bare PATH | start PATH
 * | stop | descriptors | end
 */
#define HOST_BURNS_EXACTLY
#include <sys/prctl.h>

#include "cprof.h"
#include "host.h"
#include "tasks.h"

/* A static program has no dlsym for it. */
#pragma weak cprof_start

#define LEAST 3 /* the lowest descriptor that is not stdin, stdout or stderr */

static void *idle(void *unused)
{
	(void)unused;
	for (;;)
		pause();
	return NULL;
}

/* Prints the lowest number that an open gets, and how many descriptors are open. */
static void tell_descriptors(void)
{
	int fd = open("/dev/null", O_RDONLY), open_ones = 0;

	for (int i = 0; i < 1024; i++)
		open_ones += i != fd && fcntl(i, F_GETFD) >= 0;
	printf("lowest %d, open %d\n", fd, open_ones);
	close(fd);
}

static void fork_child(void)
{
	pid_t child = fork();

	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	printf("child %d\n", (int)child);
}

static void start_profile(const char *path)
{
	struct cprof_options o = CPROF_OPTIONS_INIT;

	o.cpu_path = path;
	o.max_depth = 100;
	printf("start %d\n", cprof_start ? cprof_start(&o) : 0);
}

static void stop_profile(void)
{
	printf("stop %d\n", cprof_stop ? cprof_stop() : 0);
}

__attribute__((noinline)) static void end_work(double seconds)
{
	burn_and_tick(seconds);
	__asm__ volatile("");
}

static void exec_again(char **argv)
{
	execv("/proc/self/exe", argv);
}

/* Executes a program without the library. */
static void exec_bare(const char *path)
{
	char *const argv[] = { (char *)(uintptr_t)path, NULL };

	unsetenv("LD_PRELOAD");
	execv(path, argv);
}

/* Half of the blocks stay. */
__attribute__((noinline)) static void allocate(int count)
{
	static void *kept;

	for (int i = 0; i < count; i++) {
		void **block = malloc(1000);

		*block = kept;
		if (i % 2)
			kept = block;
		else
			free(block);
	}
}

static pthread_mutex_t fought_for = PTHREAD_MUTEX_INITIALIZER;

/* Returns when thread TID waits for a lock or a semaphore, and a little later. */
static void let_wait(pid_t tid)
{
	const struct timespec a_little = { .tv_nsec = 3000000 };

	do {
		nanosleep(&a_little, NULL);
	} while (task_state(tid) != 'S');
	nanosleep(&a_little, NULL);
}

static void *wait_for_it(void *tid)
{
	__atomic_store_n((pid_t *)tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	EXPECT(!pthread_mutex_lock(&fought_for));
	EXPECT(!pthread_mutex_unlock(&fought_for));
	return NULL;
}

/* COUNT threads wait for a lock, one after the other. */
static void contend(int count)
{
	pthread_t t;
	pid_t tid;

	for (int i = 0; i < count; i++) {
		tid = 0;
		EXPECT(!pthread_mutex_lock(&fought_for));
		EXPECT(!pthread_create(&t, NULL, wait_for_it, &tid));
		while (!__atomic_load_n(&tid, __ATOMIC_ACQUIRE))
			sched_yield();
		let_wait(tid);
		EXPECT(!pthread_mutex_unlock(&fought_for));
		EXPECT(!pthread_join(t, NULL));
	}
}

static sem_t handed_over;

static void *post_it(void *unused)
{
	(void)unused;
	let_wait(getpid());
	EXPECT(!sem_post(&handed_over));
	return NULL;
}

/* Waits for a semaphore, COUNT times: each time another thread posts it. */
__attribute__((noinline)) static void hand_over(int count)
{
	pthread_t t;

	for (int i = 0; i < count; i++) {
		EXPECT(!pthread_create(&t, NULL, post_it, NULL));
		EXPECT(!sem_wait(&handed_over));
		EXPECT(!pthread_join(t, NULL));
	}
}

/* Polls two pipes that stay empty. */
__attribute__((noinline)) static void poll_nothing(double seconds)
{
	struct pollfd p[2];
	int ends[2][2];

	for (int i = 0; i < 2; i++) {
		EXPECT(!pipe(ends[i]));
		p[i] = (struct pollfd){ .fd = ends[i][0], .events = POLLIN };
	}
	EXPECT(!poll(p, 2, (int)(seconds * 1000)));
	for (int i = 0; i < 2; i++) {
		close(ends[i][0]);
		close(ends[i][1]);
	}
}

__attribute__((noinline)) static void *sleep_well(void *unused)
{
	const struct timespec long_enough = { .tv_sec = 100000 };

	(void)unused;
	EXPECT(!nanosleep(&long_enough, NULL));
	return NULL;
}

static pthread_mutex_t never_free = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void *stuck(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&never_free);
	__asm__ volatile("");
	return NULL;
}

static void *spin(void *unused)
{
	(void)unused;
	for (;;)
		__asm__ volatile("");
	return NULL;
}

static void make_threads(int count, void *(*what)(void *))
{
	pthread_t t;

	for (int i = 0; i < count; i++)
		EXPECT(!pthread_create(&t, NULL, what, NULL));
}

static void get_stuck(int count)
{
	EXPECT(!pthread_mutex_lock(&never_free));
	make_threads(count, stuck);
	printf("lock %p\n", (void *)&never_free);
}

static void obey(const char *what, const char *with, char **argv)
{
	if (!strcmp(what, "burn"))
		burn(atof(with));
	else if (!strcmp(what, "burn-and-tick"))
		burn_and_tick(atof(with));
	else if (!strcmp(what, "end-work"))
		end_work(atof(with));
	else if (!strcmp(what, "stop-timers"))
		host_stop_timers();
	else if (!strcmp(what, "allocate"))
		allocate(atoi(with));
	else if (!strcmp(what, "contend"))
		contend(atoi(with));
	else if (!strcmp(what, "hand-over"))
		hand_over(atoi(with));
	else if (!strcmp(what, "poll"))
		poll_nothing(atof(with));
	else if (!strcmp(what, "close-all"))
		syscall(SYS_close_range, LEAST, ~0u, 0);
	else if (!strcmp(what, "fork"))
		fork_child();
	else if (!strcmp(what, "thread"))
		make_threads(*with ? atoi(with) : 1, idle);
	else if (!strcmp(what, "sleeper"))
		make_threads(1, sleep_well);
	else if (!strcmp(what, "stuck"))
		get_stuck(atoi(with));
	else if (!strcmp(what, "spin"))
		make_threads(1, spin);
	else if (!strcmp(what, "user"))
		EXPECT(!setresuid((uid_t)atoi(with), (uid_t)atoi(with), (uid_t)atoi(with)));
	else if (!strcmp(what, "group"))
		EXPECT(!setresgid((gid_t)atoi(with), (gid_t)atoi(with), (gid_t)atoi(with)));
	else if (!strcmp(what, "effective-user"))
		EXPECT(!setresuid((uid_t)-1, (uid_t)atoi(with), (uid_t)-1));
	else if (!strcmp(what, "exec"))
		exec_again(argv);
	else if (!strcmp(what, "exec-bare"))
		exec_bare(with);
	else if (!strcmp(what, "exec-fails"))
		EXPECT(execv("/no/such/program", argv) == -1);
	else if (!strcmp(what, "start"))
		start_profile(with);
	else if (!strcmp(what, "stop"))
		stop_profile();
	else if (!strcmp(what, "descriptors"))
		tell_descriptors();
}

int main(int argc, char **argv)
{
	char line[4200], what[32], with[4100];

	(void)argc;
	setvbuf(stdout, NULL, _IOLBF, 0);
	setvbuf(stdin, NULL, _IONBF, 0);
	puts("up");
	while (fgets(line, sizeof(line), stdin) && strcmp(line, "end\n")) {
		*with = '\0';
		if (sscanf(line, "%31s %4099s", what, with) < 1)
			continue;
		obey(what, with, argv);
		printf("did %s", line);
	}
	HOST_END();
}
