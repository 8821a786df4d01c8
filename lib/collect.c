/* The lock, the drain and the collector's thread; see collect.h. */
#include "collect.h"

#include <errno.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/single_threaded.h>
#include <time.h>

#include "cpu.h"
#include "log.h"
#include "real.h"
#include "sigsafe/arch.h"
#include "sigsafe/atomic.h"
#include "sigsafe/cfi_module.h"
#include "sigsafe/heap_event.h"
#include "sigsafe/lock.h"
#include "sigsafe/sys.h"
#include "sigsafe/thread.h"
#include "sweep.h"
#include "threads.h"
#include "worker.h"

/* The demanglers recurse; only touched pages are resident. */
#define WORK_STACK ((size_t)1 << 20)
/* Of the thread itself, which only waits and switches to the work stack; atexit handlers
 * of the program may run on it when it is the last thread (see end_process). */
#define THREAD_STACK ((size_t)256 << 10)
/* How often threads that nobody announced are looked for: soon after the start and
 * when there is one, else at leisure. */
#define SWEEP_FIRST_NS UINT64_C(100000000)
#define SWEEP_NS UINT64_C(1000000000)
/* While main has ended and others run, a thread may vanish without a word to us. */
#define END_CHECK_NS UINT64_C(20000000)
#define JOINING_NS UINT64_C(10000000)
/* A sweep may take at most this part of the time: with many threads it comes less often. */
#define SWEEP_SHARE 500
#define SWEEP_MAX_NS UINT64_C(2000000000) /* but not less often than this */

static struct cp_lock lock;
static const struct cp_collect_work *work;
static char *work_stack;

static pthread_t thread;
static uint32_t may_be_bare; /* the program's calls of setuid & co. come by us */

/* | state    | left by                                                            |
 * |----------|--------------------------------------------------------------------|
 * | NONE     | cp_collect_start, by whom wins                                     |
 * | STARTING | the same, when it exists or could not be made                      |
 * | RUNNING  | cp_collect_stop, by whom wins; the collector, as the last one;     |
 * |          | cp_collect_attend, to STARTING                                     |
 * | STOPPING | cp_collect_stop, when it was joined                                | */
enum { NONE, STARTING, RUNNING, STOPPING };
static uint32_t state;
static uint32_t bare;	  /* in RUNNING: a task without a thread of libc's */
static uint32_t joining;  /* a thread of ours that the sweep can't know yet */
static uint32_t held_off; /* stopped on purpose: only cp_collect_start starts it again */
static uint32_t parkers;  /* threads between park and unpark */
static uint32_t parked;	  /* it ran when one of them came */
static int32_t thread_tid;
static sigset_t program_mask; /* of the thread that started ours */
static uint32_t requests;     /* CP_REQUEST_*, not yet served */
static uint32_t bell;	      /* futex: rung with every request */

int cp_collect_init(const struct cp_collect_work *w)
{
	work = w;
	if (!work_stack) {
		work_stack = cp_sys_map(WORK_STACK);
		if (!work_stack)
			return -ENOMEM;
		/* A runaway recursion must fault, not write into the mapping below. */
		cp_sys3(SYS_mprotect, work_stack, 4096, PROT_NONE);
	}
	return 0;
}

void cp_collect_allow_bare(void)
{
	cp_store_relaxed(&may_be_bare, 1);
}

bool cp_collect_is_bare(void)
{
	return cp_load_acquire(&state) == RUNNING && cp_load_relaxed(&bare);
}

bool cp_collect_alive(void)
{
	uint32_t now = cp_load_acquire(&state);

	return now == STARTING || now == RUNNING;
}

/* What the program or its user asks for, as opposed to what we ask ourselves. */
#define ASKED (CP_REQUEST_DRAIN | CP_REQUEST_DUMP | CP_REQUEST_TOGGLE)

static void serve(void *arg)
{
	work->serve(*(uint32_t *)arg);
}

/* Under the lock they are taken: what was asked is either still there, or being done. */
static void serve_all(void *tick)
{
	work->serve(cp_collect_take(~CP_REQUEST_QUIT) | *(uint32_t *)tick);
}

uint32_t cp_collect_take(uint32_t which)
{
	return cp_and_seqcst(&requests, ~which) & which;
}

/* Without a collector: who asks serves, or else who has the lock, when it gives it back. One of
 * them sees what was asked, for the one writes it before it tries the lock, and the other reads it
 * after giving the lock back. */
static void serve_here(void)
{
	while ((cp_load_seqcst(&requests) & ASKED) && !cp_collect_alive() &&
	       !cp_lock_is_mine(&lock) && cp_lock_try(&lock)) {
		uint32_t bits = cp_collect_take(ASKED);

		cp_call_on_stack(serve, &bits, work_stack + WORK_STACK);
		cp_lock_release(&lock);
	}
}

bool cp_collect_run(void (*fn)(void *), void *arg)
{
	if (cp_lock_is_mine(&lock))
		return false;
	cp_lock_acquire(&lock);
	cp_call_on_stack(fn, arg, work_stack + WORK_STACK);
	cp_lock_release(&lock);
	serve_here();
	cp_worker_write_rest();
	return true;
}

