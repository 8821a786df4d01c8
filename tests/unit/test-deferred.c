/* SPDX-License-Identifier: BSD-3-Clause */
/* SIGPROFs of the program that are kept: a thread that takes one is woken for it. */
#define OWN_MAIN
#include "harness.h"

#include "host/signal/host_signal.h"
#include "base/sys.h"

static sem_t there, go;
static sigset_t prof;

static void enter(void)
{
	struct cp_thread *t = cp_thread_claim();

	CHECK(t != NULL);
	cp_deferred_really_block(true);
	cp_thread_enter(t);
}

static void leave(void)
{
	cp_thread_free(cp_self.thread);
	cp_self.thread = NULL;
}

static bool was_woken(int seconds)
{
	const struct timespec t = { seconds, 0 };
	siginfo_t si;

	return sigtimedwait(&prof, &si, &t) == SIGPROF && si.si_timerid == CP_DEFERRED_WAKEUP;
}

static void keep_one(void)
{
	siginfo_t si;

	memset(&si, 0, sizeof(si));
	si.si_signo = SIGPROF;
	si.si_code = SI_USER;
	si.si_pid = 4711;
	cp_deferred_keep(&si);
}

/* Is woken, and what it takes is what was kept. */
static void *waits(void *arg)
{
	siginfo_t si = { 0 };

	enter();
	cp_deferred_set_blocked(true);
	cp_deferred_set_waiting(true);
	sem_post(&there);
	CHECK(was_woken(20));
	CHECK(cp_deferred_take(&si) && si.si_code == SI_USER && si.si_pid == 4711);
	cp_deferred_set_waiting(false);
	leave();
	return arg;
}

/* As in a handler of the program, or with a mask from before the start: the kernel lets no signal
 * in. */
static void *stands_by(void *arg)
{
	enter();
	sem_post(&there);
	sem_wait(&go);
	CHECK(!was_woken(0));
	leave();
	return arg;
}

static pthread_t begin(void *(*start)(void *))
{
	pthread_t t;

	CHECK_EQ(pthread_create(&t, NULL, start, NULL), 0);
	sem_wait(&there);
	return t;
}

TEST(test_held_who_waits_is_woken_before_others)
{
	pthread_t other = begin(stands_by), waiter = begin(waits);

	keep_one();
	pthread_join(waiter, NULL);
	sem_post(&go);
	pthread_join(other, NULL);
}

/* The first was woken, and its time was over at that moment. */
TEST(test_held_who_ends_to_wait_wakes_another)
{
	pthread_t waiter;

	enter();
	cp_deferred_set_blocked(true);
	cp_deferred_set_waiting(true);
	waiter = begin(waits);
	keep_one();
	CHECK(was_woken(0));
	cp_deferred_set_waiting(false);
	pthread_join(waiter, NULL);
	leave();
}

static void *takes_any(void *arg)
{
	siginfo_t si;

	enter();
	sem_post(&there);
	CHECK(was_woken(20));
	CHECK(cp_deferred_take(&si));
	leave();
	return arg;
}

TEST(test_held_who_blocks_wakes_another)
{
	pthread_t taker;

	cp_self.prof_blocked = 0;
	enter();
	taker = begin(takes_any);
	keep_one();
	CHECK(was_woken(0));
	cp_deferred_set_blocked(true);
	pthread_join(taker, NULL);
	leave();
}

int main(void)
{
	sem_init(&there, 0, 0);
	sem_init(&go, 0, 0);
	sigemptyset(&prof);
	sigaddset(&prof, SIGPROF);
	harness_all();
	return harness_end();
}
