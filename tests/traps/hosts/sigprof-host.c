/* SPDX-License-Identifier: BSD-3-Clause */
/* A program with its own SIGPROF. It prints what it sees of dispositions, so that a run under the
 * profiler can be compared with one without.
 *
 *   sigprof-host views     the sigaction family, for SIGPROF and signals that the profiler also
 * handles sigprof-host deliver   its handler gets its signals, as the kernel would deliver them
 *   sigprof-host itimer    setitimer(ITIMER_PROF), as a profiler of its own would
 *   sigprof-host timer     timer_create with SIGPROF
 *   sigprof-host die HOW   default action: raise, kill, itimer, timer, ignored
 */
#include <setjmp.h>
#include <sys/time.h>

#define HOST_HAS_TIMERS
#include "host.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static volatile int got, got_code, got_value, nested;

static void plain(int sig)
{
	got++;
}

static void with_info(int sig, siginfo_t *si, void *context)
{
	got++;
	got_code = si->si_code;
	got_value = si->si_value.sival_int;
}

static const char *name_of(void (*handler)(int))
{
	return handler == SIG_DFL			     ? "default"
	       : handler == SIG_IGN			     ? "ignore"
	       : handler == SIG_ERR			     ? "error"
	       : handler == SIG_HOLD			     ? "hold"
	       : handler == plain			     ? "plain"
	       : handler == (void (*)(int))(void *)with_info ? "info"
							     : "SOMEBODY ELSE'S";
}

static void show(const char *what, int sig)
{
	struct sigaction act;
	uint64_t mask;

	EXPECT(sigaction(sig, NULL, &act) == 0);
	memcpy(&mask, &act.sa_mask, sizeof(mask));
	printf("%-28s %2d: %s, flags %x, mask %llx\n", what, sig, name_of(act.sa_handler),
	       (unsigned)act.sa_flags, (unsigned long long)mask);
}

static void views_of(int sig)
{
	struct sigaction act = { .sa_sigaction = with_info,
				 .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK },
			 old;

	show("at the start", sig);
	sigaddset(&act.sa_mask, SIGUSR1);
	EXPECT(sigaction(sig, &act, &old) == 0);
	printf("old: %s\n", name_of(old.sa_handler));
	show("sigaction", sig);
	printf("signal: %s\n", name_of(signal(sig, plain)));
	show("signal", sig);
	EXPECT(siginterrupt(sig, 1) == 0);
	show("siginterrupt 1", sig);
	signal(sig, plain);
	show("signal, interrupting", sig);
	EXPECT(siginterrupt(sig, 0) == 0);
	show("siginterrupt 0", sig);
	printf("sysv_signal: %s\n", name_of(sysv_signal(sig, plain)));
	show("sysv_signal", sig);
	printf("sigset: %s\n", name_of(sigset(sig, SIG_HOLD)));
	show("sigset hold", sig);
	printf("sigset: %s\n", name_of(sigset(sig, plain)));
	show("sigset", sig);
	EXPECT(sigignore(sig) == 0);
	show("sigignore", sig);
	printf("signal: %s\n", name_of(signal(sig, SIG_DFL)));
	show("signal default", sig);
	act.sa_handler = SIG_IGN;
	act.sa_flags = 0;
	EXPECT(sigaction(sig, &act, NULL) == 0);
	show("sigaction ignore", sig);
	signal(sig, SIG_DFL);
}

static void views(void)
{
	static const int signals[] = { SIGPROF, SIGUSR1, SIGTERM, SIGSEGV, SIGCHLD, SIGVTALRM };
	struct sigaction act = { .sa_handler = plain };

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		views_of(signals[i]);
		burn(0.02);
	}
	burn_and_tick(0);
	EXPECT(sigaction(SIGKILL, &act, NULL) == -1 && errno == EINVAL);
	EXPECT(sigaction(0, &act, NULL) == -1 && errno == EINVAL);
	EXPECT(sigaction(65, &act, NULL) == -1 && errno == EINVAL);
	EXPECT(signal(SIGSTOP, plain) == SIG_ERR && errno == EINVAL);
	EXPECT(signal(-1, plain) == SIG_ERR && errno == EINVAL);
	EXPECT(sigset(99, plain) == SIG_ERR && errno == EINVAL);
}

static void use(void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction act = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags };

	sigaddset(&act.sa_mask, SIGUSR1);
	EXPECT(sigaction(SIGPROF, &act, NULL) == 0);
	got = nested = 0;
}

static int is_blocked(int sig)
{
	sigset_t now;

	sigprocmask(SIG_BLOCK, NULL, &now);
	return sigismember(&now, sig);
}

static void inside(int sig, siginfo_t *si, void *context)
{
	got++;
	EXPECT(is_blocked(SIGUSR1) && !is_blocked(SIGUSR2));
	if (got == 1) {
		raise(SIGPROF);
		nested = got; /* 1: deferred, 2: at once */
	}
}

