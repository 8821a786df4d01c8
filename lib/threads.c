/* Registration of threads; see threads.h. */
#include "threads.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "closing.h"
#include "collect.h"
#include "mark.h"
#include "mode.h"
#include "sigsafe/atomic.h"
#include "sigsafe/counters.h"
#include "sigsafe/heap_event.h"
#include "sigsafe/heap_stack.h"
#include "sigsafe/held.h"
#include "sigsafe/labels.h"
#include "sigsafe/lock.h"
#include "sigsafe/sys.h"
#include "sigsafe/wall_event.h"

extern void *__libc_stack_end; /* ld.so: where main's stack began */

static pthread_key_t end_key;
static pthread_once_t end_once = PTHREAD_ONCE_INIT;
static bool end_key_made;
static struct cp_thread *main_thread;
static uint32_t main_ended;
static uint32_t ended_raw;   /* a thread has ended, and libc doesn't know */
static uint32_t after_main;  /* main ended unseen, and then another */
static uint32_t last_status; /* what the last one that ended said to the kernel */
/* Main's id, in libc's memory; the kernel clears it when main has ended, however that was. In a
 * child that another thread made it is that one's, and libc may give its memory back then. */
static const uint32_t *main_id;
static uint32_t retired;
/* A thread is registered by the sweep, or by itself: held while one looks whether the other has,
 * until its own record is live. */
static struct cp_lock adoption;

/* The calling thread's record T ends. */
static void end(struct cp_thread *t, int status)
{
	cp_store_relaxed(&last_status, (uint32_t)status);
	if (cp_threads_main_is_lost())
		cp_store_release(&after_main, 1);
	cp_closing_abandon();
	cp_modes_thread_end(t);
	cp_sys2(SYS_prctl, PR_GET_NAME, t->name);
	t->named = true;
	cp_self.thread = NULL;
	cp_heap_stack_disown();
	if (t == main_thread)
		cp_store_release(&main_ended, 1);
	if (t->ring || t->hook_ring || t->labels) {
		cp_store_release(&t->state, CP_THREAD_ENDED);
		cp_collect_request(CP_REQUEST_DRAIN);
	} else if (t->wall.began) {
		/* The pacer gives it its time, within a period. */
		cp_store_release(&t->state, CP_THREAD_ENDED);
		cp_wall_thread_ended();
		if (!cp_collect_alive())
			cp_collect_request(CP_REQUEST_DRAIN);
	} else {
		cp_thread_free(t);
	}
	if (cp_load_acquire(&main_ended))
		cp_collect_request(CP_REQUEST_CHECK_END);
}

/* Runs in every round of key destructors, but acts in the last one, so that
 * the work of the program's other destructors is still sampled. */
static void on_thread_end(void *record)
{
	struct cp_thread *t = record;

	if (cp_load_relaxed(&retired))
		return;
	if (++cp_self.end_rounds < PTHREAD_DESTRUCTOR_ITERATIONS &&
	    pthread_setspecific(end_key, record) == 0)
		return;
	end(t, 0);
}

static void make_end_key(void)
{
	end_key_made = pthread_key_create(&end_key, on_thread_end) == 0;
}

static void arm_end(struct cp_thread *t)
{
	pthread_once(&end_once, make_end_key);
	/* libc may allocate for that. */
	cp_heap_own_begin();
	if (end_key_made)
		pthread_setspecific(end_key, t);
	cp_heap_own_end();
}

void cp_threads_end_raw(int status)
{
	struct cp_thread *t = cp_self.thread;

	if (!t || cp_load_relaxed(&retired))
		return;
	cp_store_release(&ended_raw, 1);
	end(t, status);
}

bool cp_threads_ended_raw(void)
{
	return cp_load_acquire(&ended_raw) != 0;
}

int cp_threads_last_status(void)
{
	return (int)cp_load_relaxed(&last_status);
}

/* Main itself. Where the kernel doesn't tell, what follows from it isn't done. */
static void find_main_id(void)
{
	if (cp_sys2(SYS_prctl, PR_GET_TID_ADDRESS, &main_id) < 0)
		main_id = NULL;
}

