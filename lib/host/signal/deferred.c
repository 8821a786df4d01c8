/* SPDX-License-Identifier: BSD-3-Clause */
/* SIGPROFs that the program believes blocked; see host_signal.h. */
#include "host/signal/host_signal.h"

#include <string.h>

#include "base/start_data.h"
#include "base/sys.h"

enum { EMPTY, CHANGING, FULL };

static struct {
	uint32_t state;
	struct cp_deferred_signal signal;
} shared;

static void pack_info(struct cp_deferred_signal *h, const siginfo_t *si)
{
	h->code = si->si_code;
	/* Copies sender and value, or timer, overrun and value. */
	memcpy(h->words, &si->si_pid, sizeof(h->words));
}

static void unpack_info(siginfo_t *si, const struct cp_deferred_signal *h)
{
	memset(si, 0, sizeof(*si));
	si->si_signo = SIGPROF;
	si->si_code = h->code;
	memcpy(&si->si_pid, h->words, sizeof(h->words));
}

/* Send the wake-up to T. T's handler, or the loop of sigwait, then looks for deferred signals. */
static bool send_wakeup(const struct cp_thread *t)
{
	siginfo_t si;

	memset(&si, 0, sizeof(si));
	si.si_signo = SIGPROF;
	si.si_code = SI_TIMER;
	si.si_timerid = CP_DEFERRED_WAKEUP;
	si.si_value.sival_ptr = (void *)(uintptr_t)cp_sigprof_value(CP_MODES, t);
	return cp_sys4(SYS_rt_tgsigqueueinfo, cp_sys_getpid(), cp_load_relaxed(&t->tid), SIGPROF,
		       &si) == 0;
}

static bool wake(bool waiting)
{
	for (uint32_t i = 0; i < cp_thread_limit(); i++) {
		struct cp_thread *t = cp_thread_at(i);

		if (cp_load_acquire(&t->state) == CP_THREAD_LIVE && t->own_tls &&
		    (waiting ? cp_load_seqcst(&t->prof_waiting)
			     : !cp_load_seqcst(&t->prof_blocked)) &&
		    send_wakeup(t))
			return true;
	}
	return false;
}

/* Wake a waiting thread first: whether the kernel delivers the wake-up to the others at once is
 * unknown, because they may have SIGPROF blocked in the kernel. */
static void wake_taker(void)
{
	if (!wake(true))
		wake(false);
}

static void pass_on(void)
{
	if (cp_load_seqcst(&shared.state) == FULL)
		wake_taker();
}

/* Sequentially consistent with cp_deferred_keep: either it sees that this thread takes signals, or
 * this thread sees the signal that it kept. Likewise, either it sees that this thread no longer
 * takes signals, or this thread sees that it must wake another one. */
void cp_deferred_set_blocked(bool blocked)
{
	bool before = cp_self.prof_blocked;

	cp_self.prof_blocked = blocked;
	if (!cp_self.thread)
		return;
	cp_store_seqcst(&cp_self.thread->prof_blocked, blocked);
	if (blocked && !before)
		pass_on();
}

void cp_deferred_set_waiting(bool waiting)
{
	if (!cp_self.thread)
		return;
	cp_store_seqcst(&cp_self.thread->prof_waiting, waiting);
	if (!waiting)
		pass_on();
}

bool cp_deferred_wake_self(void)
{
	const struct cp_thread *t = cp_self.thread;

	/* A clone that shares its maker's TLS has its maker's record. */
	return t && cp_load_relaxed(&t->tid) == cp_sys_gettid() && send_wakeup(t);
}

void cp_deferred_keep_own(const siginfo_t *si)
{
	if (!cp_self.prof_pending)
		pack_info(&cp_self.prof, si);
	cp_self.prof_pending = 1;
}

void cp_deferred_merge(void)
{
	cp_self.prof_pending = 0;
}

void cp_deferred_keep(const siginfo_t *si)
{
	uint32_t empty = EMPTY;

	if (si->si_code == SI_TKILL) {
		cp_deferred_keep_own(si);
		return;
	}
	if (!cp_cas_acqrel(&shared.state, &empty, CHANGING))
		return;
	pack_info(&shared.signal, si);
	cp_store_seqcst(&shared.state, FULL);
	wake_taker();
}

bool cp_deferred_any(void)
{
	return cp_self.prof_pending || cp_load_seqcst(&shared.state) == FULL;
}

