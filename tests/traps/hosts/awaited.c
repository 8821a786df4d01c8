/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that wait for signals by sigwaitinfo and sigtimedwait: only a signal that was sent to the
 * program, or one of its own handlers, ends the wait.
 *
 *   awaited stolen        main waits for SIGPROF, and another thread, which has it blocked, too,
 *                         sends it and takes each occasion to be given it
 *   awaited handled       a handler of the program's ends the wait
 *   awaited sampled       the same, when the call takes out a timer's sample, too
 *   awaited left          others are sent, and the wait is no longer for that
 *   awaited dump          SIGUSR2 has no handler, and is sent
 *   awaited early FILE    a thread that blocked all before the profile is started, to FILE
 */
#include "cprof.h"
#include "host.h"
#include "raw-sigaction.h"
#include "tasks.h"

#define SIGNALS 2000
#define STACK (1 << 16)

static const struct timespec long_enough = { 20, 0 }, moment = { 0, 300000000 };
static sigset_t full, prof, usr1, usr2;
static volatile int awaited, over, got;
static pthread_t main_thread;

static void pass(long us)
{
	struct timespec t = { 0, us * 1000 };

	nanosleep(&t, NULL);
}

/* Any change of the mask makes the kernel look for what it can deliver here. */
static void look_for_signals(void)
{
	pthread_sigmask(SIG_UNBLOCK, &usr2, NULL);
	pthread_sigmask(SIG_BLOCK, &usr2, NULL);
}

static void counts(int sig)
{
	got++;
}

static void *sends_each(void *arg)
{
	void *memory =
		mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t stack = { .ss_sp = memory, .ss_size = STACK };

	EXPECT(memory != MAP_FAILED && sigaltstack(&stack, NULL) == 0);
	for (int i = 1; i <= SIGNALS; i++) {
		while (awaited != i)
			sched_yield();
		pass(20);
		madvise(memory, STACK, MADV_DONTNEED);
		kill(getpid(), SIGPROF);
		look_for_signals();
	}
	return arg;
}

__attribute__((noinline)) static void *busy(void *arg)
{
	while (!over)
		burn(0.001);
	burn_and_tick(0);
	return arg;
}

static void stolen(void)
{
	pthread_t sender, other;
	int early = 0, other_way = 0;
	siginfo_t si;

	/* Also for those that can't be caught, nor blocked. */
	for (int sig = 1; sig < 65; sig++)
		signal(sig, counts);
	pthread_sigmask(SIG_BLOCK, &full, NULL);
	pthread_create(&sender, NULL, sends_each, NULL);
	pthread_create(&other, NULL, busy, NULL);
	for (int i = 1; i <= SIGNALS; i++) {
		const sigset_t *set = i & 1 ? &full : &prof;
		int sig;

		memset(&si, 0, sizeof(si));
		awaited = i;
		while ((sig = i & 2 ? sigwaitinfo(set, &si)
				    : sigtimedwait(set, &si, &long_enough)) < 0 &&
		       errno == EINTR)
			early++;
		EXPECT(sig == SIGPROF);
		other_way += si.si_signo != SIGPROF || si.si_code != SI_USER ||
			     si.si_pid != getpid() || si.si_uid != getuid();
	}
	over = 1;
	pthread_join(sender, NULL);
	pthread_join(other, NULL);
	printf("%d signals, %d EINTR, %d not as sent\n", SIGNALS, early, other_way);
	EXPECT(early == 0);
	EXPECT(other_way == 0);
}

static void counts_once(int sig)
{
	signal(sig, SIG_DFL);
	got++;
}

/* Nothing but a signal ends that. */
static void until_main_sleeps(void)
{
	do
		pass(1000);
	while (task_state(getpid()) != 'S');
}

static void *sends_one(void *sig)
{
	while (!awaited)
		pass(1000);
	until_main_sleeps();
	pthread_kill(main_thread, (int)(long)sig);
	return NULL;
}

/* Beside samples, which nobody can tell from it, it may end before. */
static void check_ends(int sig, const sigset_t *set)
{
	pthread_t sender;
	int before = got, r;

	awaited = 0;
	pthread_create(&sender, NULL, sends_one, (void *)(long)sig);
	awaited = 1;
	do
		r = sigtimedwait(set, NULL, &long_enough);
	while (r == -1 && errno == EINTR && got == before);
	EXPECT(r == -1 && errno == EINTR);
	EXPECT(got == before + 1);
	pthread_join(sender, NULL);
}

/* With SIGPROF in what is waited for, and without. */
static void handled(void)
{
	struct sigaction once = { .sa_handler = counts, .sa_flags = (int)SA_RESETHAND };

	main_thread = pthread_self();
	pthread_sigmask(SIG_BLOCK, &usr2, NULL);
	signal(SIGPROF, counts);
	check_ends(SIGPROF, &usr2);
	pthread_sigmask(SIG_BLOCK, &prof, NULL);
	/* While there is no other. */
	EXPECT(raw_sigaction(SIGURG, counts) == 0);
	check_ends(SIGURG, &usr2);
	check_ends(SIGURG, &prof);
	for (int i = 0; i < 100 && !host_failures; i++) {
		const sigset_t *set = i & 1 ? &prof : &usr2;

		signal(SIGUSR1, counts);
		check_ends(SIGUSR1, set);
		sigaction(SIGUSR1, &once, NULL);
		check_ends(SIGUSR1, set);
		signal(SIGTERM, counts_once);
		check_ends(SIGTERM, set);
	}
	printf("%d handled\n", got);
}

static siginfo_t sample;

