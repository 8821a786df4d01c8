/* SPDX-License-Identifier: BSD-3-Clause */
/* A tracer that expects no stop but those that its child makes: it prints each, and hands no signal
 * on.
 *
 *   host libc | by-number    how the child asks to be traced
 *   host thread              and a second thread of it, which isn't traced
 *   host forks               and a child of its own, which isn't either
 */
#include <sys/ptrace.h>

#include "host.h"

static const char *how;

__attribute__((noinline)) static void traced_work(void)
{
	static char fresh[1 << 20];

	/* Its faults are events. */
	for (size_t i = 0; i < sizeof(fresh); i += 4096)
		((volatile char *)fresh)[i] = 1;
	burn(0.3);
	__asm__ volatile("");
}

__attribute__((noinline)) static void *untraced_work(void *arg)
{
	burn(0.3);
	__asm__ volatile("");
	return arg;
}

static void work_untraced(void)
{
	pthread_t t;
	int status;
	pid_t pid;

	if (!strcmp(how, "thread")) {
		EXPECT(pthread_create(&t, NULL, untraced_work, NULL) == 0);
		EXPECT(pthread_join(t, NULL) == 0);
	} else if (!strcmp(how, "forks")) {
		pid = fork();
		if (!pid) {
			untraced_work(NULL);
			_exit(0);
		}
		EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
	}
}

static void child(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	burn_and_tick(0.05); /* its timer runs */
	if (!strcmp(how, "by-number"))
		EXPECT(syscall(SYS_ptrace, PTRACE_TRACEME, 0, NULL, NULL) == 0);
	else
		EXPECT(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0);
	raise(SIGSTOP);
	traced_work();
	/* It is traced already. */
	EXPECT(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == -1);
	traced_work();
	work_untraced();
	raise(SIGUSR1);
	/* What a child prints goes out here; see EXPECT. */
	fflush(stdout);
	_exit(host_failures ? 1 : 3);
}

int main(int argc, char **argv)
{
	int status;
	pid_t pid;

	if (argc < 2)
		return 2;
	how = argv[1];
	pid = fork();
	if (!pid)
		child();
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		printf("stopped by %s\n", strsignal(WSTOPSIG(status)));
		EXPECT(ptrace(PTRACE_CONT, pid, NULL, NULL) == 0);
	}
	EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 3);
	burn(0.1);
	HOST_END();
}