bool cp_deferred_take(siginfo_t *si)
{
	uint32_t full = FULL;

	if (cp_self.prof_pending) {
		cp_self.prof_pending = 0;
		unpack_info(si, &cp_self.prof);
		return true;
	}
	if (cp_load_seqcst(&shared.state) != FULL || !cp_cas_acqrel(&shared.state, &full, CHANGING))
		return false;
	unpack_info(si, &shared.signal);
	cp_store_release(&shared.state, EMPTY);
	return true;
}

static const uint64_t prof_bit = CP_SIGBIT(SIGPROF), marker_bit = CP_SIGBIT(CP_DEFERRED_MARKER);

uint32_t cp_deferred_on CP_START_DATA;

static uint64_t mask_now(void)
{
	uint64_t none = 0, now = 0;

	cp_sys_sigmask(SIG_BLOCK, &none, &now);
	return now;
}

uint32_t cp_deferred_came_blocked;

/* Was SIGPROF unblocked from outside, in a thread that had blocked it before the profiler came? */
static bool may_have_been_freed(void)
{
	return !cp_self.marker && cp_self.thread && cp_self.thread->came_blocked;
}

static void see_freed(uint64_t now)
{
	if ((now & (prof_bit | marker_bit)) != marker_bit || !may_have_been_freed())
		return;
	cp_self.marker = cp_self.marker_blocked = 1;
	cp_self.thread->came_blocked = false;
	cp_add_relaxed(&cp_deferred_came_blocked, -1);
}

void cp_deferred_see(uint64_t now)
{
	bool blocked = (now & marker_bit) != 0;

	see_freed(now);
	if (cp_self.marker && !(now & prof_bit) && blocked != cp_self.prof_blocked)
		cp_deferred_set_blocked(blocked);
}

bool cp_deferred_blocked_now(void)
{
	if (cp_self.marker || may_have_been_freed())
		cp_deferred_see(mask_now());
	return cp_deferred_blocked();
}

/* Block those of BITS that are in TO, and unblock the others. */
static void set_bits(uint64_t bits, uint64_t to)
{
	uint64_t on = bits & to, off = bits & ~to;

	if (on)
		cp_sys_sigmask(SIG_BLOCK, &on, NULL);
	if (off)
		cp_sys_sigmask(SIG_UNBLOCK, &off, NULL);
}

/* Return the bits in which the program's view of the mask differs from the kernel's mask. */
static uint64_t differing_bits(void)
{
	return (cp_deferred_blocked() ? prof_bit : 0) | (cp_self.marker ? marker_bit : 0);
}

bool cp_deferred_apply_mask(void)
{
	if (!cp_deferred_blocked_now() && !cp_self.marker_blocked)
		return false;
	set_bits(differing_bits(), prof_bit | (cp_self.marker_blocked ? marker_bit : 0));
	return true;
}

void cp_deferred_revert_mask(void)
{
	if (cp_deferred_blocked() || cp_self.marker_blocked)
		set_bits(differing_bits(), cp_deferred_blocked() ? marker_bit : 0);
}

void cp_deferred_really_block(bool block)
{
	cp_sys_sigmask(block ? SIG_BLOCK : SIG_UNBLOCK, &prof_bit, NULL);
}

void cp_deferred_import_mask(void)
{
	uint64_t now, to;

	if (!cp_load_relaxed(&cp_deferred_on))
		return;
	now = mask_now();
	if (!cp_self.marker)
		cp_self.marker_blocked = (now & marker_bit) != 0;
	cp_self.marker = 1;
	if (now & prof_bit)
		cp_deferred_set_blocked(true);
	to = cp_deferred_blocked() ? marker_bit : 0;
	if ((now & (prof_bit | marker_bit)) != to)
		set_bits(prof_bit | marker_bit, to);
}

void cp_deferred_leave_to_child(void)
{
	if (cp_self.child != cp_sys_getpid() && cp_deferred_apply_mask())
		cp_self.child = cp_sys_getpid();
}

void cp_deferred_drop(void)
{
	uint32_t full = FULL;

	cp_self.prof_pending = 0;
	cp_cas_acqrel(&shared.state, &full, EMPTY);
}

void cp_deferred_fork_child(void)
{
	cp_self.prof_pending = 0;
	CP_FORK_CLEAR(&shared.state);
	CP_FORK_CLEAR(&cp_deferred_came_blocked);
}
