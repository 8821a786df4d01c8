/* SPDX-License-Identifier: BSD-3-Clause */
/* The program's view of its masks; see host.h. */
#include "host/host.h"

#include <errno.h>
#include <string.h>

#include "host/real.h"

/* Deliver a SIGPROF that was deferred while it was blocked. */
static void deliver_held(void)
{
	if (!cp_deferred_blocked() && cp_deferred_any())
		cp_send_self_held();
}

/* Why SIGPROF is blocked in the kernel although the program does not believe it blocked. */
enum blocker {
	BLOCKED_BY_NONE,
	/* The profiler blocked it, in a handler on an alternate stack (host.h). */
	BLOCKED_BY_PROFILER,
	/* The kernel gave the thread the mask: the sa_mask of a handler, which ends with the
	 * handler; or the mask of a thread that blocked SIGPROF before the start. */
	BLOCKED_BY_KERNEL,
};

/* NOW: the kernel's mask. */
static enum blocker blocker_in(uint64_t now)
{
	cp_deferred_see(now);
	if (!(now & CP_SIGBIT(SIGPROF)) || cp_deferred_blocked())
		return BLOCKED_BY_NONE;
	return cp_handler_mask_any_prof() && cp_handler_stack_is_alternate() ? BLOCKED_BY_PROFILER
									     : BLOCKED_BY_KERNEL;
}

static enum blocker blocker(void)
{
	const uint64_t none = 0;
	uint64_t now = 0;

	cp_sys_sigmask(SIG_BLOCK, &none, &now);
	return blocker_in(now);
}

/* In this file a mask is the kernel's 8 bytes. libc's sets are longer; neither the kernel nor libc
 * touches the rest of the program's set. */
static uint64_t word_of(const sigset_t *set)
{
	uint64_t mask;

	memcpy(&mask, set, sizeof(mask));
	return mask;
}

static uint64_t with(uint64_t mask, uint64_t bit, bool in)
{
	return in ? mask | bit : mask & ~bit;
}

#define PROF CP_SIGBIT(SIGPROF)
#define MARKER CP_SIGBIT(CP_DEFERRED_MARKER)

/* Write the program's view of the kernel's mask WAS to OLD. SIGPROF stays in OLD where a handler's
 * mask blocks it in the kernel. */
static void show_mask(sigset_t *old, uint64_t was)
{
	if (cp_self.marker && !(was & PROF))
		was = with(was, MARKER, cp_self.marker_blocked);
	if (cp_deferred_blocked())
		was |= PROF;
	else if ((was & PROF) && cp_handler_mask_any_prof() && cp_handler_stack_is_alternate())
		was &= ~PROF;
	memcpy(old, &was, sizeof(was));
}

/* Return the part of a change by SET that is made in the kernel. */
static uint64_t part_of_kernel(int how, uint64_t set, enum blocker by)
{
	bool mentions = set & PROF;
	uint64_t other = set;

	if (how == SIG_SETMASK && by == BLOCKED_BY_PROFILER)
		other |= PROF;
	else if (how != SIG_UNBLOCK && by != BLOCKED_BY_KERNEL)
		other &= ~PROF;
	if ((cp_self.marker || how == SIG_SETMASK) && !(by == BLOCKED_BY_KERNEL && mentions))
		other = with(other, MARKER, mentions);
	return other;
}

/* Apply the view's part of a change by SET. A SIGPROF that the kernel itself keeps blocked for a
 * handler is not added to the view, which would outlast the handler. */
static void part_of_view(int how, uint64_t set, enum blocker by)
{
	bool mentions = set & PROF, wants = set & MARKER;

	if (by == BLOCKED_BY_KERNEL && mentions)
		return;
	if (how == SIG_SETMASK) {
		cp_self.marker = 1;
		cp_self.marker_blocked = wants;
		cp_deferred_set_blocked(mentions);
	} else {
		if (wants)
			cp_self.marker_blocked = how == SIG_BLOCK;
		if (mentions)
			cp_deferred_set_blocked(how == SIG_BLOCK);
	}
	deliver_held();
}

