/* SPDX-License-Identifier: BSD-3-Clause */
/* The control plane's lock: exclusion, signals blocked while it is held, fork. */
#include "harness.h"

#include "base/futex_lock.h"

static struct cp_futex_lock lock;

static bool is_blocked(int sig)
{
	sigset_t set;

	pthread_sigmask(SIG_BLOCK, NULL, &set);
	return sigismember(&set, sig) == 1;
}

static void *try(void *result)
{
	*(int *)result = cp_futex_lock_try(&lock);
	if (*(int *)result)
		cp_futex_lock_release(&lock);
	return NULL;
}

static int tried_elsewhere(void)
{
	pthread_t t;
	int result = -1;

	CHECK_EQ(pthread_create(&t, NULL, try, &result), 0);
	pthread_join(t, NULL);
	return result;
}

TEST(test_lock_excludes_others)
{
	cp_futex_lock_acquire(&lock);
	CHECK(cp_futex_lock_is_mine(&lock));
	CHECK_EQ(tried_elsewhere(), 0);
	CHECK(!cp_futex_lock_try(&lock));
	cp_futex_lock_release(&lock);
	CHECK(!cp_futex_lock_is_mine(&lock));
	CHECK_EQ(tried_elsewhere(), 1);
}

TEST(test_lock_blocks_signals_while_held)
{
	sigset_t one;

	sigemptyset(&one);
	sigaddset(&one, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &one, NULL);
	cp_futex_lock_acquire(&lock);
	CHECK(is_blocked(SIGTERM) && is_blocked(SIGSEGV) && is_blocked(SIGUSR1));
	cp_futex_lock_release(&lock);
	CHECK(!is_blocked(SIGTERM) && is_blocked(SIGUSR1));
	CHECK(cp_futex_lock_try(&lock));
	CHECK(is_blocked(SIGTERM));
	CHECK(!cp_futex_lock_try(&lock));
	CHECK(is_blocked(SIGTERM));
	cp_futex_lock_release(&lock);
	CHECK(!is_blocked(SIGTERM) && is_blocked(SIGUSR1));
	pthread_sigmask(SIG_UNBLOCK, &one, NULL);
}

#define THREADS 4
#define TURNS 50000

static unsigned long guarded;

static void *count(void *arg)
{
	for (int i = 0; i < TURNS; i++) {
		cp_futex_lock_acquire(&lock);
		guarded++;
		if (i % 1000 == 0)
			sched_yield();
		cp_futex_lock_release(&lock);
	}
	return arg;
}

TEST(test_lock_counts_right_from_many_threads)
{
	pthread_t t[THREADS];

	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&t[i], NULL, count, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	CHECK_EQ(guarded, THREADS * TURNS);
	CHECK_EQ(lock.holder, 0);
}

TEST(test_lock_reset_frees_what_the_parent_held)
{
	int status = -1;
	pid_t pid;

	cp_futex_lock_acquire(&lock);
	pid = fork();
	if (pid == 0) {
		if (cp_futex_lock_try(&lock))
			_exit(1);
		cp_futex_lock_reset(&lock);
		cp_futex_lock_acquire(&lock);
		_exit(cp_futex_lock_is_mine(&lock) ? 0 : 2);
	}
	cp_futex_lock_release(&lock);
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK_EQ(status, 0);
}