bool cp_threads_main_is_lost(void)
{
	uint32_t id;

	if (!main_id || cp_threads_main_ended())
		return false;
	/* Asked again: what it was may be other data by now. */
	return cp_sys_peek(&id, (uint64_t)(uintptr_t)main_id, sizeof(id)) >= 0 && !id &&
	       !cp_threads_main_ended();
}

void cp_threads_end_main(int status)
{
	if (!cp_load_acquire(&after_main))
		cp_store_relaxed(&last_status, (uint32_t)status);
	cp_store_release(&ended_raw, 1);
	if (main_thread) {
		cp_modes_thread_end(main_thread);
		cp_store_release(&main_thread->state, CP_THREAD_ENDED);
	}
	cp_store_release(&main_ended, 1);
}

/* Bounds of a thread's stack, without /proc. libc puts the control block at the top of a
 * thread's stack, so pthread_self() is its high end. The low end is taken a little too
 * high: what is below it is read with a probe, whereas a bound that reached into
 * the next mapping would let us read through its guard page. */
#define STACK_SLACK ((uint64_t)64 << 10)
#define MAIN_STACK_MAX ((uint64_t)64 << 20)

static void set_main_bounds(struct cp_thread *t)
{
	uint64_t size = MAIN_STACK_MAX;
	struct rlimit limit;

	if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < size)
		size = limit.rlim_cur;
	t->stack_high = (uint64_t)(uintptr_t)__libc_stack_end + sizeof(void *);
	t->stack_low = t->stack_high - size;
}

static void set_bounds(struct cp_thread *t, uint64_t size)
{
	t->stack_high = (uint64_t)pthread_self();
	t->stack_low = size > 2 * STACK_SLACK ? t->stack_high - size + STACK_SLACK
					      : t->stack_high - size / 2;
}

static uint64_t stack_size_of(const pthread_attr_t *attr)
{
	pthread_attr_t standard;
	size_t size = 0;

	if (attr)
		return pthread_attr_getstacksize(attr, &size) == 0 ? size : 0;
	if (pthread_getattr_default_np(&standard) == 0) {
		pthread_attr_getstacksize(&standard, &size);
		pthread_attr_destroy(&standard);
	}
	return size;
}

/* For a thread that wasn't made by us; libc knows. Stays unknown if it doesn't. */
static void set_known_bounds(struct cp_thread *t)
{
	pthread_attr_t attr;
	size_t size;
	void *low;

	if (pthread_getattr_np(pthread_self(), &attr))
		return;
	if (pthread_attr_getstack(&attr, &low, &size) == 0) {
		t->stack_low = (uint64_t)(uintptr_t)low;
		t->stack_high = t->stack_low + size;
	}
	pthread_attr_destroy(&attr);
}

struct cp_thread *cp_threads_prepare(const pthread_attr_t *attr, void *(*start)(void *),
				     void *argument)
{
	struct cp_thread *t = cp_load_relaxed(&retired) ? NULL : cp_thread_claim();

	if (!t)
		return NULL;
	t->start = start;
	t->argument = argument;
	t->stack_size = stack_size_of(attr);
	if (cp_self.thread && cp_self.thread->labels && cp_self.thread->labels->inherit)
		t->labels = cp_labels_clone(cp_self.thread->labels);
	return t;
}

/* The sweep may have met this thread, NEW, before it could register itself. */
static void end_foreign_twin(struct cp_thread *new, int tid)
{
	struct cp_thread *t;

	if (!cp_counted(CP_COUNT_FOREIGN_THREADS))
		return;
	t = cp_thread_of(tid);
	if (!t || !t->foreign)
		return;
	cp_store_relaxed(&new->paused, cp_load_relaxed(&t->paused));
	cp_modes_thread_end(t);
	cp_store_release(&t->state, CP_THREAD_ENDED);
}

/* From here on T is the calling thread's record. A sweep that saw none gives it no other one, and
 * one that it made has all its clocks before it ends. */
static void go_live(struct cp_thread *t)
{
	cp_lock_acquire(&adoption);
	end_foreign_twin(t, cp_sys_gettid());
	cp_thread_enter(t);
	cp_lock_release(&adoption);
}

