/* SPDX-License-Identifier: BSD-3-Clause */
/* Children that libc makes within a function of its own: daemon()'s, whose parent it ends, and
 * forkpty()'s.
 *
 *   daemons daemon | forkpty | refused
 */
#include <pty.h>
#include <sys/resource.h>

#include "host.h"

__attribute__((noinline)) static void parent_work(void)
{
	burn(0.1);
	__asm__ volatile("");
}

__attribute__((noinline)) static void child_work(void)
{
	burn(0.1);
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void child_waits(void)
{
	usleep(300000);
	__asm__ volatile("" ::: "cc");
}

static int as_daemon(void)
{
	parent_work();
	if (daemon(1, 1))
		return 3;
	child_work();
	child_waits();
	puts("daemon");
	return 0;
}

/* No process more may be made. */
static int refused(void)
{
	struct rlimit none = { 0, 0 };

	parent_work();
	if (setuid(65534) || setrlimit(RLIMIT_NPROC, &none))
		return 77;
	EXPECT(daemon(1, 1) < 0);
	puts(strerror(errno));
	child_work();
	return 0;
}

static int in_terminal(void)
{
	int leader, status = -1;
	char c;
	pid_t pid;

	parent_work();
	pid = forkpty(&leader, NULL, NULL, NULL);
	if (!pid) {
		child_waits();
		_exit(4);
	}
	/* Until the child is gone. */
	while (read(leader, &c, 1) > 0)
		;
	EXPECT(waitpid(pid, &status, 0) == pid);
	printf("child: %x\n", (unsigned)status);
	return host_failures;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "daemon"))
		return as_daemon();
	return argc > 1 && !strcmp(argv[1], "refused") ? refused() : in_terminal();
}
