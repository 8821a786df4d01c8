/* SPDX-License-Identifier: BSD-3-Clause */
/* Room for samples while a handler of the program runs on its alternate stack.
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
#ifndef CP_ALTSTACK_H
#define CP_ALTSTACK_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#include "base/atomic.h"

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
/* The same where the record is not known. */
void cp_altstack_see_own(ucontext_t *uc);

/* An alternate stack; without one, SIZE is 0. */
struct cp_altstack {
	uintptr_t low;
	size_t size;
	bool disarms; /* no thread is ever on it (SS_AUTODISARM) */
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

#endif
