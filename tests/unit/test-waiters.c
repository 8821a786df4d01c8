/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits that are open, and handlers that jump away while a wait is opened or closed: at each single
 * instruction once, in a child that is stepped to it. */
#include "harness.h"

#include <setjmp.h>
#include <sys/ptrace.h>

#include "output/output.h"
#include "sample/lock_clock.h"
#include "sample/wakes.h"

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)
enum { STEPS_MAX = 20000 };

static uint64_t clock_ns = 1000 * SECOND;
static struct cp_thread *threads[2];
static struct cp_waiters_bucket *bucket;
static sigjmp_buf left;
static volatile sig_atomic_t is_over;

/* How a child ended. */
enum { MENDED = 40, NOTHING_LEFT, OVER, STAYS };

static int read_clock(clockid_t id, struct timespec *t)
{
	(void)id;
	t->tv_sec = (time_t)(clock_ns / SECOND);
	t->tv_nsec = (long)(clock_ns % SECOND);
	return 0;
}

static void begin(void)
{
	cp_lock_clock.read = read_clock;
	bucket = cp_waiters_bucket_of(4711);
	for (unsigned i = 0; i < 2; i++) {
		if (!threads[i])
			threads[i] = cp_thread_claim();
		cp_thread_enter(threads[i]);
	}
}

/* A drain of the mode whose waits these are: of locks and of I/O in turn. */
static void drain(void)
{
	static struct cp_run run;
	static unsigned n;

	cp_modes[n++ % 2 ? CPROF_IO_WAKERS : CPROF_LOCK_WAKERS]->drained(&run);
}

static void recount(void)
{
	clock_ns += SECOND;
	drain();
}

TEST(test_a_recount_leaves_open_waits)
{
	begin();
	cp_waiters_open(threads[0], bucket, UINT32_MAX);
	for (unsigned i = 0; i < 5; i++)
		recount();
	CHECK(cp_waiters_awaited(bucket));
	CHECK(cp_waiters_are_needed(bucket));
	cp_waiters_open(threads[1], bucket, UINT32_MAX);
	recount();
	recount();
	cp_waiters_close(threads[0]);
	CHECK(cp_waiters_awaited(bucket));
	CHECK_EQ(bucket->drawn, 1);
	cp_waiters_close(threads[1]);
	CHECK(!cp_waiters_awaited(bucket));
	CHECK_EQ(bucket->drawn, 0);
}

/* A wait that is counted, and that no thread has: as a jump leaves it. */
TEST(test_a_wait_that_nobody_has_is_found)
{
	begin();
	recount();
	bucket->word += 1;
	bucket->drawn = 1;
	recount();
	/* It may be one that a thread is about to open. */
	CHECK(cp_waiters_awaited(bucket));
	drain();
	CHECK(cp_waiters_awaited(bucket));
	recount();
	CHECK(!cp_waiters_awaited(bucket));
	CHECK_EQ(bucket->drawn, 0);
	/* A late close of such a wait takes nothing from others. */
	cp_waiters_open(threads[0], bucket, UINT32_MAX);
	bucket->drawn = 0;
	bucket->word = bucket->word >> 32 << 32;
	cp_waiters_close(threads[0]);
	CHECK(!cp_waiters_awaited(bucket));
	CHECK_EQ(bucket->drawn, 0);
}

static void jump(int sig)
{
	(void)sig;
	siglongjmp(left, 1);
}

/* The child: a handler interrupts it in the first half. */
static int be_left(void)
{
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		return 1;
	begin();
	signal(SIGUSR1, jump);
	if (!sigsetjmp(left, 1)) {
		raise(SIGSTOP);
		cp_waiters_open(threads[0], bucket, UINT32_MAX);
		clock_ns += MS;
		cp_waiters_close(threads[0]);
		is_over = 1;
		raise(SIGUSR1);
	}
	/* As the thread's end does. */
	cp_waiters_close(threads[0]);
	if (is_over)
		return OVER;
	if (!cp_waiters_awaited(bucket) && !bucket->drawn)
		return NOTHING_LEFT;
	recount();
	recount();
	recount();
	return cp_waiters_awaited(bucket) || bucket->drawn ? STAYS : MENDED;
}

/* Let a child go STEPS instructions from its first stop, then send it the signal. Returns how it
 * ended. */
static int left_after(unsigned steps)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(be_left());
	waitpid(pid, &status, 0);
	for (unsigned i = 0; i < steps && WIFSTOPPED(status); i++) {
		ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL);
		waitpid(pid, &status, 0);
	}
	if (WIFSTOPPED(status))
		ptrace(PTRACE_CONT, pid, NULL, (void *)(uintptr_t)SIGUSR1);
	while (WIFSTOPPED(status)) {
		waitpid(pid, &status, 0);
		if (WIFSTOPPED(status))
			ptrace(PTRACE_CONT, pid, NULL,
			       (void *)(uintptr_t)(unsigned)WSTOPSIG(status));
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(test_a_jump_at_any_instruction_leaves_no_wait_for_ever)
{
	unsigned mended = 0, steps;
	int ended = 0;

	for (steps = 0; steps < STEPS_MAX; steps++) {
		ended = left_after(steps);
		if (ended == 1 && !steps)
			SKIP("no tracing here");
		if (ended == OVER)
			break;
		if (ended != MENDED && ended != NOTHING_LEFT) {
			printf("# after %u instructions: %d\n", steps, ended);
			break;
		}
		mended += ended == MENDED;
	}
	CHECK_EQ(ended, OVER);
	/* Else no jump came between the two steps. */
	CHECK(mended > 0);
	printf("# %u instructions, %u with a wait that nobody had\n", steps, mended);
}
