/* SIGPROFs that the program believes blocked; see held.h. */
#include "sigsafe/held.h"

#include <string.h>

#include "sigsafe/atomic.h"
#include "sigsafe/cpu_event.h"
#include "sigsafe/sys.h"

enum { EMPTY, CHANGING, FULL };

static struct {
	uint32_t state;
	struct cp_held_signal signal;
} shared;

static void pack(struct cp_held_signal *h, const siginfo_t *si)
{
	h->code = si->si_code;
	/* Sender and value, or timer, overrun and value. */
	memcpy(h->words, &si->si_pid, sizeof(h->words));
}

static void unpack(siginfo_t *si, const struct cp_held_signal *h)
{
	memset(si, 0, sizeof(*si));
	si->si_signo = SIGPROF;
	si->si_code = h->code;
	memcpy(&si->si_pid, h->words, sizeof(h->words));
}

/* T's handler, or sigwait's loop, looks here. */
static bool ring(const struct cp_thread *t)
{
	siginfo_t si;

	memset(&si, 0, sizeof(si));
	si.si_signo = SIGPROF;
	si.si_code = SI_TIMER;
	si.si_timerid = CP_HELD_BELL;
	si.si_value.sival_ptr = (void *)(uintptr_t)(CP_CPU_TAG | t->index);
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
		    ring(t))
			return true;
	}
	return false;
}

/* First who waits: what else the kernel has blocked in the others isn't known. */
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

/* Sequentially consistent with cp_held_keep: either it sees that we take signals, or we see what it
 * has kept; and either it sees that we don't any more, or we see that others must be woken for it.
 */
void cp_held_set_blocked(bool blocked)
{
	bool before = cp_self.prof_blocked;

	cp_self.prof_blocked = blocked;
	if (!cp_self.thread)
		return;
	cp_store_seqcst(&cp_self.thread->prof_blocked, blocked);
	if (blocked && !before)
		pass_on();
}

void cp_held_set_waiting(bool waiting)
{
	if (!cp_self.thread)
		return;
	cp_store_seqcst(&cp_self.thread->prof_waiting, waiting);
	if (!waiting)
		pass_on();
}

bool cp_held_ring(void)
{
	const struct cp_thread *t = cp_self.thread;

	/* A clone that shares its maker's TLS has that one's record. */
	return t && cp_load_relaxed(&t->tid) == cp_sys_gettid() && ring(t);
}

void cp_held_keep_own(const siginfo_t *si)
{
	if (!cp_self.prof_pending)
		pack(&cp_self.prof, si);
	cp_self.prof_pending = 1;
}

void cp_held_merge(void)
{
	cp_self.prof_pending = 0;
}

void cp_held_keep(const siginfo_t *si)
{
	uint32_t empty = EMPTY;

	if (si->si_code == SI_TKILL) {
		cp_held_keep_own(si);
		return;
	}
	if (!cp_cas_acqrel(&shared.state, &empty, CHANGING))
		return;
	pack(&shared.signal, si);
	cp_store_seqcst(&shared.state, FULL);
	wake_taker();
}

bool cp_held_any(void)
{
	return cp_self.prof_pending || cp_load_seqcst(&shared.state) == FULL;
}

bool cp_held_take(siginfo_t *si)
{
	uint32_t full = FULL;

	if (cp_self.prof_pending) {
		cp_self.prof_pending = 0;
		unpack(si, &cp_self.prof);
		return true;
	}
	if (cp_load_seqcst(&shared.state) != FULL || !cp_cas_acqrel(&shared.state, &full, CHANGING))
		return false;
	unpack(si, &shared.signal);
	cp_store_release(&shared.state, EMPTY);
	return true;
}

static const uint64_t prof_bit = CP_SIGBIT(SIGPROF), witness_bit = CP_SIGBIT(CP_HELD_WITNESS);

uint32_t cp_held_on;

static uint64_t mask_now(void)
{
	uint64_t none = 0, now = 0;

	cp_sys_sigmask(SIG_BLOCK, &none, &now);
	return now;
}

void cp_held_see(uint64_t now)
{
	bool blocked = (now & witness_bit) != 0;

	if (cp_self.witness && !(now & prof_bit) && blocked != cp_self.prof_blocked)
		cp_held_set_blocked(blocked);
}

bool cp_held_blocked_now(void)
{
	if (cp_self.witness)
		cp_held_see(mask_now());
	return cp_held_blocked();
}

/* Of BITS those in TO are blocked, the others are not. */
static void set_bits(uint64_t bits, uint64_t to)
{
	uint64_t on = bits & to, off = bits & ~to;

	if (on)
		cp_sys_sigmask(SIG_BLOCK, &on, NULL);
	if (off)
		cp_sys_sigmask(SIG_UNBLOCK, &off, NULL);
}

/* What a revealed mask differs in from ours. */
static uint64_t concealed_bits(void)
{
	return (cp_held_blocked() ? prof_bit : 0) | (cp_self.witness ? witness_bit : 0);
}

bool cp_held_reveal(void)
{
	if (!cp_held_blocked_now() && !cp_self.witness_blocked)
		return false;
	set_bits(concealed_bits(), prof_bit | (cp_self.witness_blocked ? witness_bit : 0));
	return true;
}

void cp_held_conceal(void)
{
	if (cp_held_blocked() || cp_self.witness_blocked)
		set_bits(concealed_bits(), cp_held_blocked() ? witness_bit : 0);
}

void cp_held_really_block(bool block)
{
	cp_sys_sigmask(block ? SIG_BLOCK : SIG_UNBLOCK, &prof_bit, NULL);
}

void cp_held_adopt(void)
{
	uint64_t now, to;

	if (!cp_load_relaxed(&cp_held_on))
		return;
	now = mask_now();
	if (!cp_self.witness)
		cp_self.witness_blocked = (now & witness_bit) != 0;
	cp_self.witness = 1;
	if (now & prof_bit)
		cp_held_set_blocked(true);
	to = cp_held_blocked() ? witness_bit : 0;
	if ((now & (prof_bit | witness_bit)) != to)
		set_bits(prof_bit | witness_bit, to);
}

void cp_held_leave_to_child(void)
{
	if (cp_self.child != cp_sys_getpid() && cp_held_reveal())
		cp_self.child = cp_sys_getpid();
}

void cp_held_fork_child(void)
{
	cp_self.prof_pending = 0;
	cp_store_relaxed(&shared.state, EMPTY);
}
