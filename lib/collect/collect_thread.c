/* SPDX-License-Identifier: BSD-3-Clause */
/* Begin and end of the collector: a task, with a libc thread where changes of credentials don't
 * pass through the profiler. See collect.h. */
#include <errno.h>

#include "collect/collect.h"
#include "host/real.h"
#include "base/start_data.h"

/* Size of the thread's own stack: it only waits and switches to the work stack. The program's
 * atexit handlers may run on it when it is the last thread. */
#define THREAD_STACK ((size_t)256 << 10)

/* The stack of a thread. */
struct stack {
	void *memory;
	size_t size;
};

static pthread_t thread;
static struct stack thread_stack; /* unmapped when the thread is joined */
/* the collector may be a raw task: the profiler sees all calls of setuid and its relatives */
static uint32_t may_be_raw CP_START_DATA;
static uint32_t held_off;     /* stopped on purpose: only cp_collect_thread_start starts it again */
static uint32_t parkers;      /* threads between cp_collect_thread_park and unpark */
static uint32_t parked;	      /* the collector ran when one of these threads parked */
static sigset_t program_mask; /* signal mask of the thread that started the collector */

void cp_collect_thread_allow_raw_task(void)
{
	cp_store_relaxed(&may_be_raw, 1);
}

static const struct cp_worker_work in_worker = { .loop = cp_collect_loop,
						 .wake = cp_collect_wake,
						 .line = cp_log_put };

static void *collector(void *unused)
{
	uint32_t running = CP_COLLECTOR_RUNNING;

	cp_store_release(&cp_collector.thread_tid, cp_sys_gettid());
	cp_store_release(&cp_collector.joining, 0);
	cp_sys_leave_realtime();
	cp_sys2(SYS_prctl, PR_SET_NAME, "cprof");
	cp_thread_own_begin();
	cp_worker_run(&in_worker);
	/* As the last thread the collector runs the program's atexit handlers. If it was asked to
	 * quit, the joining thread changes the state. */
	if (cp_threads_main_ended() &&
	    cp_cas_acqrel(&cp_collector.state, &running, CP_COLLECTOR_NONE)) {
		cp_collect_loop_end_as_last();
		CP_REAL(pthread_sigmask)(SIG_SETMASK, &program_mask, NULL);
		cp_thread_own_end();
	}
	return NULL;
}

/* Map the thread's stack; libc would map it among the program's pages. The TLS of all modules is at
 * the end of the stack; it takes some megabytes if a sanitizer has its state there. */
static bool make_stack(struct stack *s, pthread_attr_t *attr)
{
	s->size = THREAD_STACK;
	if (cp_real.pthread_get_minstack)
		s->size += CP_REAL(pthread_get_minstack)(attr);
	s->memory = cp_pages_stack(s->size);
	return s->memory && !pthread_attr_setstack(attr, s->memory, s->size);
}

/* Join a collector that has ended by itself. */
static void join_left(void)
{
	if (!cp_exchange_acqrel(&cp_collector.unjoined, 0))
		return;
	pthread_join(thread, NULL);
	cp_sys_unmap(thread_stack.memory, thread_stack.size);
}

/* Create the collector's thread. Returns 0 or a negative errno. */
static int create_thread(void)
{
	struct stack stack;
	pthread_attr_t attr;
	int err = ENOMEM;

	pthread_attr_init(&attr);
	cp_store_seqcst(&cp_collector.joining, 1);
	/* libc allocates memory for the profiler's thread here. */
	cp_thread_own_begin();
	join_left();
	if (make_stack(&stack, &attr))
		err = CP_REAL(pthread_create)(&thread, &attr, collector, NULL);
	cp_thread_own_end();
	pthread_attr_destroy(&attr);
	if (!err) {
		thread_stack = stack;
		return 0;
	}
	cp_store_release(&cp_collector.joining, 0);
	cp_sys_unmap(stack.memory, stack.size);
	return -err;
}

/* Start the collector as a task that libc does not know. libc would call the program's malloc to
 * make a thread, and with a profiler thread known to libc, a program of one thread would take
 * libc's locks although no other thread needs them. */
static int create_raw_task(void)
{
	cp_store_relaxed(&cp_collector.thread_tid, 0);
	return cp_worker_begin(&in_worker);
}

/* Note, once in a process and its descendants, that there is no collector; each thread that the
 * program makes causes another attempt. A program that has left its pid namespace can't make
 * threads (EINVAL), and knows that. */
static void note_missing(int err)
{
	bool deadline = err == -EAGAIN && cp_sys_has_deadline();

	if (err != -EINVAL)
		cp_notes_note(
			CP_NOTE_COLLECTOR,
			"no collector thread (%s): the program's own threads collect samples, "
			"checkpoints and the wall clock wait for it; %s",
			deadline ? "SCHED_DEADLINE: a thread with a deadline may make no other"
				 : cp_log_errno_text(err),
			deadline ? "start the program with another policy and let it set its "
				   "deadline"
				 : cp_log_errno_advice(err));
}

