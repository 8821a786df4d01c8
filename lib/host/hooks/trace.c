/* SPDX-License-Identifier: BSD-3-Clause */
/* ptrace(PTRACE_TRACEME): the calling thread will stop for its tracer at every signal.
 *
 * A tracer that was written for this child may count its stops, or hand no signal on. So the
 * thread gets no signals for samples any more: its CPU time is unsampled from here on, and the wall
 * clock sees where it waits. Other threads of the process aren't traced and stay sampled, and so
 * does a child that it forks.
 *
 * Other tracers are not followed. A thread that is attached to from outside, or was traced before
 * exec, is a debugger's in most cases: debuggers hand SIGPROF on, and a profile is expected. The
 * process's timer (cpu_itimer.h) may still signal any thread.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <sys/ptrace.h>

#include "host/hooks/interpose.h"
#include "host/profiled.h"
#include "host/real.h"
#include "base/atomic.h"
#include "base/notes.h"
#include "base/sys.h"
#include "modes/cpu/cpu.h"
#include "modes/wall/wall.h"
#include "sample/counters.h"
#include "sample/thread.h"

/* Return the caller's record if it gets signals for samples. */
static struct cp_thread *sampled_thread(void)
{
	struct cp_thread *t = cp_self.thread;

	/* A vfork's child has its parent's record. */
	if (!t || cp_profiled_retired() || cp_load_relaxed(&t->tid) != cp_sys_gettid() ||
	    cp_load_relaxed(&t->traced))
		return NULL;
	return t;
}

/* A signal that is pending is handled before this returns. */
static void stop_signals(struct cp_thread *t)
{
	cp_store_relaxed(&t->traced, true);
	cp_cpu_thread_end(t);
	cp_wall_timer_disarm(t);
}

static void start_signals(struct cp_thread *t)
{
	cp_store_relaxed(&t->traced, false);
	cp_cpu_thread_begin(t);
	/* It is no further thread. */
	cp_count(CP_COUNT_THREADS, (uint64_t)-1);
}

static long trace_me(pid_t pid, void *address, void *data)
{
	struct cp_thread *t = sampled_thread();
	long result;

	if (t)
		stop_signals(t);
	result = CP_REAL(ptrace)(PTRACE_TRACEME, pid, address, data);
	if (t && result < 0)
		start_signals(t);
	else if (t)
		cp_notes_note(CP_NOTE_TRACED, "a thread asked to be traced "
					      "(PTRACE_TRACEME): no samples of it from there on");
	return result;
}

INTERPOSE long ptrace(enum __ptrace_request request, ...)
{
	void *address, *data;
	va_list ap;
	pid_t pid;

	va_start(ap, request);
	pid = va_arg(ap, pid_t);
	address = va_arg(ap, void *);
	data = va_arg(ap, void *);
	va_end(ap);
	if (request == PTRACE_TRACEME)
		return trace_me(pid, address, data);
	return CP_REAL(ptrace)((int)request, pid, address, data);
}
