/* SPDX-License-Identifier: BSD-3-Clause */
/* Masks that come back without sigprocmask: by siglongjmp, contexts, the end of a handler.
 *
 *   jumps             the checks below
 *   jumps inherited   says whether it was started with SIGPROF or SIGSTKFLT blocked
 *   jumps HOW SELF    with SIGPROF blocked after a jump, and then SIGSTKFLT, run "SELF inherited"
 * by exec, fork, spawn; or look what a thread has
 */
#include <setjmp.h>
#include <spawn.h>
#include <sys/time.h>
#include <ucontext.h>

#include "host.h"

extern char **environ;

static sigset_t prof;
static volatile int profs;

static void on_prof(int sig)
{
	(void)sig;
	profs++;
}

static void change(int how)
{
	EXPECT(sigprocmask(how, &prof, NULL) == 0);
}

/* It is blocked as WANTED, and one that is sent comes now, or when it is not blocked any more. */
static void expect(int wanted)
{
	sigset_t now;

	burn(0.02); /* samples meanwhile */
	profs = 0;
	kill(getpid(), SIGPROF);
	EXPECT(profs == !wanted);
	EXPECT(sigprocmask(SIG_BLOCK, NULL, &now) == 0);
	EXPECT(sigismember(&now, SIGPROF) == wanted && sigismember(&now, SIGSTKFLT) == 0);
	change(SIG_UNBLOCK);
	EXPECT(profs == 1);
}

/* A change of other signals, the first call after a jump, shows what the jump brought back. */
static void expect_shown(int wanted)
{
	sigset_t other, now;

	sigemptyset(&other);
	sigaddset(&other, SIGUSR2);
	EXPECT(pthread_sigmask(SIG_BLOCK, &other, &now) == 0);
	EXPECT(sigismember(&now, SIGPROF) == wanted && sigismember(&now, SIGSTKFLT) == 0);
	EXPECT(sigismember(&now, SIGUSR2) == 0);
	EXPECT(pthread_sigmask(SIG_UNBLOCK, &other, &now) == 0);
	EXPECT(sigismember(&now, SIGPROF) == wanted && sigismember(&now, SIGUSR2) == 1);
}

__attribute__((noinline)) static void jump_to(int blocked, void (*look)(int wanted))
{
	static sigjmp_buf to;

	change(blocked ? SIG_BLOCK : SIG_UNBLOCK);
	if (sigsetjmp(to, 1) == 0) {
		change(blocked ? SIG_UNBLOCK : SIG_BLOCK);
		siglongjmp(to, 1);
	}
	look(blocked);
}

__attribute__((noinline)) static void set_context(int blocked)
{
	static ucontext_t to;
	static volatile int again;

	again = 0;
	change(blocked ? SIG_BLOCK : SIG_UNBLOCK);
	EXPECT(getcontext(&to) == 0);
	if (!again++) {
		change(blocked ? SIG_UNBLOCK : SIG_BLOCK);
		setcontext(&to);
	}
	expect(blocked);
}

static void blocks(int sig)
{
	(void)sig;
	change(SIG_BLOCK);
}

static void unblocks(int sig)
{
	(void)sig;
	change(SIG_UNBLOCK);
}

/* A change of the mask in a handler ends with the handler. */
static void handle(int blocked)
{
	change(blocked ? SIG_BLOCK : SIG_UNBLOCK);
	signal(SIGUSR1, blocked ? unblocks : blocks);
	kill(getpid(), SIGUSR1);
	expect(blocked);
}

/* In a handler whose mask has all but SIGPROF one that is sent comes at once. */
static void sends(int sig)
{
	sigset_t now;

	(void)sig;
	EXPECT(sigprocmask(SIG_BLOCK, NULL, &now) == 0);
	EXPECT(sigismember(&now, SIGPROF) == 0 && sigismember(&now, SIGINT) == 1);
	profs = 0;
	kill(getpid(), SIGPROF);
	EXPECT(profs == 1);
}

static void handle_all_but(void)
{
	struct sigaction act = { .sa_handler = sends }, now;

	sigfillset(&act.sa_mask);
	sigdelset(&act.sa_mask, SIGPROF);
	EXPECT(sigaction(SIGUSR1, &act, NULL) == 0);
	EXPECT(sigaction(SIGUSR1, NULL, &now) == 0);
	EXPECT(sigismember(&now.sa_mask, SIGSTKFLT) == 1 && !sigismember(&now.sa_mask, SIGPROF));
	kill(getpid(), SIGUSR1);
}

