/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of lib/host/signal/, by the file that implements them. */
#ifndef CP_HOST_SIGNAL_HOST_SIGNAL_H
#define CP_HOST_SIGNAL_HOST_SIGNAL_H

#include <poll.h>
#include <signal.h>
#include <ucontext.h>

#include "sample/sample.h"

/* altstack.c
 *
 * Room for samples while a handler of the program runs on its alternate stack.
 *
 * The program's alternate stack may have room for one signal's frame and not for two. A SIGPROF
 * that arrives while the thread is on that stack puts its frame there. Blocking SIGPROF meanwhile
 * is not enough: code that leaves the handler by longjmp or by an exception would keep SIGPROF
 * blocked. So while such a handler runs, the kernel has another, larger alternate stack, which the
 * profiler provides. The handler stays on the program's stack; signals that arrive meanwhile put
 * their frames on the profiler's stack.
 *
 * The profiler needs no notice of the handler's end. When the handler returns, the kernel restores
 * the program's stack from the handler's frame. When the handler is left by a jump, the next sample
 * finds the thread on neither of the two stacks and restores the program's. Until then other
 * handlers may run on the profiler's stack, which has room for everything that the program's stack
 * has room for. So this is done only while signals take samples; otherwise the program's stack
 * would never be restored.
 *
 * The same mechanism covers a thread that unmaps its alternate stack, or makes it read-only, and
 * leaves it registered. Without a signal that is harmless, but a sample would make the kernel kill
 * the process. Such a thread gets the profiler's stack until the program's is writable again or the
 * thread sets another.
 */

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1U << 31)
#endif

struct cp_thread;

/* Make room for samples if the frame is on a small alternate stack. Call when a handler of the
 * program begins, with all signals blocked; CONTEXT is the handler's frame. Changes *NOW to the
 * profiler's stack if the kernel gets that one. Returns false if there is no room. */
bool cp_altstack_begin(const ucontext_t *context, stack_t *now);

/* Put the program's stack back if the thread has left it. Call in the profiler's handlers; UC is
 * the kernel's frame. T is the calling thread's record. */
void cp_altstack_see(const struct cp_thread *t, ucontext_t *uc);
/* The same if the record is not known. */
void cp_altstack_see_own(ucontext_t *uc);

/* An alternate stack; without one, SIZE is 0. */
struct cp_altstack {
	uintptr_t low;
	size_t size;
	bool disarms; /* SS_AUTODISARM: the thread is never on it, as the kernel sees it */
};

/* Return the alternate stack of the program that was in force at UC, the kernel's frame. Call in
 * the thread of UC. */
struct cp_altstack cp_altstack_of(const ucontext_t *uc);

/* Return true if a thread whose stack pointer is SP is on S, as the kernel sees it. */
static inline bool cp_altstack_holds(const struct cp_altstack *s, uint64_t sp)
{
	return !s->disarms && sp > s->low && sp - s->low <= s->size;
}

/* sigaltstack as the program sees it, without the profiler's stack. Returns the kernel's result. */
long cp_altstack_change(const stack_t *ss, stack_t *old);

/* The range that contains all alternate stacks that the program has set so far. */
struct cp_altstack_bounds {
	uint64_t low, high;
};
extern struct cp_altstack_bounds cp_altstack_bounds;

/* Extend the range by SS, which the kernel has accepted. */
void cp_altstack_note(const stack_t *ss);

static inline bool cp_altstack_may_be_at(const void *at, size_t size)
{
	return (uintptr_t)at < cp_load_relaxed(&cp_altstack_bounds.high) &&
	       (uintptr_t)at + size > cp_load_relaxed(&cp_altstack_bounds.low);
}

/* Call before the calling thread makes SIZE bytes at AT unwritable. */
void cp_altstack_invalidate(const void *at, size_t size);
/* Call after the calling thread made SIZE bytes at AT writable. */
void cp_altstack_revalidate(const void *at, size_t size);

