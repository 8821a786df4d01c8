/* SPDX-License-Identifier: BSD-3-Clause */
/* Handlers of the program after which it ends by the signal's default: those for one call, because
 * the kernel has restored the default, and SIGABRT's, because abort() does. They must see the same
 * as without a profiler.
 *
 *   last-words WAY
 */
#include "system.h"

#include "signal_frame.h"

/* Shown by libc, or not: no flag of the program's. */
#define RESTORER 0x04000000
/* The smallest alternate stack that the kernel takes. */
#define LEAST 2048

__attribute__((noinline)) static void work_before_the_end(void)
{
	burn(0.1); /* a busy machine may have no tick in less */
	__asm__ volatile("");
}

static void show(const char *when, int sig)
{
	struct sigaction now;
	sigset_t mask;

	EXPECT(sigaction(sig, NULL, &now) == 0);
	sigprocmask(SIG_BLOCK, NULL, &mask);
	printf("%s: %s, flags %x, masks %d %d, blocked %d %d\n", when,
	       now.sa_handler == SIG_DFL   ? "default"
	       : now.sa_handler == SIG_IGN ? "ignored"
					   : "handler",
	       (unsigned)now.sa_flags & ~RESTORER, sigismember(&now.sa_mask, sig),
	       sigismember(&now.sa_mask, SIGHUP), sigismember(&mask, sig),
	       sigismember(&mask, SIGHUP));
	fflush(stdout);
}

static int again; /* raise it again */

static void on_signal(int sig)
{
	show("in the handler", sig);
	if (again)
		raise(sig);
}

static void on_info(int sig, siginfo_t *si, void *context)
{
	printf("signal %d, code %d, value %d, context %d\n", sig, si->si_code,
	       si->si_code == SI_QUEUE ? si->si_value.sival_int : 0, context != NULL);
	on_signal(sig);
}

static volatile int counted;

static void on_counted(int sig)
{
	(void)sig;
	counted++;
}

static void on_small(int sig)
{
	if (write(1, "small\n", 6) < 0)
		_exit(sig);
}

static void use(int sig, int flags)
{
	struct sigaction act = { .sa_handler = on_signal, .sa_flags = flags }, old;

	if (flags & SA_SIGINFO)
		act.sa_sigaction = on_info;
	sigaddset(&act.sa_mask, SIGHUP);
	EXPECT(sigaction(sig, &act, &old) == 0);
	show("installed", sig);
	/* The disposition is again what it was. */
	EXPECT(sigaction(sig, &old, &act) == 0);
	EXPECT((flags & SA_SIGINFO) ? act.sa_sigaction == on_info : act.sa_handler == on_signal);
	EXPECT(sigaction(sig, &act, NULL) == 0);
}

static void by_raise(void)
{
	use(SIGTERM, (int)SA_RESETHAND);
	again = 1;
	raise(SIGTERM);
}

static void by_second(void)
{
	use(SIGINT, (int)SA_RESETHAND | SA_NODEFER | SA_SIGINFO | SA_RESTART);
	sigqueue(getpid(), SIGINT, (union sigval){ 42 });
	show("after it", SIGINT);
	raise(SIGINT);
}

static void by_fault(void)
{
	static volatile int *volatile nowhere = (int *)16;

	use(SIGSEGV, (int)SA_RESETHAND | SA_SIGINFO);
	*nowhere = 1;
}

static void by_alternate(void)
{
	static char stack[16384];
	stack_t s = { .ss_sp = stack, .ss_size = sizeof(stack) };

	EXPECT(sigaltstack(&s, NULL) == 0);
	use(SIGTERM, (int)SA_RESETHAND | SA_ONSTACK);
	raise(SIGTERM);
	raise(SIGTERM);
}