/* Returns false if no timer's signal comes to this thread, which works. */
static bool get_sample(void)
{
	const uint64_t only_prof = UINT64_C(1) << (SIGPROF - 1);
	const struct timespec none = { 0 };
	bool got_one = false;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &only_prof, NULL, sizeof(only_prof));
	for (int i = 0; i < 100 && !got_one; i++) {
		burn(0.001);
		got_one = syscall(SYS_rt_sigtimedwait, &only_prof, &sample, &none,
				  sizeof(only_prof)) == SIGPROF &&
			  sample.si_code == SI_TIMER;
	}
	syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &only_prof, NULL, sizeof(only_prof));
	return got_one;
}

/* Both at once for main, which goes on when this thread sleeps: it has the same processor, and
 * main's class has it only while no other thread wants it. */
static void *sends_both(void *has_sample)
{
	const struct sched_param normal = { 0 };

	sched_setscheduler(0, SCHED_OTHER, &normal);
	until_main_sleeps();
	if (has_sample)
		syscall(SYS_rt_tgsigqueueinfo, getpid(), getpid(), SIGPROF, &sample);
	pthread_kill(main_thread, SIGUSR1);
	return NULL;
}

static void check_ends_both(bool has_sample)
{
	const struct sched_param idle = { 0 };
	pthread_t sender;
	int before = got, r;

	sched_setscheduler(0, SCHED_IDLE, &idle);
	pthread_create(&sender, NULL, sends_both, has_sample ? &sample : NULL);
	do
		r = sigtimedwait(&prof, NULL, &long_enough);
	while (r == -1 && errno == EINTR && got == before);
	EXPECT(r == -1 && errno == EINTR);
	EXPECT(got == before + 1);
	pthread_join(sender, NULL);
}

static void sampled(void)
{
	bool has_sample = get_sample();
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	EXPECT(sched_setaffinity(0, sizeof(one), &one) == 0);
	main_thread = pthread_self();
	signal(SIGUSR1, counts);
	pthread_sigmask(SIG_BLOCK, &prof, NULL);
	for (int i = 0; i < 20 && !host_failures; i++)
		check_ends_both(has_sample);
	printf("%d handled\n", got);
	fprintf(stderr, "%s", has_sample ? "" : "without a sample\n");
}

static void *sends_many(void *arg)
{
	for (int i = 0; i < 150 && !over; i++) {
		pass(20000);
		kill(getpid(), SIGPROF);
	}
	return arg;
}

/* Nobody gets what is sent, and the wait ends in time. */
static void left(void)
{
	double began;
	pthread_t sender;

	pthread_sigmask(SIG_BLOCK, &full, NULL);
	pthread_create(&sender, NULL, sends_many, NULL);
	began = host_clock(CLOCK_MONOTONIC);
	EXPECT(sigtimedwait(&usr1, NULL, &moment) == -1 && errno == EAGAIN);
	began = host_clock(CLOCK_MONOTONIC) - began;
	EXPECT(began >= 0.299 && began < 2);
	over = 1;
	pthread_join(sender, NULL);
}

static void *sends_dumps(void *arg)
{
	for (int i = 0; i < 5; i++) {
		until_main_sleeps();
		pthread_kill(main_thread, SIGUSR2);
	}
	until_main_sleeps();
	pthread_kill(main_thread, SIGUSR1);
	return arg;
}

static void dump(void)
{
	pthread_t sender;

	main_thread = pthread_self();
	pthread_sigmask(SIG_BLOCK, &usr1, NULL);
	pthread_create(&sender, NULL, sends_dumps, NULL);
	EXPECT(sigwaitinfo(&usr1, NULL) == SIGUSR1);
	pthread_join(sender, NULL);
}

extern int cprof_start(const struct cprof_options *) __attribute__((weak));

static void *waits_early(void *arg)
{
	siginfo_t si;

	pthread_sigmask(SIG_BLOCK, &full, NULL);
	awaited = 1;
	while (!over)
		pass(1000);
	for (int i = 0; i < 2; i++) {
		pthread_kill(pthread_self(), SIGPROF);
		EXPECT(sigtimedwait(&full, &si, &long_enough) == SIGPROF);
		printf("code %d\n", si.si_code);
		/* Blocked still: nobody handles it. */
		syscall(SYS_tgkill, getpid(), gettid(), SIGPROF);
		EXPECT(sigtimedwait(&full, &si, &long_enough) == SIGPROF);
		printf("code %d\n", si.si_code);
	}
	return arg;
}

static void early(const char *file)
{
	struct cprof_options o = CPROF_OPTIONS_INIT;
	pthread_t waiter;

	o.cpu_path = file;
	pthread_create(&waiter, NULL, waits_early, NULL);
	while (!awaited)
		sched_yield();
	EXPECT(!cprof_start || cprof_start(&o) == 0);
	over = 1;
	pthread_join(waiter, NULL);
}

static void only(sigset_t *set, int sig)
{
	sigemptyset(set);
	sigaddset(set, sig);
}

int main(int argc, char **argv)
{
	sigfillset(&full);
	only(&prof, SIGPROF);
	only(&usr1, SIGUSR1);
	only(&usr2, SIGUSR2);
	if (!strcmp(argv[1], "stolen"))
		stolen();
	else if (!strcmp(argv[1], "handled"))
		handled();
	else if (!strcmp(argv[1], "sampled"))
		sampled();
	else if (!strcmp(argv[1], "left"))
		left();
	else if (!strcmp(argv[1], "dump"))
		dump();
	else if (!strcmp(argv[1], "early"))
		early(argv[2]);
	HOST_END();
}
