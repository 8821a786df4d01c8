/* The program's view of its masks; see mask.h. */
#include "mask.h"

#include <errno.h>
#include <string.h>

#include "real.h"
#include "send.h"
#include "session.h"
#include "sigsafe/held.h"
#include "sigsafe/sys.h"
#include "signals.h"

/* What was held back while it was blocked: now the program gets it. */
static void deliver_held(void)
{
	if (!cp_held_blocked() && cp_held_any())
		cp_send_held();
}

/* Who has SIGPROF blocked in the kernel while the program doesn't believe to have done it? */
enum blocker {
	NOBODY,
	US,	/* in a handler on an alternate stack (signals.h) */
	HANDLER /* a mask that the kernel gave the thread: a handler's sa_mask, which ends with the
		 * handler; or the one of a thread that blocked it before the start */
};

static enum blocker blocker(void)
{
	const uint64_t none = 0;
	uint64_t now = 0;

	cp_sys_sigmask(SIG_BLOCK, &none, &now);
	if (!(now & CP_SIGBIT(SIGPROF)) || cp_held_blocked())
		return NOBODY;
	return cp_signals_blocks_on_stack() && cp_signals_on_alternate() ? US : HANDLER;
}

static void show(sigset_t *old)
{
	if (cp_held_blocked())
		sigaddset(old, SIGPROF);
	else if (sigismember(old, SIGPROF) == 1 && cp_signals_blocks_on_stack() &&
		 cp_signals_on_alternate())
		sigdelset(old, SIGPROF);
}

static int change(int how, const sigset_t *set, sigset_t *old)
{
	bool mentions = set && sigismember(set, SIGPROF) == 1;
	bool blocks = how == SIG_SETMASK || (how == SIG_BLOCK && mentions);
	enum blocker by = set && blocks ? blocker() : NOBODY;
	sigset_t other;
	int err;

	if (set) {
		other = *set;
		if (how == SIG_SETMASK && by == US)
			sigaddset(&other, SIGPROF);
		else if (blocks && by != HANDLER)
			sigdelset(&other, SIGPROF);
	}
	err = CP_REAL(pthread_sigmask)(how, set ? &other : NULL, old);
	if (err)
		return err;
	if (old)
		show(old);
	/* What the kernel keeps need not be in the view, which would outlast the handler. */
	if (!set || (by == HANDLER && mentions))
		return 0;
	if (how == SIG_SETMASK)
		cp_held_set_blocked(mentions);
	else if (mentions)
		cp_held_set_blocked(how == SIG_BLOCK);
	deliver_held();
	return 0;
}

int cp_mask_change(int how, const sigset_t *set, sigset_t *old)
{
	int err;

	if (cp_self.in_capture)
		return CP_REAL(sigprocmask)(how, set, old);
	if (cp_session_active() && !cp_session_is_ours())
		cp_held_leave_to_child();
	/* A thread that believes SIGPROF blocked must be able to unblock it after a stop. */
	if (!cp_session_is_ours() && (cp_session_active() || !cp_held_blocked()))
		return CP_REAL(sigprocmask)(how, set, old);
	err = change(how, set, old);
	if (err) {
		errno = err;
		return -1;
	}
	return 0;
}

int cp_mask_pending(sigset_t *set)
{
	int err = CP_REAL(sigpending)(set);

	if (!err && cp_held_blocked() && cp_held_any())
		sigaddset(set, SIGPROF);
	return err;
}

/* While MASK is in force for the one call, what it unblocks must end the call. SIGPROF really is
 * blocked until then, or what is held could come too early. */
int cp_mask_suspend(const sigset_t *mask)
{
	int result, saved;

	if (!cp_session_is_ours() || !cp_held_blocked() || sigismember(mask, SIGPROF) != 0)
		return CP_REAL(sigsuspend)(mask);
	cp_held_really_block(true);
	cp_held_set_blocked(false);
	deliver_held();
	result = CP_REAL(sigsuspend)(mask);
	saved = errno;
	cp_held_set_blocked(true);
	cp_held_really_block(false);
	errno = saved;
	return result;
}

static struct timespec left_until(uint64_t deadline)
{
	uint64_t now = cp_sys_clock_ns(CLOCK_MONOTONIC), left = deadline > now ? deadline - now : 0;

	return (struct timespec){ (time_t)(left / 1000000000u), (long)(left % 1000000000u) };
}

static int wait(const sigset_t *set, siginfo_t *si, const struct timespec *timeout)
{
	struct timespec left = timeout ? *timeout : (struct timespec){ 0 };
	uint64_t deadline = 0;
	int sig;

	if (timeout)
		deadline = cp_sys_clock_ns(CLOCK_MONOTONIC) +
			   (uint64_t)timeout->tv_sec * 1000000000u + (uint64_t)timeout->tv_nsec;
	for (;;) {
		if (sigismember(set, SIGPROF) == 1 && cp_held_any() && cp_held_take(si))
			return SIGPROF;
		sig = CP_REAL(sigtimedwait)(set, si, timeout ? &left : NULL);
		if (sig != SIGPROF || !cp_send_take_sample(si))
			return sig;
		if (timeout)
			left = left_until(deadline);
	}
}

int cp_mask_wait(const sigset_t *set, siginfo_t *si, const struct timespec *timeout)
{
	int sig, saved;
	siginfo_t own;

	if (!si)
		si = &own;
	if (!cp_session_is_ours() || sigismember(set, SIGPROF) != 1)
		return CP_REAL(sigtimedwait)(set, si, timeout);
	/* Really blocked meanwhile: a handler between our look at what is held and the
	 * wait would take the wake-up that belongs to the wait. */
	cp_held_really_block(true);
	cp_held_set_waiting(true);
	sig = wait(set, si, timeout);
	saved = errno;
	cp_held_set_waiting(false);
	cp_held_really_block(false);
	errno = saved;
	return sig;
}
