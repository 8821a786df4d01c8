/* SPDX-License-Identifier: BSD-3-Clause */
/* A child made by clone() as fork would, of which no fork handler is told, makes threads: they are
 * the program's alone.
 *
 *   cloned-process [nested]      the child is the first one in a namespace of its own; so are we
 */
#include "host.h"

static char stack[256 << 10] __attribute__((aligned(16)));
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* The kernel numbers a process's timers from 0 on. */
static void *thread(void *arg)
{
	int id = -1;

	burn(0.02);
	for (int i = 0; i < 1000; i++) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
	EXPECT(syscall(SYS_timer_create, CLOCK_MONOTONIC, NULL, &id) == 0);
	printf("timer %d\n", id);
	syscall(SYS_timer_delete, id);
	return arg;
}

static int child(void *arg)
{
	struct itimerspec left;
	pthread_t t[2];
	int id = -1;

	(void)arg;
	/* It has a number that one of the profiler's has in the parent. */
	EXPECT(syscall(SYS_timer_create, CLOCK_MONOTONIC, NULL, &id) == 0);
	for (int i = 0; i < 2; i++) {
		pthread_create(&t[i], NULL, thread, NULL);
		pthread_join(t[i], NULL);
	}
	EXPECT(syscall(SYS_timer_gettime, id, &left) == 0);
	fflush(stdout);
	return host_failures ? 1 : 5;
}

/* It has its parent's number, and nothing else of it. */
static int first(void *arg)
{
	(void)arg;
	EXPECT(getpid() == 1);
	EXPECT(setuid(getuid()) == 0);
	EXPECT(unshare(CLONE_FS) == 0);
	burn(0.02);
	fflush(stdout);
	exit(host_failures ? 1 : 6);
}

int main(int argc, char **argv)
{
	bool nested = argc > 1 && !strcmp(argv[1], "nested");
	int status = 0;
	pid_t pid;

	burn(0.1);
	fflush(stdout);
	pid = clone(nested ? first : child, stack + sizeof(stack),
		    SIGCHLD | (nested ? CLONE_NEWPID : 0), NULL);
	EXPECT(pid > 0 && waitpid(pid, &status, 0) == pid);
	printf("child: %x\n", (unsigned)status);
	HOST_END();
}
