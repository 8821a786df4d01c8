/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread sends SIGPROF to itself while a sample's is sure to be pending for it: it has used CPU
 * time for several samples with SIGPROF blocked in the kernel.
 *
 *   sends all    in every way; what each handler call got is checked, and what comes of masks,
 *                jumps, merging and errno
 *   sends first  once, from a thread that has not been sampled yet
 *   sends die    from a handler that was reset
 *   sends plain  outside of any handler
 *   sends refused COMMAND...    COMMAND, where a filter allows signals in the plain ways only
 */
#include <setjmp.h>

#include "host.h"
#include "deny.h"

#define LONG 0.02 /* s: some ticks of the kernel, and samples */

static volatile int got, code, value, nested;
static volatile pid_t sender;
static volatile uid_t owner;
static const union sigval token = { .sival_int = 4711 };

/* The function that programs linked before glibc 2.34 call. */
#if defined(__x86_64__) && defined(__GLIBC__)
__asm__(".symver pthread_kill_of_old, pthread_kill@GLIBC_2.2.5");
int pthread_kill_of_old(pthread_t thread, int sig);
#else
#define pthread_kill_of_old pthread_kill
#endif

#define BY(name, call)                                                                             \
	static int by_##name(void)                                                                 \
	{                                                                                          \
		return (int)(call);                                                                \
	}
BY(raise, raise(SIGPROF))
BY(gsignal, gsignal(SIGPROF))
BY(pthread_kill, pthread_kill(pthread_self(), SIGPROF))
BY(pthread_kill_of_old, pthread_kill_of_old(pthread_self(), SIGPROF))
#ifdef __GLIBC__
BY(pthread_sigqueue, pthread_sigqueue(pthread_self(), SIGPROF, token))
#endif
BY(tgkill, tgkill(getpid(), gettid(), SIGPROF))
BY(tgkill_number, syscall(SYS_tgkill, getpid(), gettid(), SIGPROF))
BY(tkill_number, syscall(SYS_tkill, gettid(), SIGPROF))
BY(kill, kill(getpid(), SIGPROF))
BY(both, by_kill() + by_raise())

static const struct {
	const char *name;
	int (*send)(void);
	int code;
} ways[] = {
	{ "raise", by_raise, SI_TKILL },
	{ "gsignal", by_gsignal, SI_TKILL },
	{ "pthread_kill", by_pthread_kill, SI_TKILL },
	{ "pthread_kill of old", by_pthread_kill_of_old, SI_TKILL },
#ifdef __GLIBC__
	{ "pthread_sigqueue", by_pthread_sigqueue, SI_QUEUE },
#endif
	{ "tgkill", by_tgkill, SI_TKILL },
	{ "SYS_tgkill", by_tgkill_number, SI_TKILL },
	{ "SYS_tkill", by_tkill_number, SI_TKILL },
	{ "kill", by_kill, SI_USER },
};
#define WAYS (sizeof(ways) / sizeof(*ways))

static int (*volatile send_now)(void);
static volatile int times;
static volatile double lead; /* CPU time used before it sends */

static void check_send(void)
{
	errno = 77;
	EXPECT(send_now() == 0);
	EXPECT(errno == 77);
}

static void note(const siginfo_t *si)
{
	got++;
	code = si->si_code;
	sender = si->si_pid;
	owner = si->si_uid;
	value = si->si_code == SI_QUEUE ? si->si_value.sival_int : 0;
}

/* The first call sends another one, which comes when it returns. */
static void inside(int sig, siginfo_t *si, void *context)
{
	note(si);
	if (got > 1)
		return;
	burn(lead);
	for (int i = 0; i < times; i++)
		check_send();
	nested = got;
	/* A perf event's signal that comes now is dropped, and it may be the only one. */
	burn(LONG);
}

static sigjmp_buf out;

static void jumps(int sig, siginfo_t *si, void *context)
{
	note(si);
	if (got > 1)
		return;
	burn(LONG);
	check_send();
	siglongjmp(out, 1);
}

static void notes(int sig, siginfo_t *si, void *context)
{
	note(si);
}

/* SIGPROF is in the mask of this one, for SIGUSR1. */
static void elsewhere(int sig)
{
	sigset_t other;

	burn(LONG);
	check_send();
	/* Any change of the mask is an occasion to lose it. */
	sigemptyset(&other);
	sigaddset(&other, SIGUSR2);
	EXPECT(sigprocmask(SIG_BLOCK, &other, NULL) == 0);
	EXPECT(sigprocmask(SIG_UNBLOCK, &other, NULL) == 0);
	nested = got;
}

static void use(void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction act = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags };

	EXPECT(sigaction(SIGPROF, &act, NULL) == 0);
	got = code = value = nested = 0;
	times = 1;
	lead = LONG;
}

static void check_last(int wanted, int wanted_code)
{
	EXPECT(got == wanted);
	EXPECT(code == wanted_code && sender == getpid() && owner == getuid());
	EXPECT(value == (wanted_code == SI_QUEUE ? token.sival_int : 0));
}

static void in_handler(int wanted_code)
{
	use(inside, 0);
	check_send();
	EXPECT(nested == 1);
	check_last(2, wanted_code);
	use(inside, SA_NODEFER);
	check_send();
	EXPECT(nested == 2);
	check_last(2, wanted_code);
}

static void in_others_handler(int wanted_code)
{
	struct sigaction act = { .sa_handler = elsewhere };

	sigaddset(&act.sa_mask, SIGPROF);
	EXPECT(sigaction(SIGUSR1, &act, NULL) == 0);
	use(notes, 0);
	EXPECT(raise(SIGUSR1) == 0);
	EXPECT(nested == 0);
	check_last(1, wanted_code);
}

