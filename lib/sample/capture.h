/* SPDX-License-Identifier: BSD-3-Clause */
/* guard → unwind → record: the functions that the event half of every source calls. */
#ifndef CP_CAPTURE_H
#define CP_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "sample/ring.h"
#include "sample/thread.h"
#include "sample/unwinder.h"

/* The control plane sets them before the first event. */
struct cp_capture_settings {
	const struct cp_unwinder *unwinder;
	unsigned max_depth; /* frames, 1..4096 */
	/* Called in the event's context when a ring becomes half full. */
	void (*wake)(void);
	/* The program restricts its system calls: cp_capture_here makes none any more. */
	bool restricted;
};

extern struct cp_capture_settings cp_capture_settings;

/* Kernel frames in an event's page of samples, leaf first, the callers' as return addresses. */
struct cp_kernel_frames {
	const uint64_t *words; /* a power of two of them; indices wrap around */
	uint64_t mask, at;
	unsigned count;
};

/* One event; the fields are cp_record's. */
struct cp_event {
	enum cprof_mode mode;
	uint64_t count, weight, tag, longest;
};

/* Records E with the stack of REGS for T, the calling thread, in the ring of T's signal handlers.
 * The caller has blocked all signals. Counts a sample that can't be recorded, and returns false.
 * Async-signal-safe. */
bool cp_capture(struct cp_thread *t, const struct cp_event *e, const struct cp_regs *regs);
/* The same from a hook, in T's ring of hooks. Signals needn't be blocked, because their handlers
 * use the other ring. libc's FUNCTION, if not NULL, becomes the leaf and replaces the profiler's
 * innermost frame. */
bool cp_capture_hook(struct cp_thread *t, const struct cp_event *e, const struct cp_regs *regs,
		     const void *function);

/* The same as cp_capture_hook, with all signals blocked. Below the leaf come MARK, a CP_PC_* of
 * ring.h, and the stack of BELOW, innermost frame first, if BELOW isn't NULL. */
bool cp_capture_below(struct cp_thread *t, const struct cp_event *e, const struct cp_regs *regs,
		      const void *function, const struct cp_record *below, uint64_t mark);

/* The same as cp_capture, with the kernel frames K on top of the stack. */
bool cp_capture_in_kernel(struct cp_thread *t, const struct cp_event *e, const struct cp_regs *regs,
			  const struct cp_kernel_frames *k);

/* The same as cp_capture with the stack of T's last sample, or with PC alone if T had no sample.
 * Used for events that are known only afterwards. */
bool cp_capture_repeat(struct cp_thread *t, const struct cp_event *e, uint64_t pc);

/* Unwinds REGS of T, the calling thread, into RECORD, at most DEPTH frames, without putting RECORD
 * into a ring. Used when the event is known only later. All signals are blocked. Returns false
 * without memory. */
bool cp_capture_stack(struct cp_thread *t, const struct cp_regs *regs, struct cp_record *record,
		      unsigned depth);
/* Stores the calling thread's stack from REGS on, without its first SKIP frames, into TO: up to
 * MAX return addresses, innermost first. Returns their number; 0 without memory or before an
 * unwinder is chosen. Async-signal-safe. */
unsigned cp_capture_here(const struct cp_regs *regs, unsigned skip, void **to, unsigned max);
/* Records E in T's ring of hooks, with the stack of RECORD, from cp_capture_stack. */
bool cp_capture_put(struct cp_thread *t, const struct cp_event *e, const struct cp_record *record);

#endif
