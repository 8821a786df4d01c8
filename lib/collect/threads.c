/* SPDX-License-Identifier: BSD-3-Clause */
/* Registration of threads; see collect.h. */
#include "collect/collect.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/resource.h>

#include "host/host.h"
#include "unwind/unwind.h"
#include "base/libc.h"
#include "base/start_data.h"

#define KEYS_WITH_ROOM 32 /* glibc's PTHREAD_KEY_2NDLEVEL_SIZE */
static pthread_key_t end_key CP_START_DATA;
static pthread_once_t end_once CP_START_DATA = PTHREAD_ONCE_INIT;
static bool end_key_made CP_START_DATA;
static struct cp_thread *main_thread CP_START_DATA;
static uint32_t main_ended;
static uint32_t ended_raw;   /* a thread has ended without libc's knowledge */
static uint32_t after_main;  /* main ended unnoticed, and another thread after it */
static uint32_t last_status; /* exit status of the last ended thread */
static bool main_is_told
	CP_START_DATA; /* the kernel tells when main has ended, by whatever means */
/* A thread is registered either by the sweep or by itself. Either side holds this lock from the
 * check for the other's record until its own record is live. */
static struct cp_futex_lock registration CP_START_DATA;

/* End T, the calling thread's record. */
static void end_thread(struct cp_thread *t, int status)
{
	cp_store_relaxed(&last_status, (uint32_t)status);
	if (cp_threads_main_is_lost())
		cp_store_release(&after_main, 1);
	cp_dlclose_gate_abandon();
	cp_mode_ops_thread_end(t);
	cp_sys2(SYS_prctl, PR_GET_NAME, t->name);
	t->named = true;
	cp_self.thread = NULL;
	cp_mode_ops_thread_left();
	if (t == main_thread)
		cp_store_release(&main_ended, 1);
	t->gone = cp_ticks_moment();
	if (t->ring || t->hook_ring || t->labels || t->in_diary || cp_mode_ops_keep(t)) {
		cp_store_release(&t->state, CP_THREAD_ENDED);
		cp_collect_ended();
	} else {
		cp_thread_free(t);
	}
	if (cp_load_acquire(&main_ended))
		cp_collect_request(CP_REQUEST_CHECK_END);
}

/* Called in every round of key destructors, but acts in the last one, so that the program's other
 * destructors are still sampled. */
static void on_thread_end(void *record)
{
	struct cp_thread *t = record;

	if (cp_profiled_retired())
		return;
	if (++cp_self.end_rounds < PTHREAD_DESTRUCTOR_ITERATIONS &&
	    pthread_setspecific(end_key, record) == 0)
		return;
	end_thread(t, 0);
}

/* libc has room for the first keys in every thread, and allocates for later ones, so only an early
 * key is used. Without a key, the sweep sees the end of a thread. */
static void make_end_key(void)
{
	if (pthread_key_create(&end_key, on_thread_end))
		return;
	end_key_made = end_key < KEYS_WITH_ROOM;
	if (!end_key_made)
		pthread_key_delete(end_key);
}

static void arm_end(struct cp_thread *t)
{
	pthread_once(&end_once, make_end_key);
	if (end_key_made)
		pthread_setspecific(end_key, t);
}

void cp_threads_end_raw(int status)
{
	struct cp_thread *t = cp_self.thread;

	if (!t || cp_profiled_retired())
		return;
	cp_store_release(&ended_raw, 1);
	end_thread(t, status);
}

bool cp_threads_ended_raw(void)
{
	return cp_load_acquire(&ended_raw) != 0;
}

int cp_threads_last_status(void)
{
	return (int)cp_load_relaxed(&last_status);
}

bool cp_threads_is_libcs(int tid)
{
	size_t size;
	void *list;

	return cp_sys3(SYS_get_robust_list, tid, &list, &size) < 0 || list;
}

/* Make cp_threads_is_libcs true for the calling thread. Returns false if the kernel refuses. */
static bool mark_as_libcs(void)
{
	static const struct robust_list_head empty = { .list = { (void *)&empty.list } };

	return cp_threads_is_libcs(0) ||
	       (!CP_LIBC_LISTS_THREADS && !cp_sys2(SYS_set_robust_list, &empty, sizeof(empty)));
}