static void with_a_jump(int wanted_code)
{
	use(jumps, 0);
	if (sigsetjmp(out, 1) == 0)
		check_send();
	check_last(2, wanted_code);
	check_send();
	check_last(3, wanted_code);
}

static void while_blocked(int wanted_code)
{
	sigset_t prof, old;

	sigemptyset(&prof);
	sigaddset(&prof, SIGPROF);
	use(notes, 0);
	EXPECT(sigprocmask(SIG_BLOCK, &prof, NULL) == 0);
	check_send();
	burn(LONG);
	EXPECT(got == 0);
	EXPECT(sigpending(&old) == 0 && sigismember(&old, SIGPROF) == 1);
	EXPECT(sigprocmask(SIG_UNBLOCK, &prof, &old) == 0);
	EXPECT(sigismember(&old, SIGPROF) == 1);
	check_last(1, wanted_code);
	EXPECT(sigprocmask(SIG_BLOCK, &prof, NULL) == 0);
	check_send();
	EXPECT(sigwaitinfo(&prof, NULL) == SIGPROF);
	EXPECT(sigprocmask(SIG_UNBLOCK, &prof, NULL) == 0);
	EXPECT(got == 1);
}

static void every_way(void)
{
	for (size_t i = 0; i < WAYS; i++) {
		int before = host_failures;

		send_now = ways[i].send;
		in_handler(ways[i].code);
		in_others_handler(ways[i].code);
		with_a_jump(ways[i].code);
		while_blocked(ways[i].code);
		printf("%s: %s\n", ways[i].name, host_failures == before ? "as sent" : "not so");
	}
}

/* Two that wait are one. */
static void merging(void)
{
	send_now = by_raise;
	use(inside, 0);
	times = 2;
	check_send();
	EXPECT(nested == 1);
	check_last(2, SI_TKILL);
	/* But not one to the thread and one to the process: that comes last. */
	send_now = by_both;
	use(inside, 0);
	by_raise();
	EXPECT(nested == 1);
	check_last(3, SI_USER);
	use(jumps, 0);
	if (sigsetjmp(out, 1) == 0)
		by_raise();
	check_last(3, SI_USER);
}

/* Ignored, and sent to somebody else. */
static void others(void)
{
	signal(SIGPROF, SIG_IGN);
	got = 0;
	EXPECT(raise(SIGPROF) == 0);
	use(notes, 0);
	EXPECT(got == 0);
	EXPECT(pthread_kill(pthread_self(), 0) == 0);
	EXPECT(tgkill(getpid(), gettid(), 0) == 0);
	EXPECT(raise(99) == -1 && errno == EINVAL);
	EXPECT(tgkill(getpid(), 0, SIGPROF) == -1 && errno == EINVAL);
	EXPECT(got == 0);
}

static void *tells_id(void *id)
{
	*(volatile pid_t *)id = gettid();
	return NULL;
}

/* libc's versions differ in what they say of a thread that has ended. */
static void ended(void)
{
	volatile pid_t id = 0;
	pthread_t thread;

	EXPECT(pthread_create(&thread, NULL, tells_id, (void *)&id) == 0);
	while (!id || tgkill(getpid(), id, 0) == 0)
		sched_yield();
	printf("ended: %d, to older programs %d\n", pthread_kill(thread, SIGPROF),
	       pthread_kill_of_old(thread, SIGPROF));
	pthread_join(thread, NULL);
}

/* Sampled still. On a busy machine half of the ticks may be missing. */
__attribute__((noinline)) static void after_sends(void)
{
	burn(0.5);
	__asm__ volatile("");
}

/* Its perf event has not hit yet, does so once, and finds SIGPROF pending. */
static void *early(void *arg)
{
	send_now = by_raise;
	use(inside, 0);
	lead = 0;
	check_send();
	check_last(2, SI_TKILL);
	after_sends();
	return arg;
}

static void first(void)
{
	pthread_t thread;

	EXPECT(pthread_create(&thread, NULL, early, NULL) == 0);
	pthread_join(thread, NULL);
}

static void last(int sig)
{
	burn(LONG);
	raise(SIGPROF);
	burn(LONG);
}

static int refused(char **command)
{
	if (!deny_call(SYS_rt_tgsigqueueinfo))
		return 77;
	execvp(command[0], command);
	return 2;
}

static void counted(int sig)
{
	got++;
}

static void plain(void)
{
	struct sigaction act = { .sa_handler = counted };

	EXPECT(sigaction(SIGPROF, &act, NULL) == 0);
	for (int i = 1; i <= 3; i++) {
		EXPECT(raise(SIGPROF) == 0);
		EXPECT(got == i);
		EXPECT(pthread_kill(pthread_self(), 0) == 0);
	}
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_handler = last, .sa_flags = (int)SA_RESETHAND };

	if (!strcmp(argv[1], "die")) {
		EXPECT(sigaction(SIGPROF, &act, NULL) == 0);
		raise(SIGPROF);
		EXPECT(!"alive");
		HOST_END();
	}
	if (!strcmp(argv[1], "refused"))
		return refused(argv + 2);
	if (!strcmp(argv[1], "plain")) {
		plain();
		HOST_END();
	}
	if (!strcmp(argv[1], "first")) {
		first();
		HOST_END();
	}
	every_way();
	merging();
	others();
	ended();
	after_sends();
	HOST_END();
}
