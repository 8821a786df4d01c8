/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs that block signals read back what they set, are sampled all the same, and never see a
 * signal of the profiler's in sigwait.
 *
 *   masks                 all of the checks below
 *   masks inherited       says what mask and disposition of SIGPROF it was started with
 *   masks polls           asks for a blocked SIGPROF again and again: nobody sends one
 *   masks exec HOW SELF   block and ignore SIGPROF, then run "SELF inherited" by execv, fork,
 * vfork, spawn
 */
#include <spawn.h>
#include <sys/signalfd.h>

#include "host.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

extern char **environ;

static sigset_t full, empty, prof;
static volatile int got_prof, got_code;

static void on_prof(int sig, siginfo_t *si, void *context)
{
	got_prof++;
	got_code = si->si_code;
}

static void expect_handler_for_prof(void)
{
	struct sigaction act = { .sa_sigaction = on_prof, .sa_flags = SA_SIGINFO };

	EXPECT(sigaction(SIGPROF, &act, NULL) == 0);
	got_prof = 0;
}

/* The kernel's sets lack libc's own signals, SIGKILL and SIGSTOP. */
static int same_set(const sigset_t *a, const sigset_t *b)
{
	for (int sig = 1; sig < 65; sig++)
		if (sig != 32 && sig != 33 && sig != SIGKILL && sig != SIGSTOP &&
		    sigismember(a, sig) != sigismember(b, sig))
			return 0;
	return 1;
}

static void query(void)
{
	sigset_t old;

	EXPECT(sigprocmask(SIG_SETMASK, &full, &old) == 0);
	EXPECT(same_set(&old, &empty));
	EXPECT(sigprocmask(SIG_BLOCK, NULL, &old) == 0);
	EXPECT(same_set(&old, &full));
	EXPECT(pthread_sigmask(SIG_UNBLOCK, &prof, &old) == 0);
	EXPECT(sigismember(&old, SIGPROF) == 1);
	EXPECT(pthread_sigmask(SIG_BLOCK, &empty, &old) == 0);
	EXPECT(sigismember(&old, SIGPROF) == 0);
	EXPECT(sigismember(&old, SIGINT) == 1);
	EXPECT(pthread_sigmask(SIG_BLOCK, &prof, NULL) == 0);
	EXPECT(pthread_sigmask(77, &prof, NULL) == EINVAL);
	EXPECT(sigprocmask(SIG_SETMASK, &empty, &old) == 0);
	EXPECT(sigismember(&old, SIGPROF) == 1);
	EXPECT(sigblock((1 << (SIGPROF - 1))) == 0);
	EXPECT(sigsetmask(0) == (1 << (SIGPROF - 1)));
	EXPECT(sighold(SIGPROF) == 0);
	EXPECT(sigprocmask(SIG_BLOCK, NULL, &old) == 0 && sigismember(&old, SIGPROF) == 1);
	EXPECT(sigrelse(SIGPROF) == 0);
	EXPECT(sigprocmask(SIG_BLOCK, NULL, &old) == 0 && sigismember(&old, SIGPROF) == 0);
}

/* One set is the new mask and receives the old one: the kernel reads it before it writes it. The
 * compiler knows of the functions' own names that they may not be called so. */
static void same_set_for_both(void)
{
	int (*volatile change)(int, const sigset_t *, sigset_t *) = sigprocmask;
	sigset_t set = full, now;

	EXPECT(change(SIG_SETMASK, &set, &set) == 0);
	EXPECT(same_set(&set, &empty));
	EXPECT(sigprocmask(SIG_BLOCK, NULL, &now) == 0);
	EXPECT(same_set(&now, &full));
	EXPECT(change(SIG_SETMASK, &set, &set) == 0);
	EXPECT(same_set(&set, &full));
	set = prof;
	sigaddset(&set, SIGSTKFLT);
	EXPECT(change(SIG_BLOCK, &set, &set) == 0);
	set = prof;
	EXPECT(change(SIG_UNBLOCK, &set, &set) == 0);
	EXPECT(sigprocmask(SIG_SETMASK, &empty, &now) == 0);
	EXPECT(sigismember(&now, SIGPROF) == 0);
	EXPECT(sigismember(&now, SIGSTKFLT) == 1);
}

/* The kernel's sets have 64 signals, libc's have room for 1024: the part beyond the kernel's eight
 * bytes stays unchanged. */
static void fill(sigset_t *set)
{
	memset(set, 0xaa, sizeof(*set));
}

static int keeps_the_rest(const sigset_t *set)
{
	const unsigned char *bytes = (const void *)set;

	for (size_t i = 8; i < sizeof(*set); i++)
		if (bytes[i] != 0xaa)
			return 0;
	return 1;
}

