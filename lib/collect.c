/* The lock, the drain and the collector's thread; see collect.h. */
#include "collect.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "cpu.h"
#include "mode.h"
#include "real.h"
#include "sigsafe/arch.h"
#include "sigsafe/atomic.h"
#include "sigsafe/capture.h"
#include "sigsafe/cfi_module.h"
#include "sigsafe/counters.h"
#include "sigsafe/heap_event.h"
#include "sigsafe/lock.h"
#include "sigsafe/sys.h"
#include "sigsafe/text.h"
#include "sigsafe/thread.h"
#include "threads.h"

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
/* A sweep may take at most this part of the time: with many threads it comes less often. */
#define SWEEP_SHARE 500
#define SWEEP_MAX_NS UINT64_C(2000000000) /* but not less often than this */
#define GONE_YIELDS 100000

static struct cp_lock lock;
static const struct cp_collect_work *work;
static char *work_stack;

static pthread_t thread;

/* | state    | left by                                                            |
 * |----------|--------------------------------------------------------------------|
 * | NONE     | cp_collect_start, by whom wins                                     |
 * | STARTING | the same, when the thread exists or could not be made              |
 * | RUNNING  | cp_collect_stop, by whom wins; the thread itself, as the last one  |
 * | STOPPING | the same, when the thread was joined                               | */
enum { NONE, STARTING, RUNNING, STOPPING };
static uint32_t state;
static uint32_t held_off; /* stopped on purpose: only cp_collect_start starts it again */
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

bool cp_collect_alive(void)
{
	uint32_t now = cp_load_acquire(&state);

	return now == STARTING || now == RUNNING;
}

int cp_collect_tid(void)
{
	return cp_load_relaxed(&thread_tid);
}

bool cp_collect_run(void (*fn)(void *), void *arg)
{
	if (cp_lock_is_mine(&lock))
		return false;
	cp_lock_acquire(&lock);
	cp_call_on_stack(fn, arg, work_stack + WORK_STACK);
	cp_lock_release(&lock);
	return true;
}

static void serve(void *arg)
{
	work->serve(*(uint32_t *)arg);
}

/* In a handler of a process without a collector: do it here, unless somebody else does. */
static void serve_here(uint32_t bits)
{
	if (cp_lock_is_mine(&lock) || !cp_lock_try(&lock))
		return;
	cp_call_on_stack(serve, &bits, work_stack + WORK_STACK);
	cp_lock_release(&lock);
}

static void post(uint32_t bits)
{
	cp_or_seqcst(&requests, bits);
	cp_add_seqcst(&bell, 1);
	cp_sys_futex_wake(&bell, 1);
}

void cp_collect_request(uint32_t bits)
{
	if (!cp_collect_alive()) {
		bits &= CP_REQUEST_DRAIN | CP_REQUEST_DUMP | CP_REQUEST_DUMP_HEAP |
			CP_REQUEST_TOGGLE;
		if (bits && work_stack)
			serve_here(bits);
		return;
	}
	post(bits);
}

static void read_name(const struct cp_thread *t, char *name)
{
	char path[64];
	long got;
	int fd;

	if (t->named) {
		memcpy(name, t->name, CP_THREAD_NAME);
		return;
	}
	cp_format(path, sizeof(path), "/proc/self/task/%d/comm", t->tid);
	fd = cp_sys_open(path, O_RDONLY, 0);
	if (fd < 0)
		return;
	got = cp_sys_read(fd, name, CP_THREAD_NAME - 1);
	cp_sys_close(fd);
	if (got > 0 && name[got - 1] == '\n')
		got--;
	memset(name + (got > 0 ? got : 0), 0, CP_THREAD_NAME - (size_t)(got > 0 ? got : 0));
}

/* T's own label, or one that it shares with its namesakes: that isn't kept, for T may still get
 * another name. */
static uint32_t find_label(struct cp_run *r, struct cp_thread *t, bool ended)
{
	uint32_t *kept = &t->names[r->mode], label;

	if (*kept)
		return *kept - 1;
	if (cp_aggregate_shares(&r->aggregate, ended)) {
		char name[CP_THREAD_NAME] = "";

		read_name(t, name);
		return cp_aggregate_shared_thread(&r->aggregate, name);
	}
	label = cp_aggregate_thread(&r->aggregate, t->tid);
	*kept = label == CP_INDEX_NONE ? 0 : label + 1;
	return label;
}

/* The name is what the thread is called now: most name themselves soon after they start. */
void cp_collect_name(struct cp_run *r, const struct cp_thread *t)
{
	uint32_t kept = t->names[r->mode];

	if (kept)
		read_name(t,
			  CP_VEC_AT(&r->aggregate.threads, struct cp_thread_label, kept - 1)->name);
}

