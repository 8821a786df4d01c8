/* What a thread sends to itself; see send.h. */
#include "send.h"

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

/* What is pending would have the bell dropped, and might then be dropped itself: what a timer sent
 * is, from Linux 6.13 on, when the timer was set again or deleted since. All signals are blocked.
 */
__attribute__((noinline)) static void take_pending(void)
{
	const uint64_t prof = CP_SIGBIT(SIGPROF);
	const struct timespec now = { 0 };
	ucontext_t here;
	siginfo_t si;

	while (cp_sys4(SYS_rt_sigtimedwait, &prof, &si, &now, sizeof(prof)) == SIGPROF)
		if (getcontext(&here) < 0 || !cp_cpu_event_take(&si, &here))
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