__attribute__((noinline)) static void leave_on_stack(void)
{
	volatile unsigned char bytes[8192];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = 0xaa;
}

/* libc's sigaction writes it all, with what is on its own stack; under the profiler with zeros. */
static void expect_zeros_behind(int sig, const struct sigaction *act)
{
	const unsigned char *bytes;
	struct sigaction old;

	leave_on_stack();
	EXPECT(sigaction(sig, act, &old) == 0);
	bytes = (const void *)&old.sa_mask;
	for (size_t at = 8; at < sizeof(old.sa_mask); at++)
		EXPECT(!getenv("LD_PRELOAD") || !bytes[at]);
}

static void rest_of_a_handlers_mask(void)
{
	static const int signals[] = { SIGPROF, SIGTERM, SIGUSR1 };
	const struct sigaction ignored = { .sa_handler = SIG_IGN };
	const struct sigaction by_default = { .sa_handler = SIG_DFL };

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		expect_zeros_behind(signals[i], &ignored);
		expect_zeros_behind(signals[i], NULL);
		expect_zeros_behind(signals[i], &by_default);
	}
}

static void rest_of_sets(void)
{
	sigset_t old;

	fill(&old);
	EXPECT(sigprocmask(SIG_BLOCK, &prof, &old) == 0 && keeps_the_rest(&old));
	EXPECT(sigprocmask(SIG_BLOCK, NULL, &old) == 0 && keeps_the_rest(&old));
	EXPECT(pthread_sigmask(SIG_SETMASK, &full, &old) == 0 && keeps_the_rest(&old));
	EXPECT(pthread_sigmask(SIG_BLOCK, NULL, &old) == 0 && keeps_the_rest(&old));
	EXPECT(sigpending(&old) == 0 && keeps_the_rest(&old));
	EXPECT(sigprocmask(SIG_SETMASK, &empty, &old) == 0 && keeps_the_rest(&old));
	EXPECT(same_set(&old, &full));
	rest_of_a_handlers_mask();
}

/* All that a thread may wait for never holds a sample. */
static void wait_for_any(void)
{
	struct timespec nothing = { 0, 0 }, moment = { 0, 20000000 };
	sigset_t pending;
	siginfo_t si;
	char data[512];
	int fd;

	EXPECT(sigprocmask(SIG_SETMASK, &full, NULL) == 0);
	fd = signalfd(-1, &full, SFD_NONBLOCK | SFD_CLOEXEC);
	for (int i = 0; i < 50; i++) {
		burn(0.004);
		EXPECT(sigtimedwait(&full, &si, &nothing) == -1 && errno == EAGAIN);
		EXPECT(sigpending(&pending) == 0 && same_set(&pending, &empty));
		EXPECT(read(fd, data, sizeof(data)) == -1 && errno == EAGAIN);
	}
	EXPECT(sigtimedwait(&full, NULL, &moment) == -1 && errno == EAGAIN);
	close(fd);
	EXPECT(sigprocmask(SIG_SETMASK, &empty, NULL) == 0);
}

/* One of the program's own signals is held as long as it is blocked. */
static void own_is_pending(void)
{
	union sigval value = { .sival_int = 42 };
	sigset_t pending;
	siginfo_t si;
	int sig;

	expect_handler_for_prof();
	sigprocmask(SIG_BLOCK, &prof, NULL);
	raise(SIGPROF);
	kill(getpid(), SIGPROF);
	EXPECT(got_prof == 0);
	EXPECT(sigpending(&pending) == 0 && sigismember(&pending, SIGPROF) == 1);
	sigprocmask(SIG_UNBLOCK, &prof, NULL);
	EXPECT(got_prof >= 1);
	EXPECT(sigpending(&pending) == 0 && sigismember(&pending, SIGPROF) == 0);

	sigprocmask(SIG_BLOCK, &prof, NULL);
	EXPECT(sigqueue(getpid(), SIGPROF, value) == 0);
	EXPECT(sigwaitinfo(&prof, &si) == SIGPROF);
	EXPECT(si.si_code == SI_QUEUE && si.si_value.sival_int == 42 && si.si_pid == getpid());
	pthread_kill(pthread_self(), SIGPROF);
	EXPECT(sigwait(&prof, &sig) == 0 && sig == SIGPROF);
	got_prof = 0;
	kill(getpid(), SIGPROF);
	EXPECT(sigsuspend(&empty) == -1 && errno == EINTR);
	EXPECT(got_prof == 1);
	EXPECT(sigprocmask(SIG_UNBLOCK, &prof, &pending) == 0);
	EXPECT(sigismember(&pending, SIGPROF) == 1);
	EXPECT(got_prof == 1);
}

