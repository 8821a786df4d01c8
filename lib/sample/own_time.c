/* SPDX-License-Identifier: BSD-3-Clause */
/* The profiler's own CPU time; see sample.h. */
#include "sample/sample.h"

#include "base/sys.h"
#include "sample/thread.h"

/* Work on threads of the program, under the collector's lock. */
static uint64_t work_ns;    /* CPU time of finished work */
static uint64_t work_began; /* CPU clock of the thread at the start of its work; 0 = idle */

static uint32_t changes; /* odd while TASK, BEGAN and ENDED_NS are being changed */
static uint32_t task;	 /* id of the collector's task; 0 = none */
static uint64_t began;	 /* the task's CPU clock at its start */
static uint64_t ended_ns;

#define TRIES 100

void cp_own_time_task_begin(void)
{
	uint64_t now = cp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);

	cp_add_seqcst(&changes, 1);
	cp_store_relaxed(&began, now);
	cp_store_relaxed(&task, (uint32_t)cp_sys_gettid());
	cp_add_seqcst(&changes, 1);
}

void cp_own_time_task_end(void)
{
	uint64_t took = cp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID) - cp_load_relaxed(&began);

	cp_add_seqcst(&changes, 1);
	cp_store_relaxed(&task, 0);
	cp_store_relaxed(&ended_ns, cp_load_relaxed(&ended_ns) + took);
	cp_add_seqcst(&changes, 1);
}

static uint64_t of_tasks(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < TRIES; i++) {
		uint32_t seen = cp_load_seqcst(&changes);
		uint32_t tid = cp_load_seqcst(&task);
		uint64_t since = cp_load_seqcst(&began),
			 now = tid ? cp_sys_clock_ns(CP_THREAD_CLOCK(tid)) : 0;

		sum = cp_load_seqcst(&ended_ns) + (now > since ? now - since : 0);
		if (!(seen & 1) && cp_load_seqcst(&changes) == seen)
			break;
		cp_sys_yield();
	}
	return sum;
}

void cp_own_time_work_begin(void)
{
	if (cp_load_relaxed(&task) != (uint32_t)cp_sys_gettid())
		work_began = cp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Count the work up to now, also for the thread that does it. A thread of a raw clone may have its
 * creator's TLS. */
static void count_work(void)
{
	struct cp_self *self = work_began ? cp_thread_libc_self() : NULL;
	struct cp_thread *t = self ? self->thread : NULL;
	uint64_t now;

	if (!work_began)
		return;
	now = cp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	work_ns += now - work_began;
	if (t && cp_load_relaxed(&t->tid) == cp_sys_gettid())
		cp_add_relaxed(&t->own_cpu_ns, now - work_began);
	work_began = now;
}

void cp_own_time_work_end(void)
{
	count_work();
	work_began = 0;
}

uint64_t cp_own_time(void)
{
	count_work();
	return work_ns + of_tasks();
}

void cp_own_time_fork_child(void)
{
	work_ns = work_began = 0;
	began = ended_ns = 0;
	changes = task = 0;
}
