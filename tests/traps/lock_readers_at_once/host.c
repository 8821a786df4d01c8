/* SPDX-License-Identifier: BSD-3-Clause */
/* Two readers have a lock that a writer waits for, and unlock at once: one of them does all of its
 * unlock between two instructions of the other's, in each round after another instruction. Says how
 * many rounds there were.
 */
#include "system.h"

#if defined(__x86_64__)
#include "stepped.h"

#define PHASES_FUTEX_SLEEPS 2 /* glibc: PTHREAD_RWLOCK_FUTEX_USED */
#define STAYS __asm__ volatile("" ::: "memory")
#define NOINLINE __attribute__((noinline))

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int other_has, other_may_go, other_has_gone;

static void await(const int *flag)
{
	while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void set(int *flag, int to)
{
	__atomic_store_n(flag, to, __ATOMIC_RELEASE);
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	if (!stepped_comes(context))
		return;
	set(&other_may_go, 1);
	await(&other_has_gone);
}

static NOINLINE void unlock_shared(void)
{
	pthread_rwlock_unlock(&lock);
	STAYS;
}

static void *other_reader(void *arg)
{
	pthread_rwlock_rdlock(&lock);
	set(&other_has, 1);
	await(&other_may_go);
	unlock_shared();
	set(&other_has_gone, 1);
	return arg;
}

static void *writer(void *arg)
{
	pthread_rwlock_wrlock(&lock);
	pthread_rwlock_unlock(&lock);
	return arg;
}

static void await_sleeping_writer(void)
{
	while (!(__atomic_load_n(&lock.__data.__wrphase_futex, __ATOMIC_ACQUIRE) &
		 PHASES_FUTEX_SLEEPS))
		sched_yield();
}

static void run_round(void)
{
	pthread_t threads[2];

	came = seen = 0;
	other_has = other_may_go = other_has_gone = 0;
	pthread_rwlock_rdlock(&lock);
	pthread_create(&threads[0], NULL, other_reader, NULL);
	await(&other_has);
	pthread_create(&threads[1], NULL, writer, NULL);
	await_sleeping_writer();
	TRACE();
	unlock_shared();
	DONT_TRACE();
	/* Where the unlock has fewer instructions, the other one goes after it. */
	set(&other_may_go, 1);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };

	if (sigaction(SIGTRAP, &sa, NULL))
		return 3;
	do
		run_round();
	while (came && ++step < STEPS_MAX);
	printf("%u\n", step + 1);
	return step < 20 || step == STEPS_MAX;
}

#else

int main(void)
{
	return 77; /* no flag that makes each instruction trap */
}

#endif
