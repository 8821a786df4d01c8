/* SPDX-License-Identifier: BSD-3-Clause */
/* ptrace(PTRACE_TRACEME): the calling thread will stop for its tracer at every signal.
 *
 * A tracer that was written for this child may count its stops, or hand no signal on. So the
 * thread gets no signals for samples any more.
 *
 * Other tracers are not followed. A thread that is attached to from outside, or was traced before
 * exec, is a debugger's in most cases: debuggers hand SIGPROF on, and a profile is expected.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <sys/ptrace.h>

#include "base/base.h"
#include "host/host.h"
#include "hooks/hooks.h"
#include "host/real.h"

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
