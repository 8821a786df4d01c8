/* SPDX-License-Identifier: BSD-3-Clause */
/* Stops and starts the signals to a thread (ptrace, Syscall User Dispatch); see hooks.h. */
#include "hooks/hooks.h"

#include <stdarg.h>
#include <sys/ptrace.h>

#include "host/host.h"
#include "modes/cpu/cpu.h"
#include "modes/cpu/signal/cpu_signal.h"
#include "modes/event/event.h"
#include "modes/event/signal/event_hit.h"
#include "modes/wall/wall.h"
#include "host/real.h"

/* Returns the caller's record, or NULL if it has none. */
static struct cp_thread *own_record(void)
{
	struct cp_thread *t = cp_self.thread;

	/* A vfork's child has its parent's record. */
	if (!t || cp_profiled_retired() || cp_load_relaxed(&t->tid) != cp_sys_gettid())
		return NULL;
	return t;
}

bool cp_unsignalled_begin(enum cp_unsignalled_reason reason)
{
	struct cp_thread *t = own_record();
	unsigned before = t ? cp_load_relaxed(&t->unsignalled) : 0;

	if (!t || before & reason)
		return false;
	cp_store_relaxed(&t->unsignalled, (uint8_t)(before | reason));
	if (!before) {
		cp_cpu_thread_end(t);
		cp_event_control_thread_end(t);
		cp_wall_timer_disarm(t);
	}
	return true;
}

void cp_unsignalled_end(enum cp_unsignalled_reason reason)
{
	struct cp_thread *t = own_record();
	unsigned before = t ? cp_load_relaxed(&t->unsignalled) : 0;

	if (!(before & reason))
		return;
	cp_store_relaxed(&t->unsignalled, (uint8_t)(before & ~reason));
	if (before != reason)
		return;
	cp_cpu_thread_again(t);
	cp_event_control_thread_begin(t);
	/* The modes have counted the thread already. */
	if (cp_load_relaxed(&cp_cpu_state.running))
		cp_count(CP_COUNT_THREADS, (uint64_t)-1);
	if (cp_load_relaxed(&cp_event_state.running))
		cp_count_mode(CPROF_EVENT, CP_COUNT_THREADS, (uint64_t)-1);
}

/* Syscall User Dispatch: the kernel turns system calls of a thread into SIGSYS, as Wine and
 * emulators ask for.
 *
 * The return from a signal handler is a system call, too. If a sample's SIGPROF came while the
 * calls are caught, its return would be caught: the thread would go on in the middle of nowhere. So
 * such a thread gets no signals for samples until it ends the dispatch. The byte by which a program
 * tells the kernel that calls are to be caught changes too often to be followed.
 *
 * A failed call changes nothing. A child that is forked, and a new thread, have no dispatch.
 */

/* Defined in <linux/prctl.h> since Linux 5.11. */
#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_OFF 0
#endif

bool cp_dispatch_is(int option)
{
	return option == PR_SET_SYSCALL_USER_DISPATCH;
}

int cp_dispatch_prctl(const unsigned long *a)
{
	bool off = a[0] == PR_SYS_DISPATCH_OFF;
	bool began = !off && cp_unsignalled_begin(CP_UNSIGNALLED_CAUGHT);
	int result = CP_REAL(prctl)(PR_SET_SYSCALL_USER_DISPATCH, a[0], a[1], a[2], a[3]);

	if (began && result)
		cp_unsignalled_end(CP_UNSIGNALLED_CAUGHT);
	else if (began)
		cp_notes_note(
			CP_NOTE_CAUGHT,
			"a thread had its system calls caught (PR_SET_SYSCALL_USER_DISPATCH): "
			"no samples of it meanwhile");
	if (off && !result)
		cp_unsignalled_end(CP_UNSIGNALLED_CAUGHT);
	return result;
}

/* ptrace(PTRACE_TRACEME): the calling thread will stop for its tracer at every signal.
 *
 * A tracer that was written for this child may count its stops, or hand no signal on. So the
 * thread gets no signals for samples any more.
 *
 * Other tracers are not followed. A thread that is attached to from outside, or was traced before
 * exec, is a debugger's in most cases: debuggers hand SIGPROF on, and a profile is expected.
 */

static long trace_me(pid_t pid, void *address, void *data)
{
	bool began = cp_unsignalled_begin(CP_UNSIGNALLED_TRACED);
	long result = CP_REAL(ptrace)(PTRACE_TRACEME, pid, address, data);

	if (began && result < 0)
		cp_unsignalled_end(CP_UNSIGNALLED_TRACED);
	else if (began)
		cp_notes_note(CP_NOTE_TRACED, "a thread asked to be traced "
					      "(PTRACE_TRACEME): no samples of it from there on");
	return result;
}

INTERPOSE long ptrace(cp_libc_ptrace_request request, ...)
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