/* clang-format off */
/* deferred.c
 *
 * The program's view of the SIGPROF mask bit, and the signals that are deferred because of it.
 *
 * In the kernel SIGPROF is unblocked in every thread; otherwise a thread that blocks all signals
 * would never be sampled. A SIGPROF of the program that reaches a thread in which the program
 * believes it blocked is deferred here, as the kernel would keep it pending. It is deferred for
 * that thread (pthread_kill), or for the first thread that unblocks it or waits for it (kill,
 * sigqueue, the program's timers). As with any standard signal, one is kept and further ones are
 * dropped.
 *
 * Masks are also restored without a call that the profiler sees: by siglongjmp, setcontext and
 * swapcontext, and when a handler ends. So the kernel's mask carries the program's view in the bit
 * of a spare signal, the marker. The marker is a signal that nobody sends; it is blocked where
 * the program believes SIGPROF blocked. Where the mask and the recorded view differ, the mask is
 * right.
 *
 * A thread that blocked all signals before the profiler came would stay unsampled, because only the
 * thread itself can unblock one. "cprof attach" does it for the thread from outside, while a tracer
 * has it stopped: the kernel's mask is then as above, and the thread takes that for its view.
 *
 * Signals that a thread sends to itself are kept here, too, blocked or not (lib/host/host.h).
 *
 * | state           | written by                     | read by                        |
 * |-----------------|--------------------------------|--------------------------------|
 * | cp_self         | its thread, its handler        | the same                       |
 * | cp_thread       | its thread                     | a handler looking for a taker  |
 * | the shared slot | a handler; the taker           | any                            |
 */
/* clang-format on */

/* Return true if the calling thread believes SIGPROF blocked. */
static inline bool cp_deferred_blocked(void)
{
	return cp_self.prof_blocked;
}

/* Set whether the calling thread believes SIGPROF blocked. If it does from now on, wakes another
 * thread for a deferred signal. */
void cp_deferred_set_blocked(bool blocked);

/* The marker, the spare signal that is described above. The processor that SIGSTKFLT is named
 * after is gone, so nobody sends SIGSTKFLT. */
#define CP_DEFERRED_MARKER SIGSTKFLT
/* Update the program's view from NOW, the mask that the calling thread has in the kernel, or will
 * have when its handler ends. The view stays where SIGPROF really is blocked, by a handler's mask.
 */
void cp_deferred_see(uint64_t now);
/* Update the view from the current kernel mask, and return cp_deferred_blocked(). */
bool cp_deferred_blocked_now(void);

/* Set whether the calling thread is in sigwait, where it takes a deferred signal although it
 * believes SIGPROF blocked. */
void cp_deferred_set_waiting(bool waiting);

/* Defer SI, which the calling thread believes blocked, and wake a thread that takes it. Handler. */
void cp_deferred_keep(const siginfo_t *si);

/* Keep SI, which the calling thread sends to itself, for that thread alone. All signals are
 * blocked. */
void cp_deferred_keep_own(const siginfo_t *si);
/* Return true if a signal is kept for the calling thread alone. */
static inline bool cp_deferred_is_own_there(void)
{
	return cp_self.prof_pending;
}
/* Drop the signal kept for the calling thread: another signal is about to be delivered to the
 * thread, and both merge into that one. */
void cp_deferred_merge(void);

/* The wake-up signal: a SIGPROF that the profiler sends, with a timer id that no timer has. The
 * handler then looks for deferred signals. If another SIGPROF is pending for the thread, the kernel
 * drops the wake-up; the handler of the pending one looks instead. */
#define CP_DEFERRED_WAKEUP (CP_NO_TIMER - 1)
/* Send the wake-up to the calling thread. Returns false if the thread has no record of its own or
 * the signal can't be sent. */
bool cp_deferred_wake_self(void);

/* Return true if a signal is kept that the calling thread would take. */
bool cp_deferred_any(void);
/* Take out the kept signal. Returns false if there is none. */
bool cp_deferred_take(siginfo_t *si);

/* Make the calling thread's kernel mask, inherited or given at its creation, the program's view,
 * and make SIGPROF deliverable. Does nothing until cp_deferred_on is set, when SIGPROF becomes
 * the profiler's: cp_signals_claim_prof. */
extern uint32_t cp_deferred_on;
void cp_deferred_import_mask(void);
/* Threads that have come_blocked, and still block SIGPROF as far as they have told. */
extern uint32_t cp_deferred_came_blocked;
/* Call in the child of a vfork, which shares its parent's memory but has its own mask in the
 * kernel. That mask becomes what the parent believes, and the child goes on without the profiler.
 */
void cp_deferred_leave_to_child(void);
/* Block or unblock SIGPROF in the kernel, without changing the program's view. */
void cp_deferred_really_block(bool block);
/* Call before creating a thread or exec: it puts the mask that the program believes in into the
 * kernel, because the mask is inherited. Returns true if the kernel's mask changed; then call
 * cp_deferred_revert_mask() afterwards. */
bool cp_deferred_apply_mask(void);
void cp_deferred_revert_mask(void);

/* Drop the signals kept for the calling thread and for all: the program ignores SIGPROF from now
 * on. */
