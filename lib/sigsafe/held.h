/* The program's view of SIGPROF's mask, and what it makes us hold back.
 *
 * In the kernel SIGPROF is unblocked in every thread, or a thread that blocks all signals would
 * never be sampled. A SIGPROF of the program's own that reaches a thread in which the
 * program believes it blocked is kept here, as the kernel would keep it pending: for that thread
 * (pthread_kill), or for the first thread that unblocks it or waits for it (kill, sigqueue,
 * the program's timers). As with any standard signal, one is kept and others meanwhile are not.
 *
 * Masks come back without a call that we see: by siglongjmp, setcontext and swapcontext, and when a
 * handler ends. So the kernel's mask has the view in it, as the witness: a signal that nobody sends
 * is blocked where the program believes SIGPROF blocked. Where the two differ the mask is right.
 *
 * What the program sends to the thread that it is in is kept here, too, blocked or not
 * (lib/send.h).
 *
 * | state           | written by                     | read by                        |
 * |-----------------|--------------------------------|--------------------------------|
 * | cp_self         | its thread, its handler        | the same                       |
 * | cp_thread's     | its thread                     | a handler looking for a taker  |
 * | the shared slot | a handler; who takes it        | any                            |
 */
#ifndef CP_HELD_H
#define CP_HELD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "sigsafe/thread.h"

/* Does the calling thread believe SIGPROF blocked? */
static inline bool cp_held_blocked(void)
{
	return cp_self.prof_blocked;
}

void cp_held_set_blocked(bool blocked);

/* The processor that it is named after is gone. */
#define CP_HELD_WITNESS SIGSTKFLT
/* NOW is the kernel's mask of the calling thread, or will be when its handler ends. Where SIGPROF
 * really is blocked, by a handler's mask, the view stays. */
void cp_held_see(uint64_t now);
/* As it is now. */
bool cp_held_blocked_now(void);

/* The calling thread, though it believes SIGPROF blocked, takes one that is held: it is in
 * sigwait. */
void cp_held_set_waiting(bool waiting);

/* Keep SI, which the calling thread believes blocked; wakes a thread that takes it. Handler. */
void cp_held_keep(const siginfo_t *si);

/* Keep SI, which the calling thread sends to itself, for it alone. All signals are blocked. */
void cp_held_keep_own(const siginfo_t *si);
/* One is kept for the calling thread alone. */
static inline bool cp_held_is_own_there(void)
{
	return cp_self.prof_pending;
}
/* Drop that: another signal to this thread, about to be delivered, is the one that both became. */
void cp_held_merge(void);

/* The bell: a SIGPROF of ours, but of no timer, after which the handler looks here. If another one
 * is pending for the thread the kernel drops it, and the handler looks here after that. */
#define CP_HELD_BELL (CP_NO_TIMER - 1)
/* For the calling thread. False: it has no record of its own. */
bool cp_held_ring(void);

/* Something is there that the calling thread would take. */
bool cp_held_any(void);
/* Take it out. */
bool cp_held_take(siginfo_t *si);

/* The kernel's mask of the calling thread, inherited or given to it at its creation, becomes the
 * program's view, and SIGPROF becomes deliverable; from cp_held_on on. */
extern uint32_t cp_held_on;
void cp_held_adopt(void);
/* In the child of a vfork, which has its parent's memory but a mask of its own in the kernel:
 * that becomes what the parent believes, and the child goes on without us. */
void cp_held_leave_to_child(void);
/* In the kernel, not in the program's view. */
void cp_held_really_block(bool block);
/* The kernel's mask is what the program believes, for what inherits it. true: it wasn't; then it is
 * put back by the second. */
bool cp_held_reveal(void);
void cp_held_conceal(void);

/* In a fork child nothing is pending. */
void cp_held_fork_child(void);

#endif