/* Threads of its own, by turns of a timer: where one gives its turn away, no other turn may end. */
static ucontext_t turns[2], first;
static volatile int turn, ended[2];

static void next(void)
{
	int from = turn;

	turn = !from;
	EXPECT(swapcontext(&turns[from], &turns[!from]) == 0);
}

static void on_turn(int sig)
{
	(void)sig;
	next();
}

static void give_away(void)
{
	change(SIG_BLOCK);
	next();
	change(SIG_UNBLOCK);
}

static void worker(int me)
{
	for (int i = 0; i < 3 && !me; i++)
		give_away();
	ended[me] = 1;
	/* Until the timer says that it is the other's turn, also in the one that gives none away.
	 */
	while (!ended[!me])
		;
	setcontext(&first);
}

static void make_turns(void)
{
	static char stacks[2][65536] __attribute__((aligned(16)));

	for (int i = 0; i < 2; i++) {
		EXPECT(getcontext(&turns[i]) == 0);
		turns[i].uc_stack.ss_sp = stacks[i];
		turns[i].uc_stack.ss_size = sizeof(stacks[i]);
		makecontext(&turns[i], (void (*)(void))worker, 1, i);
	}
}

static void schedule(void)
{
	const struct itimerval often = { { 0, 10000 }, { 0, 10000 } },
			       never = { { 0, 0 }, { 0, 0 } };
	static volatile int back;

	signal(SIGPROF, on_turn);
	make_turns();
	setitimer(ITIMER_PROF, &often, NULL);
	EXPECT(getcontext(&first) == 0);
	if (!back++)
		setcontext(&turns[0]);
	setitimer(ITIMER_PROF, &never, NULL);
	EXPECT(ended[0] && ended[1]);
}

static void *inherited(void *arg)
{
	sigset_t mask;

	sigprocmask(SIG_BLOCK, NULL, &mask);
	printf("SIGPROF %d, SIGSTKFLT %d\n", sigismember(&mask, SIGPROF),
	       sigismember(&mask, SIGSTKFLT));
	fflush(stdout);
	return arg;
}

static void run(const char *how, char *self)
{
	char *argv[] = { self, "inherited", NULL };
	pthread_t thread;
	pid_t pid = 0;

	if (!strcmp(how, "thread")) {
		pthread_create(&thread, NULL, inherited, NULL);
		pthread_join(thread, NULL);
		return;
	}
	if (!strcmp(how, "spawn"))
		EXPECT(posix_spawn(&pid, self, NULL, NULL, argv, environ) == 0);
	else
		pid = fork();
	if (!pid) {
		execv("/nonexistent", argv);
		inherited(NULL);
		execv(self, argv);
	}
	EXPECT(waitpid(pid, NULL, 0) == pid);
}

/* Blocked by what a jump brought back; then with the other, and that one alone. */
static void run_all(const char *how, char *self)
{
	static sigjmp_buf to;
	sigset_t both = prof;

	sigaddset(&both, SIGSTKFLT);
	change(SIG_BLOCK);
	if (sigsetjmp(to, 1) == 0) {
		change(SIG_UNBLOCK);
		siglongjmp(to, 1);
	}
	run(how, self);
	sigprocmask(SIG_BLOCK, &both, NULL);
	run(how, self);
	change(SIG_UNBLOCK);
	run(how, self);
	sigprocmask(SIG_UNBLOCK, &both, NULL);
	run(how, self);
	if (!strcmp(how, "exec")) {
		change(SIG_BLOCK);
		execl(self, self, "inherited", (char *)NULL);
	}
}

int main(int argc, char **argv)
{
	sigemptyset(&prof);
	sigaddset(&prof, SIGPROF);
	if (argc > 1 && !strcmp(argv[1], "inherited")) {
		inherited(NULL);
		HOST_END();
	}
	if (argc > 2) {
		run_all(argv[1], argv[2]);
		HOST_END();
	}
	/* While no handler of the program may hide SIGPROF. */
	jump_to(0, expect_shown);
	jump_to(1, expect_shown);
	change(SIG_UNBLOCK);
	signal(SIGPROF, on_prof);
	for (int blocked = 0; blocked < 2; blocked++) {
		jump_to(blocked, expect);
		set_context(blocked);
		handle(blocked);
	}
	handle_all_but();
	schedule();
	puts("done");
	HOST_END();
}
