/* Begin and end of the collector: a task, and a thread of libc's behind it where the program has
 * several. See collect.h, worker.h.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/single_threaded.h>

#include "collect_state.h"
#include "log.h"
#include "real.h"
#include "sigsafe/atomic.h"
#include "sigsafe/heap_event.h"
#include "sigsafe/sys.h"
#include "sigsafe/thread.h"
#include "threads.h"
#include "worker.h"

/* Of the thread itself, which only waits and switches to the work stack; atexit handlers
 * of the program may run on it when it is the last thread. */
#define THREAD_STACK ((size_t)256 << 10)

static pthread_t thread;
static uint32_t may_be_bare;  /* the program's calls of setuid & co. come by us */
static uint32_t held_off;     /* stopped on purpose: only cp_collect_start starts it again */
static uint32_t parkers;      /* threads between park and unpark */
static uint32_t parked;	      /* it ran when one of them came */
static sigset_t program_mask; /* of the thread that started ours */

void cp_collect_allow_bare(void)
{
	cp_store_relaxed(&may_be_bare, 1);
}

static const struct cp_worker_work in_worker = { .loop = cp_collect_loop,
						 .wake = cp_collect_ring,
						 .line = cp_log_put };

static void *collector(void *adopt)
{
	uint32_t running = CP_COLLECTOR_RUNNING;

	cp_store_release(&cp_collector.thread_tid, cp_sys_gettid());
	cp_store_release(&cp_collector.joining, 0);
	cp_sys_leave_realtime();
	cp_sys2(SYS_prctl, PR_SET_NAME, "cprof");
	cp_heap_own_begin();
	cp_worker_run(&in_worker, adopt != NULL);
	/* As the last thread it runs the program's atexit handlers. Asked to quit, it leaves the
	 * state to who joins it. */
	if (cp_threads_main_ended() &&
	    cp_cas_acqrel(&cp_collector.state, &running, CP_COLLECTOR_NONE)) {
		cp_collect_end_as_last();
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
	cp_store_seqcst(&cp_collector.joining, 1);
	/* libc's memory of a thread of ours. */
	cp_heap_own_begin();
	err = CP_REAL(pthread_create)(&thread, &attr, collector, adopt);
	cp_heap_own_end();
	if (err)
		cp_store_release(&cp_collector.joining, 0);
	pthread_attr_destroy(&attr);
	return -err;
}

/* libc may not know of it: with a thread of ours it would take its locks, in a program that has
 * nobody to keep out. */
static int create_bare(void)
{
	cp_store_relaxed(&cp_collector.thread_tid, 0);
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
	if (cp_cas_acqrel(&cp_collector.state, &seen, CP_COLLECTOR_STARTING)) {
		program_mask = mask;
		err = as_bare ? create_bare()
			      : create_thread(from == CP_COLLECTOR_RUNNING ? &cp_collector.state
									   : NULL);
		if (!err)
			cp_store_relaxed(&cp_collector.bare, as_bare);
		cp_store_release(&cp_collector.state, err ? from : CP_COLLECTOR_RUNNING);
	}
	CP_REAL(pthread_sigmask)(SIG_SETMASK, &mask, NULL);
	if (self)
		cp_store_seqcst(&self->making, false);
	return err;
}

static int start_anew(void)
{
	int err = start(CP_COLLECTOR_NONE, cp_load_relaxed(&may_be_bare) && __libc_single_threaded);

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
	if (!cp_load_seqcst(&held_off) && cp_load_acquire(&cp_collector.state) == CP_COLLECTOR_NONE)
		start_anew();
}

void cp_collect_attend(void)
{
	if (cp_collect_is_bare())
		start(CP_COLLECTOR_RUNNING, false);
}

void cp_collect_stop(void)
{
	uint32_t running = CP_COLLECTOR_RUNNING, rest;
	int cancel;

	cp_store_seqcst(&held_off, 1);
	while (cp_load_acquire(&cp_collector.state) == CP_COLLECTOR_STARTING)
		cp_sys_yield();
	if (!cp_cas_acqrel(&cp_collector.state, &running, CP_COLLECTOR_STOPPING))
		return;
	/* The caller is not cancelled half-way. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	cp_collect_post(CP_REQUEST_QUIT);
	if (cp_load_relaxed(&cp_collector.bare)) {
		cp_worker_end();
	} else {
		pthread_join(thread, NULL);
		cp_worker_wait_gone((int)cp_load_relaxed(&cp_collector.thread_tid));
	}
	rest = cp_exchange_acqrel(&cp_collector.requests, 0);
	cp_store_release(&cp_collector.state, CP_COLLECTOR_NONE);
	cp_collect_serve_rest(rest);
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
	cp_lock_reset(&cp_collector.lock);
	cp_store_relaxed(&cp_collector.state, CP_COLLECTOR_NONE);
	cp_store_relaxed(&held_off, 0);
	cp_store_relaxed(&parkers, 0);
	cp_store_relaxed(&parked, 0);
	cp_store_relaxed(&cp_collector.requests, 0);
	cp_store_relaxed(&cp_collector.joining, 0);
	cp_store_relaxed(&cp_collector.thread_tid, 0);
	cp_worker_fork_child();
}