void cp_deferred_drop(void);
/* Drop all deferred signals in a fork child, which has no pending signals. */
void cp_deferred_fork_child(void);

/* disposition.c
 *
 * The program's view of the signals that the profiler handles for it.
 *
 * For SIGPROF the kernel always has the profiler's handler while a mode runs. For a signal whose
 * default action ends the process, the kernel has the profiler's handler only while the program's
 * own disposition is the default. This table is the program's view. The interposed sigaction family
 * reads and writes it, and a signal of the program is delivered from it. A slot is written under a
 * lock with all signals blocked. The handler reads a slot with a sequence check and takes no lock;
 * it reads again while another thread writes.
 */

/* A disposition in libc's form, reduced to what a handler call needs. */
struct cp_disposition {
	union {
		void (*handler)(int);
		void (*action)(int, siginfo_t *, void *);
	};
	uint64_t mask; /* kernel form */
	int flags;     /* SA_* flags */
};

/* Read or write the program's view of SIG (1 to 64). Async-signal-safe. */
void cp_disposition_get(int sig, struct cp_disposition *d);
void cp_disposition_set(int sig, const struct cp_disposition *d);

/* Read the program's view of SIG for the delivery of a signal. A handler for one call
 * (SA_RESETHAND) is replaced by the default in the table, as the kernel does it. Called in the
 * profiler's handler, with all signals blocked. */
void cp_disposition_take(int sig, struct cp_disposition *d);

/* Repair the table in a fork child: a write by another thread will never end. */
void cp_disposition_fork_child(void);

/* handler_call.c
 *
 * Calls a handler of the program out of a handler of the profiler, as the kernel would have called
 * it: on the same stack, at the same address, with the same mask and the same arguments, and
 * without a frame of the profiler between the handler and the interrupted code.
 *
 * The kernel has the profiler's handler, and the two may ask for different stacks: SIGPROF's
 * handler of the profiler uses alternate stacks (SA_ONSTACK), the program's may not. There are two
 * ways:
 *
 * - The kernel's frame is where the program's handler wants it. The profiler's handler ends with a
 *   tail call of the program's.
 * - Otherwise the frame is copied to where the kernel would have written it, and the original is
 *   changed so that the return from the profiler's handler calls the program's. That handler
 * returns by the copy.
 *
 * Async-signal-safe; for handlers that run with all signals blocked.
 */

typedef void (*cp_handler_function)(int, siginfo_t *, void *);

/* Begin the call of D's handler, which is neither default nor ignored, for SIG. UC is the frame of
 * the profiler's handler, and RESTORER that handler's return address. Returns the function that the
 * profiler's handler must tail-call with its own arguments. If SAMPLES come, makes room
 * for them on a small alternate stack, or blocks SIGPROF where there is none. */
cp_handler_function cp_handler_call(int sig, ucontext_t *uc, const struct cp_disposition *d,
				    const void *restorer, bool samples);

/* Not 0 after SIGPROF was blocked in a handler that had no room for samples. */
extern uint32_t cp_handler_call_blocks_prof;

/* Does nothing. For handlers that must tail-call something. */
void cp_handler_call_nothing(int sig, siginfo_t *si, void *uc);

/* The values of the profiler's own SIGPROFs. */

/* The value of one of the profiler's timers: this tag, the timer's mode, and the index of the
 * thread's record. So the handler needs no TLS. */
#define CP_SIGPROF_TAG UINT64_C(0x6370726600000000) /* "cprf" */
#define CP_SIGPROF_TAG_MASK UINT64_C(0xffffffff00000000)
#define CP_SIGPROF_MODE_SHIFT 24
#define CP_SIGPROF_INDEX_MASK ((UINT64_C(1) << CP_SIGPROF_MODE_SHIFT) - 1)

/* Return the value for a timer of MODE in thread T. */
static inline uint64_t cp_sigprof_value(enum cprof_mode mode, const struct cp_thread *t)
{
	return CP_SIGPROF_TAG | (uint64_t)mode << CP_SIGPROF_MODE_SHIFT | t->index;
}

/* sigprof.c
 *
 * The handler of SIGPROF, and the table of the modes that sample by it.
 *
 * SIGPROF has several sources: the timers and events of modes, the profiler's own wake-up
 * (deferred.c), and the program. si_code and si_value tell them apart. A mode that samples by
 * SIGPROF adds one row to the table, before its first signal. A signal that belongs to no row is
 * the program's.
 */

/* A mode's half of the handler. All functions run in the handler. Each may be NULL, except EXPIRED.
 */
