/* What a thread sends to itself; see send.h. */
#include "send.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

#include "cpu.h"
#include "session.h"
#include "sigsafe/atomic.h"
#include "sigsafe/cpu_event.h"
#include "sigsafe/held.h"
#include "sigsafe/sys.h"

/* Another handler than ours would see a bell for what it is. */
static bool bell_is_heard(void)
{
	/* Asked first: another runtime's thread has no TLS of libc's. */
	const struct cp_self *self = cp_thread_libc_self();

	return self && self->thread && cp_load_relaxed(&self->thread->tid) == cp_sys_gettid() &&
	       cp_cpu_has_handler();
}

/* SI is no longer pending, and no handler has seen it: a sample of ours is taken here, where the
 * thread is. All signals are blocked. False: it isn't one. */
__attribute__((noinline)) static bool take_here(const siginfo_t *si)
{
	ucontext_t here;

	return getcontext(&here) == 0 && cp_cpu_event_take(si, &here);
}

bool cp_send_take_sample(const siginfo_t *si)
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

/* What is pending would have the bell dropped, and might then be dropped itself: what a timer sent
 * is, from Linux 6.13 on, when the timer was set again or deleted since. All signals are blocked.
 */
static void take_pending(void)
{
	const uint64_t prof = CP_SIGBIT(SIGPROF);
	const struct timespec now = { 0 };
	siginfo_t si;

	while (cp_sys4(SYS_rt_sigtimedwait, &prof, &si, &now, sizeof(prof)) == SIGPROF)
		if (!take_here(&si))
			cp_held_keep(&si);
}

/* The bell, and SI before it. At once, for handlers: one could keep another in between, or jump
 * away. False: the bell is refused, by a filter that was there before us, and SI isn't kept. */
static bool send(const siginfo_t *si)
{
	uint64_t all = CP_SIGSET_ALL, old;
	bool rung, merged;

	cp_sys_sigmask(SIG_SETMASK, &all, &old);
	take_pending();
	merged = cp_held_is_own_there();
	if (si)
		cp_held_keep_own(si);
	rung = cp_held_ring();
	if (!rung && !merged)
		cp_held_merge();
	cp_sys_sigmask(SIG_SETMASK, &old, NULL);
	return rung;
}

bool cp_send_is_pending(void)
{
	const uint64_t all = CP_SIGSET_ALL;
	uint64_t old;
	bool any;

	if (!bell_is_heard())
		return true;
	cp_sys_sigmask(SIG_SETMASK, &all, &old);
	take_pending();
	any = cp_held_any();
	if (any)
		cp_held_ring();
	cp_sys_sigmask(SIG_SETMASK, &old, NULL);
	return any;
}

bool cp_send_to_self(int code, union sigval value)
{
	siginfo_t si;

	if (!cp_session_is_ours() || !bell_is_heard())
		return false;
	memset(&si, 0, sizeof(si));
	si.si_signo = SIGPROF;
	si.si_code = code;
	si.si_pid = cp_sys_getpid();
	si.si_uid = (uid_t)cp_sys0(SYS_getuid);
	si.si_value = value;
	return send(&si);
}

void cp_send_held(void)
{
	siginfo_t si;

	if (bell_is_heard() && send(NULL))
		return;
	if (cp_held_take(&si))
		cp_sys4(SYS_rt_tgsigqueueinfo, cp_sys_getpid(), cp_sys_gettid(), SIGPROF, &si);
}
