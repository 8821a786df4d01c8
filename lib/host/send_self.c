/* SPDX-License-Identifier: BSD-3-Clause */
/* Signals that a thread sends to itself; see host.h. */
#include "host/host.h"

#include <errno.h>
#include <string.h>

#include "base/libc.h"

/* Return true if the profiler's handler will get the wake-up. Any other handler would see a stray
 * signal. */
static bool wakeup_is_handled(void)
{
	/* Checked first: another runtime's thread has no libc TLS. */
	const struct cp_self *self = cp_thread_libc_self();

	return self && self->thread && cp_load_relaxed(&self->thread->tid) == cp_sys_gettid() &&
	       cp_sigprof_handler_is_there();
}

/* Record SI if it is a sample of the profiler: SI is no longer pending, and no handler has seen it,
 * so the sample is taken at the thread's current place. All signals are blocked. Returns false if
 * SI isn't a sample. */
__attribute__((noinline)) static bool take_here(const siginfo_t *si)
{
	ucontext_t here;

	return CP_LIBC_CONTEXT(&here) && cp_sigprof_take(si, &here);
}

bool cp_send_self_take_sample(const siginfo_t *si)
{
	const uint64_t all = CP_SIGSET_ALL;
	int saved = errno;
	uint64_t old;
	bool taken;

	cp_sys_sigmask(SIG_SETMASK, &all, &old);
	taken = take_here(si);
	cp_sys_sigmask(SIG_SETMASK, &old, NULL);
	errno = saved;
	return taken;
}

/* Take out the pending SIGPROFs; all signals are blocked. */
__attribute__((noinline)) static void take_pending(void)
{
	ucontext_t here;

	if (CP_LIBC_CONTEXT(&here))
		cp_sigprof_take_pending(&here);
}

/* Keep SI (may be NULL) and send the wake-up. Both happen with signals blocked: a handler could
 * keep another signal in between, or jump away. Returns false if a filter that existed before the
 * profiler refuses the wake-up; SI is then not kept. */
static bool send(const siginfo_t *si)
{
	uint64_t all = CP_SIGSET_ALL, old;
	bool sent, merged;

	cp_sys_sigmask(SIG_SETMASK, &all, &old);
	take_pending();
	merged = cp_deferred_is_own_there();
	if (si)
		cp_deferred_keep_own(si);
	sent = cp_deferred_wake_self();
	if (!sent && !merged)
		cp_deferred_merge();
	cp_sys_sigmask(SIG_SETMASK, &old, NULL);
	return sent;
}

bool cp_send_self_is_pending(void)
{
	const uint64_t all = CP_SIGSET_ALL;
	uint64_t old;
	bool any;

	if (!wakeup_is_handled())
		return true;
	cp_sys_sigmask(SIG_SETMASK, &all, &old);
	take_pending();
	any = cp_deferred_any();
	if (any)
		cp_deferred_wake_self();
	cp_sys_sigmask(SIG_SETMASK, &old, NULL);
	return any;
}

bool cp_send_self_prof(int code, union sigval value)
{
	siginfo_t si;

	if (!cp_profiled_is_ours() || !wakeup_is_handled())
		return false;
	memset(&si, 0, sizeof(si));
	si.si_signo = SIGPROF;
	si.si_code = code;
	si.si_pid = cp_sys_getpid();
	si.si_uid = (uid_t)cp_sys0(SYS_getuid);
	si.si_value = value;
	return send(&si);
}

void cp_send_self_held(void)
{
	siginfo_t si;

	if (wakeup_is_handled() && send(NULL))
		return;
	if (cp_deferred_take(&si))
		cp_sys4(SYS_rt_tgsigqueueinfo, cp_sys_getpid(), cp_sys_gettid(), SIGPROF, &si);
}
