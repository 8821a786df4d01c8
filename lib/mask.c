/* The program's view of its masks; see mask.h. */
#include "mask.h"

#include <errno.h>
#include <string.h>

#include "handler_mask.h"
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
	cp_held_see(now);
	if (!(now & CP_SIGBIT(SIGPROF)) || cp_held_blocked())
		return NOBODY;
	return cp_handler_mask_any_prof() && cp_signals_on_alternate() ? US : HANDLER;
}

static void put(sigset_t *set, int sig, bool in)
{
	if (in)
		sigaddset(set, sig);
	else
		sigdelset(set, sig);
}

/* What a handler's mask blocks in the kernel is shown as it is. */
static void show(sigset_t *old)
{
	if (cp_self.witness && sigismember(old, SIGPROF) == 0)
		put(old, CP_HELD_WITNESS, cp_self.witness_blocked);
	if (cp_held_blocked())
		sigaddset(old, SIGPROF);
	else if (sigismember(old, SIGPROF) == 1 && cp_handler_mask_any_prof() &&
		 cp_signals_on_alternate())
		sigdelset(old, SIGPROF);
}

/* The kernel's part of a change. */
static sigset_t part_of_kernel(int how, const sigset_t *set, enum blocker by)
{
	bool mentions = sigismember(set, SIGPROF) == 1;
	sigset_t other = *set;

	if (how == SIG_SETMASK && by == US)
		sigaddset(&other, SIGPROF);
	else if (how != SIG_UNBLOCK && by != HANDLER)
		sigdelset(&other, SIGPROF);
	if ((cp_self.witness || how == SIG_SETMASK) && !(by == HANDLER && mentions))
		put(&other, CP_HELD_WITNESS, mentions);
	return other;
}

/* And the view's. What the kernel keeps need not be in it, which would outlast the handler. */
static void part_of_view(int how, const sigset_t *set, enum blocker by)
{
	bool mentions = sigismember(set, SIGPROF) == 1;
	bool wants = sigismember(set, CP_HELD_WITNESS) == 1;

	if (by == HANDLER && mentions)
		return;
	if (how == SIG_SETMASK) {
		cp_self.witness = 1;
		cp_self.witness_blocked = wants;
		cp_held_set_blocked(mentions);
	} else {
		if (wants)
			cp_self.witness_blocked = how == SIG_BLOCK;
		if (mentions)
			cp_held_set_blocked(how == SIG_BLOCK);
	}
	deliver_held();
}

static int change(int how, const sigset_t *set, sigset_t *old)
{
	bool mentions = set && sigismember(set, SIGPROF) == 1;
	bool blocks = how == SIG_SETMASK || (how == SIG_BLOCK && mentions);
	enum blocker by = set && blocks ? blocker() : NOBODY;
	sigset_t other, before;
	uint64_t was;
	int err;

	if (set)
		other = part_of_kernel(how, set, by);
	err = CP_REAL(pthread_sigmask)(how, set ? &other : NULL, &before);
	if (err)
		return err;
	memcpy(&was, &before, sizeof(was));
	cp_held_see(was);
	if (old) {
		*old = before;
		show(old);
	}
	if (set)
		part_of_view(how, set, by);
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
	if (!cp_session_is_ours() && (cp_session_active() || !cp_held_blocked())) {
		/* From here on it is the program's alone; a vfork's child has its parent's. */
		if (!cp_session_active())
			cp_self.witness = 0;
		return CP_REAL(sigprocmask)(how, set, old);
	}
	err = change(how, set, old);
	if (err) {
		errno = err;
		return -1;
	}
	return 0;
}

/* The kernel has one pending where it has SIGPROF blocked: while a handler runs that says so. */
int cp_mask_pending(sigset_t *set)
{
	int err = CP_REAL(sigpending)(set);

	if (!err && sigismember(set, SIGPROF) == 1 && cp_session_is_ours() && !cp_send_is_pending())
		sigdelset(set, SIGPROF);
	if (!err && cp_held_blocked_now() && cp_held_any())
		sigaddset(set, SIGPROF);
	return err;
}