/* Must it be known before a change by SET who blocks SIGPROF? Only a mask that replaces the
 * kernel's could unblock it. */
static bool asks_first(int how, uint64_t set)
{
	return how == SIG_SETMASK &&
	       (set & PROF ? cp_handler_mask_any_hides() : cp_handler_mask_any_prof());
}

/* Return who blocked SIGPROF before SET was added to the kernel's mask. WAS is the mask before. */
static enum blocker blocker_before(uint64_t set, uint64_t was)
{
	const uint64_t marker = MARKER;
	enum blocker by = blocker_in(was);

	/* The view doesn't change, so the marker, which was blocked with SET, has nothing to say.
	 */
	if (by == BLOCKED_BY_KERNEL && !((set | was) & MARKER))
		cp_sys_sigmask(SIG_UNBLOCK, &marker, NULL);
	return by;
}

static int change_mask(int how, const sigset_t *set, sigset_t *old)
{
	const uint64_t wanted = set ? word_of(set) : 0;
	sigset_t other, room, *before = old ? old : &room;
	enum blocker by;
	uint64_t part;
	int err;

	if (!cp_self.marker)
		cp_deferred_blocked_now();
	by = set && asks_first(how, wanted) ? blocker() : BLOCKED_BY_NONE;
	part = part_of_kernel(how, wanted, by);
	memcpy(&other, &part, sizeof(part));
	/* The kernel writes to OLD first, because OLD may be a bad address: then it changes the
	 * mask and returns EFAULT. */
	err = CP_REAL(pthread_sigmask)(how, set ? &other : NULL, before);
	if (err && err != EFAULT)
		return err;
	if (!err) {
		const uint64_t was = word_of(before);

		cp_deferred_see(was);
		if (old)
			show_mask(old, was);
		if (set && how == SIG_BLOCK && (wanted & PROF))
			by = blocker_before(wanted, was);
	} else if (set && how == SIG_BLOCK && (wanted & PROF)) {
		by = blocker();
	}
	if (set)
		part_of_view(how, wanted, by);
	return err;
}

#define VIEWED (PROF | MARKER)

/* Would the kernel make a change by SET (or NULL) unchanged, with no change of the view? */
static bool is_plain(int how, const sigset_t *set)
{
	return !(set && ((word_of(set) & VIEWED) || asks_first(how, 0))) && cp_self.marker &&
	       !cp_self.marker_blocked && !cp_deferred_blocked() && !cp_deferred_any();
}

/* Make a plain change, which is the same in the program and in the child of a vfork: nothing need
 * tell the two apart, which would take a system call more. Returns false, with the mask as it was,
 * if the mask or the view turned out to be otherwise: after a siglongjmp, or a handler that ran
 * meanwhile. */
static bool change_plain(int how, const sigset_t *set, sigset_t *old, int *err)
{
	sigset_t room, *before = old ? old : &room;

	*err = CP_REAL(pthread_sigmask)(how, set, before);
	if (*err || (!(word_of(before) & VIEWED) && !cp_deferred_blocked()))
		return true;
	CP_REAL(pthread_sigmask)(SIG_SETMASK, before, NULL);
	return false;
}

static int result_of(int err)
{
	if (!err)
		return 0;
	errno = err;
	return -1;
}

/* Does the program's view of the mask differ from the kernel's mask? */
static bool is_viewed(void)
{
	return cp_profiled_active() && cp_load_relaxed(&cp_deferred_on);
}

#define STACK_NEAR 65536u
#define BAD_HOW (-1)

/* Returns the error with which libc refuses a change by SET before anything reads SET; 0 = none. A
 * set near above the stack pointer, where most are, can be read. For any other the kernel is asked:
 * it reads the set before it finds that HOW is bad. */