static sigjmp_buf out;

static void jumps(int sig, siginfo_t *si, void *context)
{
	got++;
	siglongjmp(out, 1);
}

static void deliver(void)
{
	union sigval value = { .sival_int = 4711 };

	use(with_info, 0);
	kill(getpid(), SIGPROF);
	EXPECT(got == 1 && got_code == SI_USER);
	pthread_kill(pthread_self(), SIGPROF);
	EXPECT(got == 2 && got_code == SI_TKILL);
	EXPECT(sigqueue(getpid(), SIGPROF, value) == 0);
	EXPECT(got == 3 && got_code == SI_QUEUE && got_value == 4711);
	EXPECT(pthread_sigqueue(pthread_self(), SIGPROF, value) == 0);
	EXPECT(got == 4 && got_code == SI_QUEUE && got_value == 4711);
	burn(0.1);
	EXPECT(got == 4);

	use(inside, 0);
	raise(SIGPROF);
	EXPECT(got == 2 && nested == 1);
	EXPECT(!is_blocked(SIGPROF) && !is_blocked(SIGUSR1));
	use(inside, SA_NODEFER);
	raise(SIGPROF);
	EXPECT(got == 2 && nested == 2);
	use(with_info, SA_RESETHAND);
	raise(SIGPROF);
	EXPECT(got == 1);
	show("after SA_RESETHAND", SIGPROF);

	use(jumps, 0);
	for (int i = 0; i < 3; i++)
		if (sigsetjmp(out, 1) == 0)
			raise(SIGPROF);
	EXPECT(got == 3);
	EXPECT(!is_blocked(SIGPROF) && !is_blocked(SIGUSR1));
	burn(0.1);

	signal(SIGPROF, SIG_IGN);
	got = 0;
	raise(SIGPROF);
	burn(0.1);
	EXPECT(got == 0);
}

/* The program's own profiler: it must get about as many signals as it asked for, and none of ours.
 */
static void itimer(void)
{
	struct itimerval every = { { 0, 10000 }, { 0, 10000 } }, off = { { 0, 0 }, { 0, 0 } }, old;

	use(with_info, SA_RESTART);
	EXPECT(getitimer(ITIMER_PROF, &old) == 0);
	EXPECT(!old.it_value.tv_sec && !old.it_value.tv_usec);
	EXPECT(setitimer(ITIMER_PROF, &every, &old) == 0);
	EXPECT(!old.it_value.tv_sec && !old.it_value.tv_usec);
	/* Without us 27 to 62 in half a second on a busy machine. */
	for (int i = 0; i < 50 && got < 25; i++)
		burn(0.1);
	EXPECT(setitimer(ITIMER_PROF, &off, &old) == 0);
	EXPECT(old.it_interval.tv_usec == 10000);
	fprintf(stderr, "ITIMER_PROF: %d signals at 100 Hz\n", got);
	EXPECT(got >= 25 && got <= 75);
	EXPECT(got_code == SI_KERNEL);
	got = 0;
	burn(0.1);
	EXPECT(got <= 1);
}

static void timer(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF };
	struct itimerspec every = { { 0, 10000000 }, { 0, 10000000 } };
	timer_t t;

	use(with_info, SA_RESTART);
	event.sigev_value.sival_int = 99;
	EXPECT(timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &t) == 0);
	EXPECT(timer_settime(t, 0, &every, NULL) == 0);
	/* As above: without us there are fewer than 25 in half a second now and then. */
	for (int i = 0; i < 50 && got < 25; i++)
		burn(0.1);
	timer_delete(t);
	fprintf(stderr, "timer: %d signals at 100 Hz\n", got);
	EXPECT(got >= 25 && got <= 75);
	EXPECT(got_code == SI_TIMER && got_value == 99);
	got = 0;
	burn(0.1);
	EXPECT(got <= 1);
}

static void die(const char *how)
{
	struct itimerval soon = { { 0, 0 }, { 0, 20000 } };

	burn(0.1);
	if (!strcmp(how, "raise"))
		raise(SIGPROF);
	else if (!strcmp(how, "kill"))
		kill(getpid(), SIGPROF);
	else if (!strcmp(how, "itimer"))
		setitimer(ITIMER_PROF, &soon, NULL);
	else if (!strcmp(how, "ignored"))
		signal(SIGPROF, SIG_IGN);
	if (!strcmp(how, "ignored"))
		raise(SIGPROF);
	burn(0.2);
}

int main(int argc, char **argv)
{
	if (!strcmp(argv[1], "views"))
		views();
	else if (!strcmp(argv[1], "deliver"))
		deliver();
	else if (!strcmp(argv[1], "itimer"))
		itimer();
	else if (!strcmp(argv[1], "timer"))
		timer();
	else
		die(argv[2]);
	puts("done");
	HOST_END();
}