/* Signals that wait together are taken by their numbers, and one that is ignored is gone. */
static void one_of_several_is_pending(void)
{
	static const int in_order[] = { SIGUSR1, SIGALRM, SIGPROF, SIGIO };
	const struct timespec nothing = { 0, 0 };

	sigprocmask(SIG_SETMASK, &full, NULL);
	for (int by_kill = 0; by_kill < 2; by_kill++) {
		for (int i = 3; i >= 0; i--)
			EXPECT((by_kill ? kill(getpid(), in_order[i]) : raise(in_order[i])) == 0);
		for (int i = 0; i < 4; i++)
			EXPECT(sigtimedwait(&full, NULL, &nothing) == in_order[i]);
		EXPECT(sigtimedwait(&full, NULL, &nothing) == -1 && errno == EAGAIN);
		EXPECT((by_kill ? kill(getpid(), SIGPROF) : raise(SIGPROF)) == 0);
		signal(SIGPROF, SIG_IGN);
		EXPECT(sigtimedwait(&full, NULL, &nothing) == -1 && errno == EAGAIN);
	}
	expect_handler_for_prof();
	got_prof = 0;
	sigprocmask(SIG_SETMASK, &empty, NULL);
	EXPECT(got_prof == 0);
}

/* A handler's changes to the mask end with it. */
static void on_prof_blocking(int sig)
{
	sigset_t inside;

	EXPECT(sigprocmask(SIG_BLOCK, &full, &inside) == 0);
	EXPECT(sigismember(&inside, SIGPROF) == 1);
	EXPECT(sigismember(&inside, SIGUSR1) == 1);
	EXPECT(sigismember(&inside, SIGINT) == 0);
	got_prof++;
}

static void mask_in_handler(void)
{
	struct sigaction act = { .sa_handler = on_prof_blocking };
	sigset_t after;

	sigaddset(&act.sa_mask, SIGUSR1);
	sigaction(SIGPROF, &act, NULL);
	got_prof = 0;
	raise(SIGPROF);
	EXPECT(got_prof == 1);
	sigprocmask(SIG_BLOCK, NULL, &after);
	EXPECT(same_set(&after, &empty));
}

/* The usual shape of a server: everything blocked everywhere, one thread waits. */
static void *wait_thread(void *arg)
{
	int sig;

	EXPECT(sigwait(&full, &sig) == 0);
	return (void *)(long)sig;
}

static void *blocked_worker(void *arg)
{
	sigset_t mine;

	pthread_sigmask(SIG_BLOCK, NULL, &mine);
	EXPECT(same_set(&mine, &full));
	pthread_sigmask(SIG_SETMASK, &empty, NULL);
	pthread_sigmask(SIG_BLOCK, &full, NULL);
	burn(0.3);
	return NULL;
}

static void *takes_it(void *arg)
{
	sigset_t mine;

	pthread_sigmask(SIG_UNBLOCK, &prof, NULL);
	while (!got_prof)
		burn(0.001);
	pthread_sigmask(SIG_BLOCK, NULL, &mine);
	EXPECT(sigismember(&mine, SIGPROF) == 0 && sigismember(&mine, SIGINT) == 1);
	return NULL;
}

/* Nearly always asleep: it has to be woken. */
static void *sleeps(void *arg)
{
	pthread_sigmask(SIG_UNBLOCK, &prof, NULL);
	for (int i = 0; !got_prof && i < 2000; i++)
		usleep(10000);
	EXPECT(got_prof == 1);
	return NULL;
}

static void server(void)
{
	pthread_t waiter, worker, taker;
	void *sig;

	expect_handler_for_prof();
	pthread_sigmask(SIG_SETMASK, &full, NULL);
	pthread_create(&waiter, NULL, wait_thread, NULL);
	pthread_create(&worker, NULL, blocked_worker, NULL);
	pthread_join(worker, NULL);
	kill(getpid(), SIGPROF);
	pthread_join(waiter, &sig);
	EXPECT((long)sig == SIGPROF);
	EXPECT(got_prof == 0);
	pthread_create(&taker, NULL, takes_it, NULL);
	kill(getpid(), SIGPROF);
	pthread_join(taker, NULL);
	EXPECT(got_prof == 1);
	got_prof = 0;
	pthread_create(&taker, NULL, sleeps, NULL);
	usleep(50000);
	kill(getpid(), SIGPROF);
	pthread_join(taker, NULL);
	pthread_sigmask(SIG_SETMASK, &empty, NULL);
	EXPECT(got_prof == 1);
}

static void *report_mask(void *arg)
{
	pthread_sigmask(SIG_BLOCK, NULL, arg);
	burn(0.05);
	return NULL;
}