bool cp_threads_main_is_lost(void)
{
	/* Main may have ended by libc before the kernel was asked. */
	return main_is_told && !cp_threads_main_ended() && !cp_threads_is_libcs(cp_sys_getpid()) &&
	       !cp_threads_main_ended();
}

void cp_threads_end_main(int status)
{
	if (!cp_load_acquire(&after_main))
		cp_store_relaxed(&last_status, (uint32_t)status);
	cp_store_release(&ended_raw, 1);
	if (main_thread) {
		cp_mode_ops_thread_end(main_thread);
		cp_store_release(&main_thread->state, CP_THREAD_ENDED);
	}
	cp_store_release(&main_ended, 1);
}

/* Bounds of a thread's stack, without /proc. libc puts the control block at the top of a thread's
 * stack, so pthread_self() is the high end. The low end is set a little too high. Memory below it
 * is read with a probe, whereas a bound that reached into the next mapping would let reads pass the
 * guard page. */
#define STACK_SLACK ((uint64_t)64 << 10)
#define MAIN_STACK_MAX ((uint64_t)64 << 20)

static void set_main_bounds(struct cp_thread *t)
{
	uint64_t size = MAIN_STACK_MAX;
	struct rlimit limit;

	if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < size)
		size = limit.rlim_cur;
	t->stack_high = cp_libc_stack_end();
	t->stack_low = t->stack_high - size;
}

void cp_threads_adopt_main(struct cp_thread *t)
{
	main_thread = t;
	main_is_told = true;
	set_main_bounds(t);
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

/* Set the bounds of a thread that the profiler didn't start, from libc. They stay unknown if libc
 * doesn't know them. */
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
	struct cp_thread *t = cp_profiled_retired() ? NULL : cp_thread_claim();

	if (!t)
		return NULL;
	t->start = start;
	t->argument = argument;
	t->stack_size = stack_size_of(attr);
	if (cp_self.thread && cp_self.thread->labels && cp_self.thread->labels->inherit)
		t->labels = cp_labels_clone(cp_self.thread->labels);
	return t;
}

/* End the record that the sweep may have made for this thread before it registered NEW. */
static void end_foreign_twin(struct cp_thread *new)
{
	struct cp_thread *t;

	if (!cp_counted(CP_COUNT_FOREIGN_THREADS))
		return;
	t = cp_thread_of(cp_sys_gettid());
	if (!t || !t->foreign)
		return;
	cp_store_relaxed(&new->paused, cp_load_relaxed(&t->paused));
	cp_mode_ops_thread_end(t);
	cp_store_release(&t->state, CP_THREAD_ENDED);
}

/* Make T the calling thread's record. A sweep that saw no record makes no other one for the thread.
 * If the sweep did make one, that record has all its clocks before it ends here. */
static void go_live(struct cp_thread *t)
{
	if (!CP_LIBC_LISTS_THREADS)
		mark_as_libcs();
	cp_futex_lock_acquire(&registration);
	end_foreign_twin(t);
	cp_thread_enter(t);
	cp_futex_lock_release(&registration);
}

void cp_threads_register(void)
{
	bool ended = cp_self.end_rounds >= PTHREAD_DESTRUCTOR_ITERATIONS;
	struct cp_thread *t = cp_self.thread || ended ? NULL : cp_thread_claim();

	/* After the thread's end, in a later key's destructor, nothing would end a new record. */
	if (!t)
		return;
	if (cp_sys_gettid() == cp_sys_getpid()) {
		main_thread = t;
		main_is_told = mark_as_libcs();
		set_main_bounds(t);
	} else {
		set_known_bounds(t);
	}
	go_live(t);
	arm_end(t);
	/* The thread's own blocking is known; signals that it inherited blocked are not. */
	cp_deferred_set_blocked(cp_deferred_blocked());
	cp_deferred_import_mask();
	cp_mode_ops_thread_begin(t);
}

/* Limit of threads that register themselves between two sweeps. Each has a record, and rings, until
 * the sweep after its end. A program that has libc make a thread for every timer's expiry would
 * fill memory between two sweeps. */
#define REGISTERED_MOST 1024
static uint32_t registered; /* registered since the last sweep ended */

static struct cp_thread *register_foreign_locked(int tid)
{
	struct cp_thread *t;

