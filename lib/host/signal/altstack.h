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

struct cp_thread;

/* Make room for samples if the frame is on a small alternate stack. Call when a handler of the
 * program begins, with all signals blocked; CONTEXT is the kernel's frame. Returns false if there
 * is no room. */
bool cp_altstack_begin(const ucontext_t *context);

/* Put the program's stack back if the thread has left it. Call at a sample in T, the calling
 * thread, at UC. */
void cp_altstack_see(const struct cp_thread *t, ucontext_t *uc);

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
