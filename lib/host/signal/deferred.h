/* SPDX-License-Identifier: BSD-3-Clause */
/* clang-format off */
/* The program's view of the SIGPROF mask bit, and the signals that are deferred because of it.
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
 * Signals that a thread sends to itself are kept here, too, blocked or not (lib/host/send_self.h).
 *
 * | state           | written by                     | read by                        |
 * |-----------------|--------------------------------|--------------------------------|
 * | cp_self         | its thread, its handler        | the same                       |
 * | cp_thread       | its thread                     | a handler looking for a taker  |
 * | the shared slot | a handler; the taker           | any                            |
 */
/* clang-format on */
#ifndef CP_DEFERRED_H
#define CP_DEFERRED_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "sample/thread.h"

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

/* Drop all deferred signals in a fork child, where nothing is pending. */
void cp_deferred_fork_child(void);

#endif