struct cp_sigprof_source {
	/* Not zero while samples are taken. */
	const uint32_t *running;
	/* Called when a timer with a value of this mode has expired. T is the record in the value,
	 * or NULL. */
	void (*expired)(struct cp_thread *t, const siginfo_t *si, const ucontext_t *uc);
	/* Return true if SI is a signal of this source without such a value; the source has then
	 * taken it. */
	bool (*take)(const siginfo_t *si, const ucontext_t *uc);
	/* Take the events of T, the calling thread's record, that no signal announced. Called only
	 * while LOOKS is not 0. */
	void (*look)(struct cp_thread *t, const ucontext_t *uc);
	const uint32_t *looks;
};

/* Add S as MODE's row, or set it again. S stays. Ordinary context. */
void cp_sigprof_add(enum cprof_mode mode, const struct cp_sigprof_source *s);

/* Set the function that ends the process by the default action of the program's SIGPROF. */
void cp_sigprof_set_end(void (*end)(int sig, siginfo_t *si, void *uc));

/* Return true while any source takes samples. Any context. */
bool cp_sigprof_samples_come(void);

/* Return true if the signal has no details, because the kernel had no memory for them. */
static inline bool cp_sigprof_lacks_details(const siginfo_t *si)
{
	return si->si_code == SI_USER && !si->si_pid;
}

/* Record a sample of UC if SI is one. SI was taken out of the pending signals of this thread, which
 * libc made; all signals are blocked. Returns true if SI was a sample of the profiler. */
bool cp_sigprof_take(const siginfo_t *si, const ucontext_t *uc);

/* Take out the SIGPROFs that are pending for this thread, which libc made; all signals are blocked.
 * Samples are recorded at UC, the program's signals are deferred. A pending SIGPROF would make the
 * kernel drop a wake-up, and might then be dropped itself: from Linux 6.13 on, the kernel drops the
 * signal of a timer that was set again or deleted since. */
void cp_sigprof_take_pending(const ucontext_t *uc);

/* The SA_SIGINFO handler; it has a full mask. */
void cp_sigprof_handle(int sig, siginfo_t *si, void *uc);

/* Tells whose signal a descriptor's signal is. The profiler's perf events send SIGPROF with the
 * number of a descriptor that is closed. For the modes with such events; in the handler. */

/* Return true if SI may come from a perf event. A signal without details may come from any. */
static inline bool cp_perf_signal_may_be(const siginfo_t *si)
{
	return cp_sigprof_lacks_details(si) || (si->si_code >= POLL_IN && si->si_code <= POLL_HUP);
}

/* Return true if SI may come from P. */
static inline bool cp_perf_signal_fits(const struct cp_perf *p, const siginfo_t *si)
{
	return cp_sigprof_lacks_details(si) || p->fd == si->si_fd;
}

/* Return true if the program wants a SIGPROF: it has a handler, or the signal is deferred, or
 * sigwait took it out. Otherwise the default action would end the process, which is never intended
 * for a descriptor's signal. */
static inline bool cp_perf_signal_is_wanted(void)
{
	struct cp_disposition d;

	cp_disposition_get(SIGPROF, &d);
	return d.handler != SIG_DFL || cp_thread_self()->prof_blocked;
}

/* Return true if SI, which brought no hit, is the program's. A signal with a number that no event
 * has may come from an event that has ended since; the descriptor in one of the program's own
 * signals is open. */
static inline bool cp_perf_signal_is_programs(const siginfo_t *si)
{
	return cp_sigprof_lacks_details(si) ||
	       (cp_perf_signal_is_wanted() && cp_perf_event_is_programs(si->si_fd));
}

/* restart.c
 *
 * Interrupted calls that the profiler's handlers would restart although the program's handlers must
 * end them.
 *
 * When two signals arrive at once, only the first one delivered decides whether the interrupted
 * call restarts. A signal sent to the thread, as the profiler's are, is delivered first. The
 * profiler's handlers have SA_RESTART, so the program's handler would run and its call would go on,
 * forever if the alarm was meant to end the call. The kernel also does not know the flags of a
 * handler of the program that the profiler calls. So the profiler's handlers treat the call as the
 * kernel would have.
 *
 * Async-signal-safe; for handlers that run with all signals blocked.
 */

/* Call before a handler of the profiler returns to UC. If it would restart a call, and a pending
 * signal that will be delivered there has a handler without SA_RESTART, the call ends with EINTR.
 */
void cp_restart_check(ucontext_t *uc);

/* End the interrupted call at UC: a handler of the program without SA_RESTART was called for the
 * signal. */
void cp_restart_end(ucontext_t *uc);

#endif