uint32_t cp_collect_label(struct cp_run *r, struct cp_thread *t)
{
	bool ended = cp_load_acquire(&t->state) == CP_THREAD_ENDED, had = t->names[r->mode] != 0;
	uint32_t label = find_label(r, t, ended);

	if (!had)
		cp_collect_name(r, t);
	return label;
}

/* What RING holds goes to the runs that are on. The modes that got something, as bits. */
static uint32_t drain_records(struct cp_run *runs, struct cp_thread *t, struct cp_ring *ring,
			      bool ended)
{
	uint32_t label[CP_MODES], any = 0;
	struct cp_record *record;

	while ((record = cp_ring_next(ring))) {
		unsigned m = record->mode;

		if (runs[m].running && runs[m].ops->record) {
			runs[m].ops->record(&runs[m], t, record);
		} else if (runs[m].running) {
			if (!(any & 1u << m))
				label[m] = find_label(&runs[m], t, ended);
			any |= 1u << m;
			if (label[m] == CP_INDEX_NONE ||
			    cp_aggregate_add(&runs[m].aggregate, record, label[m]) < 0)
				cp_count_mode(m, CP_COUNT_LOST_AGGREGATE, record->weight);
		}
		cp_ring_release(ring, record);
	}
	return any;
}

static bool holds_any(const struct cp_ring *ring)
{
	return ring && cp_load_acquire(&ring->head) != ring->tail;
}

static bool anything_to_drain(void)
{
	for (uint32_t i = 0; i < cp_thread_limit(); i++) {
		const struct cp_thread *t = cp_thread_at(i);

		if (holds_any(cp_load_acquire(&t->ring)) ||
		    holds_any(cp_load_acquire(&t->hook_ring)))
			return true;
	}
	return false;
}

static bool any_collects(const struct cp_run *runs)
{
	for (unsigned m = 0; m < CP_MODES; m++)
		if (runs[m].running && runs[m].ops->collect)
			return true;
	return false;
}

static void drain_thread(struct cp_run *runs, struct cp_thread *t, bool ended)
{
	struct cp_ring *rings[2] = { cp_load_acquire(&t->ring), cp_load_acquire(&t->hook_ring) };
	uint32_t any = 0;

	for (int i = 0; i < 2; i++)
		if (rings[i])
			any |= drain_records(runs, t, rings[i], ended);
	for (unsigned m = 0; m < CP_MODES; m++)
		if (any & 1u << m)
			cp_collect_name(&runs[m], t);
}

static void bury(struct cp_run *runs, struct cp_thread *t)
{
	struct cp_ring *ring = t->ring, *hook_ring = t->hook_ring;

	for (unsigned m = 0; m < CP_MODES; m++) {
		if (runs[m].running && runs[m].ops->gone)
			runs[m].ops->gone(&runs[m], t);
		if (runs[m].running && t->names[m])
			cp_aggregate_thread_ended(&runs[m].aggregate);
	}
	t->ring = t->hook_ring = NULL;
	cp_ring_give(ring);
	cp_ring_give(hook_ring);
	cp_thread_free(t);
}

void cp_collect_drain(struct cp_run *runs, struct cp_modules *modules)
{
	if (anything_to_drain() || any_collects(runs))
		cp_modules_refresh(modules);
	for (unsigned m = 0; m < CP_MODES; m++)
		if (runs[m].running && runs[m].ops->collect)
			runs[m].ops->collect(&runs[m]);
	for (uint32_t i = 0; i < cp_thread_limit(); i++) {
		struct cp_thread *t = cp_thread_at(i);
		/* Before the rings are read: an ended thread adds nothing afterwards. */
		bool ended = cp_load_acquire(&t->state) == CP_THREAD_ENDED;

		drain_thread(runs, t, ended);
		if (ended)
			bury(runs, t);
	}
	for (unsigned m = 0; m < CP_MODES; m++)
		if (runs[m].running && runs[m].ops->drained)
			runs[m].ops->drained(&runs[m]);
}

void cp_collect_forget(const struct cp_run *r, struct cp_run *runs, struct cp_modules *modules)
{
	cp_collect_drain(runs, modules);
	for (uint32_t i = 0; i < cp_thread_limit(); i++) {
		struct cp_thread *t = cp_thread_at(i);

		t->names[r->mode] = 0;
		/* Neither ring's last stack is one of the new run. */
		if (t->ring)
			cp_ring_forget(t->ring);
		if (t->hook_ring)
			cp_ring_forget(t->hook_ring);
	}
}

/* Every thread of the program has ended, main through pthread_exit: the process
 * lives only because of us. libc would now run exit(0) in the last thread; returning from
 * the thread function makes ours that thread, so it does just that. */