/* Before an end, or just behind it. */
static void serve_rest(uint32_t bits)
{
	bits &= ASKED;
	if (bits)
		cp_collect_run(serve, &bits);
}

static void ring(void)
{
	cp_add_seqcst(&bell, 1);
	cp_sys_futex_wake(&bell, 1);
}

static void post(uint32_t bits)
{
	cp_or_seqcst(&requests, bits);
	ring();
}

void cp_collect_request(uint32_t bits)
{
	if (!cp_collect_alive()) {
		if (work_stack) {
			cp_or_seqcst(&requests, bits & ASKED);
			serve_here();
		}
		return;
	}
	post(bits);
}

static struct cp_sweep_ours ours(void)
{
	return (struct cp_sweep_ours){ { cp_load_relaxed(&thread_tid), cp_worker_tid(), 0 } };
}

bool cp_collect_only_caller(void)
{
	struct cp_sweep_ours tasks = ours();

	tasks.tid[2] = cp_sys_gettid();
	return cp_sweep_all_gone(&tasks);
}

/* Every thread of the program has ended, main before the process: it lives only because of us.
 * libc would now run exit(0) in the last thread; returning from the thread function makes ours that
 * thread, so it does just that. Where a thread ended unknown to libc, libc counts it still, and
 * does nothing; nor with ours. */
static bool only_we_are_left(void)
{
	struct cp_sweep_ours tasks = ours();

	return cp_threads_main_ended() && cp_sweep_all_gone(&tasks);
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void sleep_until(uint32_t rung, uint64_t deadline)
{
	uint64_t now = cp_run_clock(CLOCK_MONOTONIC), left;
	struct timespec timeout;

	if (now >= deadline)
		return;
	left = deadline - now;
	timeout = (struct timespec){ (time_t)(left / 1000000000u), (long)(left % 1000000000u) };
	cp_sys_futex_wait(&bell, rung, &timeout);
}

static uint64_t sweep(void)
{
	/* CPU time: a sweep that others interrupt costs no more for it. */
	uint64_t began = cp_run_clock(CLOCK_THREAD_CPUTIME_ID), cost, again;
	struct cp_sweep_ours tasks = ours();

	cp_cpu_check_handler();
	cp_cfi_modules_poll();
	again = cp_sweep_threads(&tasks) ? SWEEP_FIRST_NS : SWEEP_NS;
	cost = cp_run_clock(CLOCK_THREAD_CPUTIME_ID) - began;
	if (cost > again / SWEEP_SHARE)
		again = min_u64(cost * SWEEP_SHARE, SWEEP_MAX_NS);
	return cp_run_clock(CLOCK_MONOTONIC) + again;
}

/* Where libc won't end the process it ends with the task of ours that calls this, the last one: the
 * kernel takes its status for the process's (Linux < 5.17: main's). */
static void end_as_last(void)
{
	if (cp_threads_ended_raw())
		cp_sys1(SYS_exit, cp_threads_last_status());
}

/* Without a thread that would see to it. */
static void end_bare(void)
{
	uint32_t running = RUNNING;

	if (cp_load_relaxed(&bare) && cp_cas_acqrel(&state, &running, NONE))
		end_as_last();
}

/* In the worker, or in the thread where there is none; see worker.h. */
static bool loop(void)
{
	uint64_t next_sweep = cp_run_clock(CLOCK_MONOTONIC) + SWEEP_FIRST_NS;

	for (;;) {
		/* Read before the requests: a request after this changes it, and the wait
		 * below returns at once. */
		uint32_t rung = cp_load_seqcst(&bell);
		uint32_t bits = cp_load_seqcst(&requests), tick;
		uint64_t now = cp_run_clock(CLOCK_MONOTONIC), deadline;

		if (bits & CP_REQUEST_QUIT) {
			serve_rest(cp_collect_take(~0u));
			return true;
		}
		if (only_we_are_left()) {
			if (cp_threads_ended_raw())
				work->last();
			end_bare();
			return true;
		}
		if (cp_worker_is_stale())
			return false;
		tick = now >= work->due() ? CP_REQUEST_TICK : 0;
		if (bits | tick)
			cp_collect_run(serve_all, &tick);
		if (now >= next_sweep)
			next_sweep = cp_load_acquire(&joining) ? now + JOINING_NS : sweep();
		deadline = min_u64(next_sweep, work->due());
		if (cp_threads_main_ended())
			deadline = min_u64(deadline, now + END_CHECK_NS);
		sleep_until(rung, deadline);
	}
}

static const struct cp_worker_work in_worker = { .loop = loop, .wake = ring, .line = cp_log_put };

static void *collector(void *adopt)
{
	uint32_t running = RUNNING;

	cp_store_release(&thread_tid, cp_sys_gettid());
	cp_store_release(&joining, 0);
	cp_sys_leave_realtime();
	cp_sys2(SYS_prctl, PR_SET_NAME, "cprof");
	cp_heap_own_begin();
	cp_worker_run(&in_worker, adopt != NULL);
	/* As the last thread it runs the program's atexit handlers. Asked to quit, it leaves the
	 * state to who joins it. */
	if (cp_threads_main_ended() && cp_cas_acqrel(&state, &running, NONE)) {
		end_as_last();
		CP_REAL(pthread_sigmask)(SIG_SETMASK, &program_mask, NULL);
		cp_heap_own_end();
	}
	return NULL;
}

/* With ADOPT, for the task that runs. */
static int create_thread(void *adopt)
{
	pthread_attr_t attr;
	int err;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, THREAD_STACK);
	cp_store_seqcst(&joining, 1);
	/* libc's memory of a thread of ours. */
	cp_heap_own_begin();
	err = CP_REAL(pthread_create)(&thread, &attr, collector, adopt);
	cp_heap_own_end();
	if (err)
		cp_store_release(&joining, 0);
	pthread_attr_destroy(&attr);
	return -err;
}