static int refused(int how, const sigset_t *set)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	if (CP_LIBC_READS_MASKS || !set)
		return 0;
	if (how != SIG_BLOCK && how != SIG_UNBLOCK && how != SIG_SETMASK)
		return EINVAL;
	if ((uintptr_t)set - here < STACK_NEAR)
		return 0;
	return cp_sys4(SYS_rt_sigprocmask, BAD_HOW, set, NULL, sizeof(uint64_t)) == -EFAULT ? EFAULT
											    : 0;
}

/* The change is libc's: the mask is the program's alone. */
#define LEFT (-1)

/* Change the mask as the program sees it. Returns 0, an error number, or LEFT. Inlined: the
 * kernel's calls displace those of the program from the processor's memory of callers, so that each
 * return after a system call costs 10 ns. */
static inline __attribute__((always_inline)) int change_viewed(int how, const sigset_t *set,
							       sigset_t *old)
{
	bool active = is_viewed(), ours;
	uint64_t wanted;
	sigset_t copy;
	int err;

	if (cp_self.in_capture)
		return LEFT;
	err = refused(how, set);
	if (err)
		return err;
	/* The old mask would overwrite the new one before the view reads it. */
	if (set && set == old) {
		wanted = word_of(set);
		memcpy(&copy, &wanted, sizeof(wanted));
		set = &copy;
	}
	if (active && is_plain(how, set) && change_plain(how, set, old, &err))
		return err;
	ours = active && cp_profiled_is_this_thread();
	if (active && !ours)
		cp_deferred_leave_to_child();
	/* A thread that believes SIGPROF blocked must be able to unblock it after a stop. */
	if (!ours && (active || !cp_deferred_blocked())) {
		/* The mask is now the program's alone; a vfork's child has its parent's. */
		if (!active)
			cp_self.marker = 0;
		return LEFT;
	}
	return change_mask(how, set, old);
}

int cp_mask_view_change(int how, const sigset_t *set, sigset_t *old)
{
	int err = change_viewed(how, set, old);

	return err == LEFT ? CP_REAL(sigprocmask)(how, set, old) : result_of(err);
}

int cp_mask_view_change_thread(int how, const sigset_t *set, sigset_t *old)
{
	int err = change_viewed(how, set, old);

	return err == LEFT ? CP_REAL(pthread_sigmask)(how, set, old) : err;
}

/* The kernel may have a SIGPROF pending while a handler blocks SIGPROF in the kernel. */
int cp_mask_view_pending(sigset_t *set)
{
	int err = CP_REAL(sigpending)(set);

	if (!err && sigismember(set, SIGPROF) == 1 && is_viewed() && cp_profiled_is_this() &&
	    !cp_send_self_is_pending())
		sigdelset(set, SIGPROF);
	if (!err && cp_deferred_blocked_now() && cp_deferred_any())
		sigaddset(set, SIGPROF);
	return err;
}

/* While MASK is in force for the one call, a deferred signal that MASK unblocks must end the call.
 * SIGPROF is really blocked until the call; otherwise the deferred signal could be delivered too
 * early. */
int cp_mask_view_suspend(const sigset_t *mask)
{
	int result, saved;
	uint64_t wanted;

	if (!cp_profiled_is_ours() || !cp_deferred_blocked_now() ||
	    !cp_sys_copy_argument(&wanted, mask, sizeof(wanted)) || (wanted & PROF))
		return CP_REAL(sigsuspend)(mask);
	cp_deferred_really_block(true);
	cp_deferred_set_blocked(false);
	deliver_held();
	result = CP_REAL(sigsuspend)(mask);
	saved = errno;
	cp_deferred_set_blocked(true);
	cp_deferred_really_block(false);
	errno = saved;
	return result;
}

/* Return the time left of TIMEOUT, which began at BEGAN. */
static struct timespec left_of(const struct timespec *timeout, uint64_t began)
{
	const uint64_t second = 1000000000u;
	uint64_t elapsed = cp_sys_clock_ns(CLOCK_MONOTONIC) - began;
	struct timespec left = *timeout;