	if (cp_load_relaxed(&registered) >= REGISTERED_MOST || cp_thread_of(tid) ||
	    !(t = cp_thread_claim()))
		return NULL;
	cp_add_relaxed(&registered, 1);
	/* Marked as seen, because a running sweep may have passed the thread's place in /proc. */
	t->foreign = t->to_begin = t->seen = true;
	cp_store_relaxed(&t->tid, tid);
	cp_store_release(&t->state, CP_THREAD_LIVE);
	cp_count(CP_COUNT_FOREIGN_THREADS, 1);
	return t;
}

struct cp_thread *cp_threads_register_foreign(void)
{
	int tid = cp_sys_gettid();
	struct cp_thread *t;

	/* A main thread is left to the sweep, or is a vfork's child. A thread of another process
	 * gets no record. */
	if (cp_profiled_retired() || tid == cp_sys_getpid() || cp_fork_mark_is_gone() ||
	    !cp_futex_lock_try(&registration))
		return NULL;
	t = register_foreign_locked(tid);
	cp_futex_lock_release(&registration);
	return t;
}

void cp_threads_reset_registered(void)
{
	cp_store_relaxed(&registered, 0);
}

void cp_threads_registration_begin(void)
{
	cp_futex_lock_acquire(&registration);
}

void cp_threads_registration_end(void)
{
	cp_futex_lock_release(&registration);
}

static void enter_thread(struct cp_thread *t)
{
	if (cp_profiled_retired())
		return;
	set_bounds(t, t->stack_size);
	go_live(t);
	arm_end(t);
	cp_deferred_import_mask();
	cp_mode_ops_thread_begin(t);
}

void *cp_threads_entry(void *record)
{
	struct cp_thread *t = record;
	void *(*start)(void *) = t->start;
	void *argument = t->argument;

	enter_thread(t);
	return start(argument);
}

bool cp_threads_has_prof(uint64_t mask)
{
	return (mask & CP_SIGBIT(SIGPROF)) && !(mask & (CP_SIGBIT(32) | CP_SIGBIT(33)));
}

bool cp_threads_blocks_prof(int tid)
{
	char text[4096];
	uint64_t mask;

	return cp_thread_file_status(tid, text, sizeof(text)) &&
	       cp_thread_file_number(text, "\nSigBlk:\t", 16, &mask) && cp_threads_has_prof(mask);
}

/* Return T, or NULL if it isn't a live thread of the program, other than the caller. */
static struct cp_thread *other(struct cp_thread *t)
{
	return cp_load_acquire(&t->state) == CP_THREAD_LIVE &&
			       cp_load_relaxed(&t->tid) != cp_sys_gettid() &&
			       !cp_load_acquire(&t->making)
		       ? t
		       : NULL;
}

/* A handler's mask may be in force for a moment, so threads are checked twice. */
void cp_threads_find_blocking(void)
{
	const struct timespec moment = { 0, 1000000 };
	struct cp_thread *t;
	uint32_t found = 0;

	for (uint32_t i = 0; i < cp_thread_limit(); i++) {
		t = other(cp_thread_at(i));
		if (!t)
			continue;
		t->came_blocked = cp_threads_blocks_prof(t->tid);
		found += t->came_blocked;
	}
	if (found)
		cp_sys2(SYS_nanosleep, &moment, NULL);
	for (uint32_t i = 0; found && i < cp_thread_limit(); i++) {
		t = other(cp_thread_at(i));
		if (t && t->came_blocked && !cp_threads_blocks_prof(t->tid)) {
			t->came_blocked = false;
			found--;
		}
	}
	cp_store_relaxed(&cp_deferred_came_blocked, found);
}

void cp_threads_blocking_note(struct cp_comments *out)
{
	uint32_t n = cp_load_relaxed(&cp_deferred_came_blocked);

	for (uint32_t i = 0; n && i < cp_thread_limit(); i++) {
		struct cp_thread *t = other(cp_thread_at(i));

		if (t && t->came_blocked && !cp_threads_blocks_prof(t->tid))
			n--;
	}
	if (n)
		cp_comments_line(
			out,
			"note: %u thread(s) block SIGPROF since before the start: they are not "
			"sampled",
			n);
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

	enter_thread(t);
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
	cp_futex_lock_reset(&registration);
	main_thread = cp_self.thread;
	main_ended = ended_raw = after_main = last_status = 0;
	main_is_told = mark_as_libcs();
	cp_thread_fork_child(cp_self.thread);
}
