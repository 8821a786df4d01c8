/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread that asks the kernel for a SIGSYS at each of its system calls, as Wine does: it expects
 * no system call but its own. A signal handler's return is a system call, too.
 *
 *   host libc | by-number    how the thread asks
 *   host thread              as libc; the thread isn't the main one, and stderr tells the CPU time
 *                            of both threads while no calls are caught, in ns
 */
#include <sys/prctl.h>

#include "host.h"

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif
#define OFF 0L
#define ON 1L
#define OUR_CALL 1000

static bool by_number;
/* The kernel reads this byte at each system call. */
static volatile char caught;
static volatile int caught_calls;
static double sampled_for; /* seconds */

static void on_sigsys(int signal, siginfo_t *info, void *context)
{
	(void)signal, (void)context;
	caught = false;
	caught_calls = caught_calls + 1;
	if (info->si_syscall != OUR_CALL) {
		/* The thread can't go on: a return from a handler was swallowed. */
		static const char said[] = "caught a system call of somebody else\n";
		if (write(STDOUT_FILENO, said, sizeof(said) - 1) < 0)
			_exit(4);
		_exit(3);
	}
}

static int ask(long what)
{
	volatile char *selector = what == ON ? &caught : NULL;

	if (by_number)
		return (int)syscall(SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, what, 0L, 0L,
				    selector);
	return prctl(PR_SET_SYSCALL_USER_DISPATCH, what, 0L, 0L, selector);
}

__attribute__((noinline)) static void spin(void)
{
	for (volatile int i = 0; i < 300000; i++)
		;
}

#define PAGE 4096
static char fresh[400][4 * PAGE];

/* Faults are events without a system call. */
__attribute__((noinline)) static void touch(char *pages)
{
	for (int i = 0; i < 4; i++)
		((volatile char *)pages)[i * PAGE] = 1;
}

/* No system call of ours until the last. */
__attribute__((noinline)) static void caught_work(void)
{
	for (int i = 0; i < 400; i++) {
		caught = true;
		touch(fresh[i]);
		spin();
		syscall(OUR_CALL);
	}
}

__attribute__((noinline)) static void *other_work(void *arg)
{
	burn(0.3);
	sampled_for += host_clock(CLOCK_THREAD_CPUTIME_ID);
	return arg;
}

__attribute__((noinline)) static void later_work(void)
{
	static char later[100][4 * PAGE];

	for (int i = 0; i < 100; i++)
		touch(later[i]);
	burn(0.3);
	__asm__ volatile("");
}

/* Returns the exit status. */
static int work(void)
{
	pthread_t other;

	burn(0.05); /* its timer runs */
	/* A failure changes nothing. */
	EXPECT(prctl(PR_SET_SYSCALL_USER_DISPATCH, 7L, 0L, 0L, NULL) == -1);
	sampled_for = host_clock(CLOCK_THREAD_CPUTIME_ID);
	if (ask(ON)) {
		puts("this kernel can't do that");
		return 77;
	}
	EXPECT(pthread_create(&other, NULL, other_work, NULL) == 0);
	EXPECT(pthread_join(other, NULL) == 0);
	caught_work();
	EXPECT(caught_calls == 400);
	EXPECT(ask(OFF) == 0);
	sampled_for -= host_clock(CLOCK_THREAD_CPUTIME_ID);
	later_work();
	sampled_for += host_clock(CLOCK_THREAD_CPUTIME_ID);
	return 0;
}

static void *work_in_thread(void *status)
{
	*(int *)status = work();
	return NULL;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_sigaction = on_sigsys, .sa_flags = SA_SIGINFO };
	pthread_t t;
	int status = 0;

	EXPECT(argc > 1 && sigaction(SIGSYS, &action, NULL) == 0);
	by_number = !strcmp(argv[1], "by-number");
	if (!strcmp(argv[1], "thread")) {
		EXPECT(pthread_create(&t, NULL, work_in_thread, &status) == 0);
		EXPECT(pthread_join(t, NULL) == 0);
		fprintf(stderr, "%.0f\n", sampled_for * 1e9);
	} else {
		status = work();
	}
	if (status)
		return status;
	HOST_END();
}