/* libc may not know of it: with a thread of ours it would take its locks, in a program that has
 * nobody to keep out. */
static int create_bare(void)
{
	cp_store_relaxed(&thread_tid, 0);
	return cp_worker_begin(&in_worker);
}

/* Once in a process and its descendants: each thread that the program makes tries again. A
 * program that has left its pid namespace can't make any (EINVAL), and knows. */
static void say_missing(int err)
{
	static bool said;

	if (!said && err != -EINVAL)
		cp_log("no collector thread (%s): the program's own threads collect samples, "
		       "checkpoints and the wall clock wait for it; %s",
		       cp_errno_text(err), cp_errno_advice(err));
	said = true;
}

/* From state FROM to RUNNING, or back. Whatever handler would call us in between would wait for
 * ever. */
static int start(uint32_t from, bool as_bare)
{
	struct cp_thread *self = cp_self.thread;
	uint32_t seen = from;
	sigset_t all, mask;
	int err = 0;

	if (self)
		cp_store_seqcst(&self->making, true);
	/* libc's own signals (cancellation, setuid) stay deliverable: pthread_sigmask leaves them
	 * out, and setuid waits for every thread's answer. */
	sigfillset(&all);
	CP_REAL(pthread_sigmask)(SIG_SETMASK, &all, &mask);
	if (cp_cas_acqrel(&state, &seen, STARTING)) {
		program_mask = mask;
		err = as_bare ? create_bare() : create_thread(from == RUNNING ? &state : NULL);
		if (!err)
			cp_store_relaxed(&bare, as_bare);
		cp_store_release(&state, err ? from : RUNNING);
	}
	CP_REAL(pthread_sigmask)(SIG_SETMASK, &mask, NULL);
	if (self)
		cp_store_seqcst(&self->making, false);
	return err;
}

static int start_anew(void)
{
	int err = start(NONE, cp_load_relaxed(&may_be_bare) && __libc_single_threaded);

	if (err)
		say_missing(err);
	return err;
}

int cp_collect_start(void)
{
	cp_store_seqcst(&held_off, 0);
	return start_anew();
}

void cp_collect_revive(void)
{
	if (!cp_load_seqcst(&held_off) && cp_load_acquire(&state) == NONE)
		start_anew();
}

void cp_collect_attend(void)
{
	if (cp_collect_is_bare())
		start(RUNNING, false);
}

void cp_collect_stop(void)
{
	uint32_t running = RUNNING, rest;
	int cancel;

	cp_store_seqcst(&held_off, 1);
	while (cp_load_acquire(&state) == STARTING)
		cp_sys_yield();
	if (!cp_cas_acqrel(&state, &running, STOPPING))
		return;
	/* The caller is not cancelled half-way. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	post(CP_REQUEST_QUIT);
	if (cp_load_relaxed(&bare)) {
		cp_worker_end();
	} else {
		pthread_join(thread, NULL);
		cp_worker_wait_gone((int)cp_load_relaxed(&thread_tid));
	}
	rest = cp_exchange_acqrel(&requests, 0);
	cp_store_release(&state, NONE);
	serve_rest(rest);
	pthread_setcancelstate(cancel, NULL);
}

/* Who is the last to unpark sees what each of the others noted when it parked. */
void cp_collect_park(void)
{
	cp_add_seqcst(&parkers, 1);
	if (!cp_collect_alive())
		return;
	cp_store_seqcst(&parked, 1);
	cp_collect_stop();
}

void cp_collect_unpark(bool again)
{
	if (cp_add_seqcst(&parkers, (uint32_t)-1) == 1 && cp_exchange_acqrel(&parked, 0) && again)
		cp_collect_start();
}

void cp_collect_fork_child(void)
{
	cp_lock_reset(&lock);
	cp_store_relaxed(&state, NONE);
	cp_store_relaxed(&held_off, 0);
	cp_store_relaxed(&parkers, 0);
	cp_store_relaxed(&parked, 0);
	cp_store_relaxed(&requests, 0);
	cp_store_relaxed(&joining, 0);
	cp_store_relaxed(&thread_tid, 0);
	cp_worker_fork_child();
}