/* Not every libc has it. */
extern int pthread_attr_setsigmask_np(pthread_attr_t *, const sigset_t *) __attribute__((weak));

static void by_attribute(void)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t seen;

	if (!pthread_attr_setsigmask_np)
		return;
	pthread_attr_init(&attr);
	EXPECT(pthread_attr_setsigmask_np(&attr, &full) == 0);
	EXPECT(pthread_create(&thread, &attr, report_mask, &seen) == 0);
	pthread_join(thread, NULL);
	EXPECT(same_set(&seen, &full));
	pthread_sigmask(SIG_SETMASK, &full, NULL);
	EXPECT(pthread_attr_setsigmask_np(&attr, &empty) == 0);
	EXPECT(pthread_create(&thread, &attr, report_mask, &seen) == 0);
	pthread_join(thread, NULL);
	EXPECT(same_set(&seen, &empty));
	EXPECT(pthread_create(&thread, NULL, report_mask, &seen) == 0);
	pthread_join(thread, NULL);
	EXPECT(same_set(&seen, &full));
	pthread_sigmask(SIG_SETMASK, &empty, NULL);
	pthread_attr_destroy(&attr);
}

__attribute__((noinline)) static int inherited(void)
{
	struct sigaction act;
	sigset_t mask;

	sigprocmask(SIG_BLOCK, NULL, &mask);
	sigaction(SIGPROF, NULL, &act);
	printf("SIGPROF %s, %s; SIGINT %s\n",
	       sigismember(&mask, SIGPROF) ? "blocked" : "not blocked",
	       act.sa_handler == SIG_DFL   ? "default"
	       : act.sa_handler == SIG_IGN ? "ignored"
					   : "handled",
	       sigismember(&mask, SIGINT) ? "blocked" : "not blocked");
	burn(0.05);
	HOST_END();
}

__attribute__((noinline)) static int polls(void)
{
	const struct timespec now = { 0 };
	const clock_t end = clock() + CLOCKS_PER_SEC / 2;
	int got = 0, error = 0;
	siginfo_t si;

	sigprocmask(SIG_BLOCK, &prof, NULL);
	while (clock() < end)
		for (int i = 0; i < 100; i++) {
			got += sigtimedwait(&prof, &si, &now) >= 0;
			error += errno != EAGAIN;
		}
	EXPECT(got == 0);
	EXPECT(error == 0);
	HOST_END();
}

static int exec(const char *how, char *self)
{
	char *argv[] = { self, "inherited", NULL };
	int status = -1;
	sigset_t old;
	pid_t pid = 0;

	sigprocmask(SIG_BLOCK, &prof, NULL);
	signal(SIGPROF, SIG_IGN);
	burn(0.02);
	if (!strcmp(how, "execv")) {
		execv("/nonexistent", argv);
		sigprocmask(SIG_BLOCK, NULL, &old);
		EXPECT(sigismember(&old, SIGPROF) == 1);
		burn(0.02);
		execv(self, argv);
	} else if (!strcmp(how, "fork")) {
		pid = fork();
		if (!pid)
			execv(self, argv);
	} else if (!strcmp(how, "vfork")) {
		pid = vfork();
		if (!pid) {
			execv(self, argv);
			_exit(127);
		}
	} else if (!strcmp(how, "restored")) {
		/* As Python's subprocess does it. */
		sigprocmask(SIG_UNBLOCK, &prof, NULL);
		sigprocmask(SIG_BLOCK, &full, &old);
		pid = vfork();
		if (!pid) {
			signal(SIGPROF, SIG_DFL);
			sigprocmask(SIG_SETMASK, &old, NULL);
			execv(self, argv);
			_exit(127);
		}
		sigprocmask(SIG_BLOCK, NULL, &old);
		EXPECT(same_set(&old, &full));
		EXPECT(signal(SIGPROF, SIG_IGN) == SIG_IGN);
	} else {
		EXPECT(posix_spawn(&pid, self, NULL, NULL, argv, environ) == 0);
	}
	EXPECT(waitpid(pid, &status, 0) == pid);
	EXPECT(status == 0);
	HOST_END();
}

int main(int argc, char **argv)
{
	sigfillset(&full);
	sigemptyset(&empty);
	sigemptyset(&prof);
	sigaddset(&prof, SIGPROF);
	if (argc > 1 && !strcmp(argv[1], "inherited"))
		return inherited();
	if (argc > 1 && !strcmp(argv[1], "polls"))
		return polls();
	if (argc > 3)
		return exec(argv[2], argv[3]);
	query();
	same_set_for_both();
	rest_of_sets();
	wait_for_any();
	own_is_pending();
	one_of_several_is_pending();
	mask_in_handler();
	server();
	by_attribute();
	puts("done");
	HOST_END();
}