	left.tv_sec -= (time_t)(elapsed / second);
	left.tv_nsec -= (long)(elapsed % second);
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

/* Take a deferred signal, with the siginfo that libc's call would give. */
static bool take_held(siginfo_t *si)
{
	if (!cp_deferred_take(si))
		return false;
	if (si->si_code == SI_TKILL && CP_LIBC_TKILL_IS_USER)
		si->si_code = SI_USER;
	return true;
}

/* Take a pending signal of SET with a lower number than SIGPROF: the kernel gives that first.
 * Returns its number; 0 or a negative errno if there is none. */
static int take_lower(const sigset_t *set, siginfo_t *si)
{
	const uint64_t lower = word_of(set) & (PROF - 1);
	const struct timespec now = { 0 };
	sigset_t some;

	memset(&some, 0, sizeof(some));
	memcpy(&some, &lower, sizeof(lower));
	return CP_REAL(sigtimedwait)(&some, si, &now);
}

/* Wait for SET, repeating calls that end for a reason other than the program's: a sample; a handler
 * of the profiler; a signal that woke this thread while another thread, in which only the program
 * believes SIGPROF blocked, was faster. That signal is deferred, or is about to be. Whether a
 * handler of the program for one of ENDS ran as well, maybe between two calls, is unknown. So where
 * there is such a handler, the call is not repeated. */
static int wait(const sigset_t *set, bool prof, siginfo_t *si, const struct timespec *timeout,
		uint64_t ends)
{
	const uint64_t began = timeout ? cp_sys_clock_ns(CLOCK_MONOTONIC) : 0;
	const struct timespec *still = timeout;
	struct timespec left;
	int sig = 0;

	for (;;) {
		if (prof && cp_deferred_any()) {
			int first = take_lower(set, si);

			if (first > 0)
				return first;
			if (take_held(si))
				return SIGPROF;
		}
		if (sig && !is_now(timeout) && cp_signals_may_have_run(ends) &&
		    !CP_LIBC_WAITS_AGAIN) {
			errno = EINTR;
			return -1;
		}
		sig = CP_LIBC_SIGTIMEDWAIT(set, si, still);
		if (sig < 0 ? errno != EINTR : sig != SIGPROF || !cp_send_self_take_sample(si))
			return sig;
		if (timeout) {
			left = left_of(timeout, began);
			still = &left;
		}
	}
}

int cp_mask_view_wait(const sigset_t *set, siginfo_t *si, const struct timespec *timeout)
{
	uint64_t waited_for, really, before = 0, view;
	struct timespec limit;
	int sig, saved;
	siginfo_t own;
	bool prof;

	if (!cp_profiled_is_ours() || !cp_sys_copy_argument(&waited_for, set, sizeof(waited_for)) ||
	    (timeout && !cp_sys_copy_argument(&limit, timeout, sizeof(limit))))
		return CP_REAL(sigtimedwait)(set, si, timeout);
	really = is_viewed() ? waited_for & PROF : 0;
	prof = really != 0;
	if (!prof && timeout && is_now(&limit))
		return CP_REAL(sigtimedwait)(set, si, timeout);
	/* Block SIGPROF in the kernel meanwhile: a handler between the check for a deferred signal
	 * and the wait would take the wake-up that the wait needs. */
	cp_sys_sigmask(SIG_BLOCK, &really, &before);
	cp_deferred_see(before);
	view = cp_deferred_blocked() ? before | CP_SIGBIT(SIGPROF) : before;
	if (prof)
		cp_deferred_set_waiting(true);
	sig = wait(set, prof, &own, timeout ? &limit : NULL, ~(view | waited_for));
	/* As in the kernel, the signal is taken even if SI can't be written. */
	if (sig > 0 && si && !cp_sys_copy_argument(si, &own, sizeof(own))) {
		errno = EFAULT;
		sig = -1;
	}
	if (!prof)
		return sig;
	saved = errno;
	cp_deferred_set_waiting(false);
	if (!(before & CP_SIGBIT(SIGPROF)))
		cp_deferred_really_block(false);
	errno = saved;
	return sig;
}