void cp_threads_adopt(void)
{
	bool ended = cp_self.end_rounds >= PTHREAD_DESTRUCTOR_ITERATIONS;
	struct cp_thread *t = cp_self.thread || ended ? NULL : cp_thread_claim();

	/* Once more after its end, in a later key's destructor, nothing would end the record. */
	if (!t)
		return;
	if (cp_sys_gettid() == cp_sys_getpid()) {
		main_thread = t;
		find_main_id();
		set_main_bounds(t);
	} else {
		set_known_bounds(t);
	}
	go_live(t);
	arm_end(t);
	/* What the thread itself blocked so far is known; what it inherited isn't. */
	cp_held_set_blocked(cp_held_blocked());
	cp_held_adopt();
	cp_modes_thread_begin(t);
}

/* Each has a record until the sweep after its end, and rings. A program that has libc make a thread
 * for every timer's expiry would fill memory between two sweeps. */
#define MET_MOST 1024
static uint32_t met; /* since the last sweep ended */

static struct cp_thread *meet_locked(int tid)
{
	struct cp_thread *t;

	if (cp_load_relaxed(&met) >= MET_MOST || cp_thread_of(tid) || !(t = cp_thread_claim()))
		return NULL;
	cp_add_relaxed(&met, 1);
	/* Seen: a sweep that is under way may have passed its place in /proc. */
	t->foreign = t->met = t->seen = true;
	cp_store_relaxed(&t->tid, tid);
	cp_store_release(&t->state, CP_THREAD_LIVE);
	cp_count(CP_COUNT_FOREIGN_THREADS, 1);
	return t;
}

struct cp_thread *cp_threads_meet(void)
{
	int tid = cp_sys_gettid();
	struct cp_thread *t;

	/* A main thread is the sweep's, or a vfork's child. Another process's is nobody's. */
	if (cp_load_relaxed(&retired) || tid == cp_sys_getpid() || cp_mark_is_gone() ||
	    !cp_lock_try(&adoption))
		return NULL;
	t = meet_locked(tid);
	cp_lock_release(&adoption);
	return t;
}

void cp_threads_meet_more(void)
{
	cp_store_relaxed(&met, 0);
}

void cp_threads_adoption_begin(void)
{
	cp_lock_acquire(&adoption);
}

void cp_threads_adoption_end(void)
{
	cp_lock_release(&adoption);
}

static void enter(struct cp_thread *t)
{
	if (cp_load_relaxed(&retired))
		return;
	set_bounds(t, t->stack_size);
	go_live(t);
	arm_end(t);
	cp_held_adopt();
	cp_modes_thread_begin(t);
}

void *cp_threads_entry(void *record)
{
	struct cp_thread *t = record;
	void *(*start)(void *) = t->start;
	void *argument = t->argument;

	enter(t);
	return start(argument);
}

typedef void *(*start_function)(void *);
typedef int (*c11_start_function)(void *);

struct cp_thread *cp_threads_prepare_c11(int (*start)(void *), void *argument)
{
	return cp_threads_prepare(NULL, (start_function)(void (*)(void))start, argument);
}

int cp_threads_entry_c11(void *record)
{
	struct cp_thread *t = record;
	c11_start_function start = (c11_start_function)(void (*)(void))t->start;
	void *argument = t->argument;

	enter(t);
	return start(argument);
}

bool cp_threads_main_ended(void)
{
	return cp_load_acquire(&main_ended) != 0;
}

bool cp_threads_alone(void)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < cp_thread_limit(); i++) {
		uint32_t state = cp_load_acquire(&cp_thread_at(i)->state);

		n += state == CP_THREAD_LIVE || state == CP_THREAD_CLAIMED;
	}
	return n <= 1;
}

void cp_threads_fork_child(void)
{
	cp_lock_reset(&adoption);
	main_thread = cp_self.thread;
	main_ended = ended_raw = after_main = last_status = 0;
	find_main_id();
	cp_thread_fork_child(cp_self.thread);
}

void cp_threads_retire(void)
{
	cp_store_relaxed(&retired, 1);
}