/* HANDLER on a stack with the kernel's frame and OWN bytes; the page below is nobody's. */
static void on_stack_of(void (*handler)(int), size_t own)
{
	size_t need = signal_frame_size() + own, page = 4096;
	char *area =
		mmap(NULL, 8 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t s = { .ss_sp = area + page, .ss_size = need > LEAST ? need : LEAST };
	struct sigaction act = { .sa_handler = handler,
				 .sa_flags = (int)SA_RESETHAND | SA_ONSTACK };

	EXPECT(area != MAP_FAILED && mprotect(area, page, PROT_NONE) == 0);
	handler(0); /* the loader resolves what it calls, which takes more */
	EXPECT(sigaction(SIGTERM, &act, NULL) == 0);
	EXPECT(sigaltstack(&s, NULL) == 0);
	EXPECT(sigaction(SIGINT, &act, NULL) == 0);
	raise(SIGTERM);
	raise(SIGINT);
	EXPECT(counted == 0 || counted == 3);
	show("after both", SIGTERM);
	raise(SIGTERM);
}

static void by_small(void)
{
	on_stack_of(on_counted, 256);
}

static void by_small_writes(void)
{
	on_stack_of(on_small, 1024);
}

/* Handlers that are there before the profiler is started. */
static void by_late(void)
{
	int (*start)(const char *) = (int (*)(const char *))dlsym(RTLD_DEFAULT, "ProfilerStart");

	use(SIGTERM, (int)SA_RESETHAND);
	EXPECT(!start || start(getenv("LATE_PROFILE")));
	show("started", SIGTERM);
	work_before_the_end();
	raise(SIGTERM);
	raise(SIGTERM);
}

static void by_abort(void)
{
	use(SIGABRT, 0);
	abort();
}

static void by_abort_once(void)
{
	use(SIGABRT, (int)SA_RESETHAND | SA_SIGINFO);
	abort();
}

static void on_renewed(int sig)
{
	show("before it is renewed", sig);
	sysv_signal(sig, on_renewed);
	show("renewed", sig);
}

/* As System V has it. */
static void by_renewed(void)
{
	EXPECT(sysv_signal(SIGUSR1, on_renewed) == SIG_DFL);
	for (int i = 0; i < 3; i++)
		raise(SIGUSR1);
	EXPECT(signal(SIGUSR1, SIG_IGN) == on_renewed);
	raise(SIGUSR1);
	EXPECT(signal(SIGUSR1, SIG_DFL) == SIG_IGN);
	raise(SIGUSR1);
}

static void child_raises(void)
{
	use(SIGUSR1, (int)SA_RESETHAND);
	raise(SIGTERM);
	show("in the child", SIGTERM);
	raise(SIGTERM);
	_exit(8);
}

static void parent_raises(pid_t child)
{
	int status = -1;

	EXPECT(waitpid(child, &status, 0) == child);
	printf("child: %x\n", (unsigned)status);
	raise(SIGUSR1);
	show("in the parent", SIGTERM);
	raise(SIGTERM);
	raise(SIGTERM);
}

static void by_child(bool shares_memory)
{
	pid_t pid;

	use(SIGTERM, (int)SA_RESETHAND);
	use(SIGUSR1, (int)SA_RESETHAND | SA_SIGINFO);
	pid = shares_memory ? vfork() : fork();
	if (!pid)
		child_raises();
	parent_raises(pid);
}

/* The child has the handler as its parent had. */
static void by_fork(void)
{
	by_child(false);
}

/* The child's memory is its parent's, what it does with signals is not. */
static void by_vfork(void)
{
	by_child(true);
}

static const struct {
	const char *name;
	void (*end)(void);
} ways[] = {
	{ "raise", by_raise },
	{ "second", by_second },
	{ "fault", by_fault },
	{ "small", by_small },
	{ "small-writes", by_small_writes },
	{ "late", by_late },
	{ "alternate", by_alternate },
	{ "abort", by_abort },
	{ "abort-once", by_abort_once },
	{ "renewed", by_renewed },
	{ "fork", by_fork },
	{ "vfork", by_vfork },
};

int main(int argc, char **argv)
{
	work_before_the_end();
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (argc > 1 && !strcmp(ways[i].name, argv[1]))
			ways[i].end();
	return 97;
}
