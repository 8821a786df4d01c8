/* SPDX-License-Identifier: BSD-3-Clause */
/* Between fork and exec a program resets all signals to their defaults, by syscall() and not by
 * sigaction(), so that nothing of the parent's runs in the child; the child has work to do then.
 */
#include "host.h"

/* The kernel's struct, which libc's is not. */
struct action {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	unsigned long mask;
};

static long act(int sig, const struct action *new, struct action *old)
{
	return syscall(SYS_rt_sigaction, sig, new, old, sizeof(new->mask));
}

static void reset_all(void)
{
	const struct action none = { 0 };
	struct action was;

	for (int sig = 1; sig < 65; sig++) {
		if (act(sig, NULL, &was) < 0)
			printf("%d: %s\n", sig, strerror(errno));
		else if (was.handler != SIG_DFL)
			printf("%d was not the default\n", sig);
		if (act(sig, &none, NULL) < 0)
			printf("%d: %s\n", sig, strerror(errno));
	}
}

static void keeps(int sig)
{
	(void)sig;
}

static void wrong_calls(void)
{
	struct action k = { keeps, SA_RESTART, NULL, 1ul << (SIGUSR1 - 1) }, was;

	EXPECT(act(SIGPROF, (void *)8, NULL) == -1 && errno == EFAULT);
	EXPECT(act(SIGPROF, NULL, (void *)8) == -1 && errno == EFAULT);
	EXPECT(act(SIGPROF, NULL,
		   (void *)"read-only, as text and longer than what would be written") == -1 &&
	       errno == EFAULT);
	EXPECT(act(65, NULL, &was) == -1 && errno == EINVAL);
	EXPECT(act(SIGKILL, &k, NULL) == -1 && errno == EINVAL);
	EXPECT(syscall(SYS_rt_sigaction, SIGPROF, NULL, &was, 4l) == -1 && errno == EINVAL);
}

/* A disposition that was set is still set. */
static void given_back(void)
{
	struct action was;

	signal(SIGPROF, keeps);
	EXPECT(act(SIGPROF, NULL, &was) == 0 && was.handler == keeps);
	EXPECT(was.flags & SA_RESTART);
	memset(&was, 0, sizeof(was));
	EXPECT(act(SIGPROF, &was, &was) == 0 && was.handler == keeps);
	EXPECT(act(SIGPROF, NULL, &was) == 0 && was.handler == SIG_DFL && !was.mask);
}

int main(void)
{
	int status = 0;

	burn(0.1);
	wrong_calls();
	given_back();
	fflush(stdout);
	for (int i = 0; i < 10; i++) {
		if (!fork()) {
			reset_all();
			fflush(stdout);
			burn(0.05);
			_exit(3);
		}
		wait(&status);
		printf("child: %x\n", (unsigned)status);
	}
	fflush(stdout);
	if (!fork()) {
		reset_all();
		kill(getpid(), SIGPROF);
		_exit(3);
	}
	wait(&status);
	printf("child with a SIGPROF: %x\n", (unsigned)status);
	HOST_END();
}