/* Start the collector: change the state from NONE to RUNNING, or back after an error. Signals are
 * blocked: a handler that called the collector in between would wait forever. Returns 0 or a
 * negative errno. */
static int start_collector(bool as_raw)
{
	struct cp_thread *self = cp_self.thread;
	uint32_t seen = CP_COLLECTOR_NONE;
	sigset_t all, mask;
	int err = 0;

	if (self)
		cp_store_seqcst(&self->making, true);
	/* libc's own signals (cancellation, setuid) stay deliverable: pthread_sigmask never blocks
	 * them, and setuid waits for every thread's answer. */
	sigfillset(&all);
	CP_REAL(pthread_sigmask)(SIG_SETMASK, &all, &mask);
	if (cp_cas_acqrel(&cp_collector.state, &seen, CP_COLLECTOR_STARTING)) {
		program_mask = mask;
		err = as_raw ? create_raw_task() : create_thread();
		if (!err)
			cp_store_relaxed(&cp_collector.raw_task, as_raw);
		cp_store_release(&cp_collector.state,
				 err ? CP_COLLECTOR_NONE : CP_COLLECTOR_RUNNING);
	}
	CP_REAL(pthread_sigmask)(SIG_SETMASK, &mask, NULL);
	if (self)
		cp_store_seqcst(&self->making, false);
	return err;
}

static int start_anew(void)
{
	int err = start_collector(cp_load_relaxed(&may_be_raw));

	if (err)
		note_missing(err);
	return err;
}

int cp_collect_thread_start(void)
{
	cp_store_seqcst(&held_off, 0);
	return start_anew();
}

void cp_collect_thread_revive(void)
{
	if (!cp_load_seqcst(&held_off) && cp_load_acquire(&cp_collector.state) == CP_COLLECTOR_NONE)
		start_anew();
}

void cp_collect_thread_stop(void)
{
	uint32_t running = CP_COLLECTOR_RUNNING, rest;
	int cancel;

	cp_store_seqcst(&held_off, 1);
	while (cp_load_acquire(&cp_collector.state) == CP_COLLECTOR_STARTING)
		cp_sys_yield();
	if (!cp_cas_acqrel(&cp_collector.state, &running, CP_COLLECTOR_STOPPING))
		return;
	/* Cancellation would leave the start half done. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	cp_collect_post(CP_REQUEST_QUIT);
	if (cp_load_relaxed(&cp_collector.raw_task)) {
		cp_worker_end();
	} else {
		/* The profiler's own wait is in no profile. */
		cp_thread_own_begin();
		pthread_join(thread, NULL);
		cp_thread_own_end();
		cp_sys_unmap(thread_stack.memory, thread_stack.size);
		cp_worker_wait_gone((int)cp_load_relaxed(&cp_collector.thread_tid));
	}
	rest = cp_exchange_acqrel(&cp_collector.requests, 0);
	cp_store_release(&cp_collector.state, CP_COLLECTOR_NONE);
	cp_collect_serve_now(rest);
	pthread_setcancelstate(cancel, NULL);
}

void cp_collect_thread_leave(void)
{
	cp_store_seqcst(&held_off, 1);
	cp_store_seqcst(&cp_collector.leaving, 1);
	cp_collect_post(CP_REQUEST_QUIT);
}

bool cp_collect_thread_give_way(void)
{
	if (!cp_collect_alive())
		return false;
	cp_collect_thread_stop();
	cp_store_seqcst(&held_off, 0);
	return true;
}

/* The thread that unparks last sees what each of the others noted when it parked. */
void cp_collect_thread_park(void)
{
	cp_add_seqcst(&parkers, 1);
	if (!cp_collect_alive())
		return;
	cp_store_seqcst(&parked, 1);
	cp_collect_thread_stop();
}

void cp_collect_thread_unpark(bool again)
{
	if (cp_add_seqcst(&parkers, (uint32_t)-1) == 1 && cp_exchange_acqrel(&parked, 0) && again)
		cp_collect_thread_start();
}

void cp_collect_thread_fork_child(void)
{
	cp_futex_lock_reset(&cp_collector.lock);
	cp_store_relaxed(&cp_collector.state, CP_COLLECTOR_NONE);
	cp_store_relaxed(&held_off, 0);
	cp_store_relaxed(&cp_collector.unjoined, 0);
	cp_store_relaxed(&cp_collector.leaving, 0);
	cp_store_relaxed(&parkers, 0);
	cp_store_relaxed(&parked, 0);
	cp_store_relaxed(&cp_collector.requests, 0);
	cp_store_relaxed(&cp_collector.joining, 0);
	cp_store_relaxed(&cp_collector.thread_tid, 0);
}
