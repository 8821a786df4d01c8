/* SPDX-License-Identifier: BSD-3-Clause */
/* In a handler the kernel has blocked what sa_mask says. A program that saves and restores its mask
 * there gets it back, and nothing of it is left when the handler has returned.
 *
 *   handler-masks             the checks below
 *   handler-masks inherited   says whether it was started with SIGPROF blocked
 *   handler-masks exec SELF   after such a handler, run "SELF inherited"
 */
#include "host.h"

static sigset_t empty, user, prof, full;
static volatile int calls, profs;

static void restoring(int sig)
{
	sigset_t old, now;

	EXPECT(sigprocmask(SIG_BLOCK, &user, &old) == 0);
	EXPECT(sigismember(&old, SIGPROF) == 1 && sigismember(&old, SIGINT) == 1);
	EXPECT(sigprocmask(SIG_SETMASK, &old, NULL) == 0);
	EXPECT(sigprocmask(SIG_BLOCK, &prof, NULL) == 0);
	EXPECT(sigprocmask(SIG_SETMASK, &full, &old) == 0);
	EXPECT(sigismember(&old, SIGPROF) == 1);
	EXPECT(sigprocmask(SIG_SETMASK, &old, &now) == 0);
	EXPECT(sigismember(&now, SIGPROF) == 1);
	calls++;
}

/* Samples are pending there, which nobody has sent. */
static void asking(int sig)
{
	sigset_t pending;

	for (int i = 0; i < 10; i++) {
		burn(0.01);
		EXPECT(sigpending(&pending) == 0 && sigismember(&pending, SIGPROF) == 0);
	}
	kill(getpid(), SIGPROF);
	EXPECT(sigpending(&pending) == 0 && sigismember(&pending, SIGPROF) == 1);
	burn(0.01);
	EXPECT(sigpending(&pending) == 0 && sigismember(&pending, SIGPROF) == 1);
	EXPECT(profs == 0);
	calls++;
}

static void unblocking(int sig)
{
	sigset_t old;

	EXPECT(sigprocmask(SIG_UNBLOCK, &prof, &old) == 0);
	EXPECT(sigismember(&old, SIGPROF) == 1);
	EXPECT(sigprocmask(SIG_BLOCK, &empty, &old) == 0);
	EXPECT(sigismember(&old, SIGPROF) == 0 && sigismember(&old, SIGINT) == 1);
	EXPECT(sigprocmask(SIG_SETMASK, &empty, &old) == 0);
	EXPECT(sigprocmask(SIG_BLOCK, NULL, &old) == 0);
	EXPECT(sigismember(&old, SIGPROF) == 0 && sigismember(&old, SIGINT) == 0);
	calls++;
}

static void run(void (*handler)(int), int sig)
{
	struct sigaction act = { .sa_handler = handler };
	sigset_t after;

	sigfillset(&act.sa_mask);
	EXPECT(sigaction(sig, &act, NULL) == 0);
	calls = 0;
	raise(sig);
	EXPECT(calls == 1);
	EXPECT(sigprocmask(SIG_BLOCK, NULL, &after) == 0);
	for (int s = 1; s < 32; s++)
		EXPECT(sigismember(&after, s) == 0);
}

static void on_prof(int sig)
{
	profs++;
}

/* A signal that was sent there arrives when the handler has returned. */
static void run_asking(void)
{
	sigset_t pending;

	signal(SIGPROF, on_prof);
	run(asking, SIGUSR1);
	EXPECT(profs == 1);
	EXPECT(sigpending(&pending) == 0 && sigismember(&pending, SIGPROF) == 0);
}

/* Nested in a region where the program itself has it blocked. */
static void run_blocked(void)
{
	sigset_t after;

	EXPECT(sigprocmask(SIG_BLOCK, &prof, NULL) == 0);
	raise(SIGUSR1);
	EXPECT(sigprocmask(SIG_UNBLOCK, &prof, &after) == 0);
	EXPECT(sigismember(&after, SIGPROF) == 1 && sigismember(&after, SIGINT) == 0);
}

/* Sampled still. */
__attribute__((noinline)) static void after_handlers(void)
{
	burn(0.1);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	sigset_t mask;

	sigemptyset(&empty);
	sigemptyset(&user);
	sigaddset(&user, SIGUSR2);
	sigemptyset(&prof);
	sigaddset(&prof, SIGPROF);
	sigfillset(&full);
	if (argc > 1 && !strcmp(argv[1], "inherited")) {
		sigprocmask(SIG_BLOCK, NULL, &mask);
		puts(sigismember(&mask, SIGPROF) ? "blocked" : "not blocked");
		HOST_END();
	}
	run(restoring, SIGUSR1);
	if (argc > 2)
		return execl(argv[2], argv[2], "inherited", (char *)NULL);
	run_blocked();
	run(unblocking, SIGUSR1);
	run_asking();
	run(restoring, SIGPROF);
	after_handlers();
	puts("done");
	HOST_END();
}