/* While MASK is in force for the one call, what it unblocks must end the call. SIGPROF really is
 * blocked until then, or what is held could come too early. */
int cp_mask_suspend(const sigset_t *mask)
{
	int result, saved;

	if (!cp_session_is_ours() || !cp_held_blocked_now() || sigismember(mask, SIGPROF) != 0)
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

/* Of TIMEOUT, since BEGAN. */
static struct timespec left_of(const struct timespec *timeout, uint64_t began)
{
	const uint64_t second = 1000000000u;
	uint64_t gone = cp_sys_clock_ns(CLOCK_MONOTONIC) - began;
	struct timespec left = *timeout;

	left.tv_sec -= (time_t)(gone / second);
	left.tv_nsec -= (long)(gone % second);
	if (left.tv_nsec < 0) {
		left.tv_nsec += (long)second;
		left.tv_sec--;
	}
	return left.tv_sec < 0 ? (struct timespec){ 0 } : left;
}

static bool is_now(const struct timespec *t)
{
	return t && !t->tv_sec && !t->tv_nsec;
}

/* As libc's call tells of it. */
static bool take_held(siginfo_t *si)
{
	if (!cp_held_any() || !cp_held_take(si))
		return false;
	if (si->si_code == SI_TKILL)
		si->si_code = SI_USER;
	return true;
}

/* What ends a call without the program's doing: a sample; a handler of ours; a signal that woke
 * this thread while another one, in which the program alone has SIGPROF blocked, was faster: it is
 * held, or about to be. Whether a handler of the program's, for one of ENDS, ran as well, maybe
 * between two calls, isn't known: where there is one, there is no other call. */
static int wait(const sigset_t *set, siginfo_t *si, const struct timespec *timeout, uint64_t ends)
{
	const uint64_t began = timeout ? cp_sys_clock_ns(CLOCK_MONOTONIC) : 0;
	const bool prof = sigismember(set, SIGPROF) == 1;
	const struct timespec *still = timeout;
	struct timespec left;
	int sig = 0;

	for (;;) {
		if (prof && take_held(si))
			return SIGPROF;
		if (sig && !is_now(timeout) && cp_signals_may_have_run(ends)) {
			errno = EINTR;
			return -1;
		}
		sig = CP_REAL(sigtimedwait)(set, si, still);
		if (sig < 0 ? errno != EINTR : sig != SIGPROF || !cp_send_take_sample(si))
			return sig;
		if (timeout) {
			left = left_of(timeout, began);
			still = &left;
		}
	}
}

int cp_mask_wait(const sigset_t *set, siginfo_t *si, const struct timespec *timeout)
{
	const bool prof = sigismember(set, SIGPROF) == 1;
	const uint64_t really = prof ? CP_SIGBIT(SIGPROF) : 0;
	uint64_t waited_for, before = 0, view;
	int sig, saved;
	siginfo_t own;

	if (!cp_session_is_ours() || (!prof && is_now(timeout)))
		return CP_REAL(sigtimedwait)(set, si, timeout);
	/* Really blocked meanwhile: a handler between our look at what is held and the
	 * wait would take the wake-up that belongs to the wait. */
	cp_sys_sigmask(SIG_BLOCK, &really, &before);
	cp_held_see(before);
	view = cp_held_blocked() ? before | CP_SIGBIT(SIGPROF) : before;
	memcpy(&waited_for, set, sizeof(waited_for));
	if (prof)
		cp_held_set_waiting(true);
	sig = wait(set, si ? si : &own, timeout, ~(view | waited_for));
	if (!prof)
		return sig;
	saved = errno;
	cp_held_set_waiting(false);
	if (!(before & CP_SIGBIT(SIGPROF)))
		cp_held_really_block(false);
	errno = saved;
	return sig;
}