static bool only_we_are_left(void)
{
	return cp_threads_main_ended() && cp_threads_all_gone(cp_collect_tid());
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

	cp_cpu_check_handler();
	cp_cfi_modules_poll();
	again = cp_threads_sweep(cp_collect_tid()) ? SWEEP_FIRST_NS : SWEEP_NS;
	cost = cp_run_clock(CLOCK_THREAD_CPUTIME_ID) - began;
	if (cost > again / SWEEP_SHARE)
		again = min_u64(cost * SWEEP_SHARE, SWEEP_MAX_NS);
	return cp_run_clock(CLOCK_MONOTONIC) + again;
}

static void loop(void)
{
	uint64_t next_sweep = cp_run_clock(CLOCK_MONOTONIC) + SWEEP_FIRST_NS;

	for (;;) {
		/* Read before the requests: a request after this changes it, and the wait
		 * below returns at once. */
		uint32_t rung = cp_load_seqcst(&bell);
		uint32_t bits = cp_exchange_acqrel(&requests, 0);
		uint64_t now = cp_run_clock(CLOCK_MONOTONIC), deadline;

		if (bits & CP_REQUEST_QUIT)
			return;
		if (only_we_are_left())
			return;
		if (now >= work->due())
			bits |= CP_REQUEST_TICK;
		if (bits & ~CP_REQUEST_CHECK_END)
			cp_collect_run(serve, &bits);
		if (now >= next_sweep)
			next_sweep = sweep();
		deadline = min_u64(next_sweep, work->due());
		if (cp_threads_main_ended())
			deadline = min_u64(deadline, now + END_CHECK_NS);
		sleep_until(rung, deadline);
	}
}

static void *collector(void *arg)
{
	uint32_t running = RUNNING;

	cp_store_release(&thread_tid, cp_sys_gettid());
	cp_sys2(SYS_prctl, PR_SET_NAME, "cprof");
	cp_heap_own_begin();
	loop();
	/* As the last thread it runs the program's atexit handlers. Asked to quit, it leaves the
	 * state to who joins it. */
	if (cp_threads_main_ended() && cp_cas_acqrel(&state, &running, NONE)) {
		CP_REAL(pthread_sigmask)(SIG_SETMASK, &program_mask, NULL);
		cp_heap_own_end();
	}
	return NULL;
}

static int create(void)
{
	pthread_attr_t attr;
	sigset_t all;
	int err;

	/* libc's own signals (cancellation, setuid) stay deliverable: pthread_sigmask leaves them
	 * out, and setuid waits for every thread's answer. */
	sigfillset(&all);
	CP_REAL(pthread_sigmask)(SIG_SETMASK, &all, &program_mask);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, THREAD_STACK);
	/* libc's memory of a thread of ours. */
	cp_heap_own_begin();
	err = CP_REAL(pthread_create)(&thread, &attr, collector, NULL);
	cp_heap_own_end();
	pthread_attr_destroy(&attr);
	CP_REAL(pthread_sigmask)(SIG_SETMASK, &program_mask, NULL);
	return -err;
}

static int start(void)
{
	uint32_t none = NONE;
	int err;

	if (!cp_cas_acqrel(&state, &none, STARTING))
		return 0;
	err = create();
	cp_store_release(&state, err ? NONE : RUNNING);
	return err;
}

int cp_collect_start(void)
{
	cp_store_seqcst(&held_off, 0);
	return start();
}

void cp_collect_revive(void)
{
	if (!cp_load_seqcst(&held_off) && cp_load_acquire(&state) == NONE)
		start();
}

/* A joined thread may still count for the kernel, and unshare then fails. It is on its
 * way out; the bound is for a tid that somebody else has got meanwhile. */
static void wait_until_gone(int tid)
{
	for (int i = 0; i < GONE_YIELDS; i++) {
		if (cp_sys3(SYS_tgkill, cp_sys_getpid(), tid, 0) < 0)
			return;
		cp_sys_yield();
	}
}

void cp_collect_stop(void)
{
	uint32_t running = RUNNING;
	int cancel;

	cp_store_seqcst(&held_off, 1);
	while (cp_load_acquire(&state) == STARTING)
		cp_sys_yield();
	if (!cp_cas_acqrel(&state, &running, STOPPING))
		return;
	/* The caller is not cancelled half-way. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	post(CP_REQUEST_QUIT);
	pthread_join(thread, NULL);
	wait_until_gone(cp_collect_tid());
	cp_store_release(&requests, 0);
	cp_store_release(&state, NONE);
	pthread_setcancelstate(cancel, NULL);
}

void cp_collect_fork_child(void)
{
	cp_lock_reset(&lock);
	cp_store_relaxed(&state, NONE);
	cp_store_relaxed(&held_off, 0);
	cp_store_relaxed(&requests, 0);
}
