/* guard → unwind → record: what every source's event half calls. */
#ifndef CP_CAPTURE_H
#define CP_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "sigsafe/perf_event.h"
#include "sigsafe/ring.h"
#include "sigsafe/thread.h"
#include "sigsafe/unwind.h"

/* Chosen by the control plane before the first event. */
struct cp_capture_settings {
	const struct cp_unwinder *unwinder;
	unsigned max_depth; /* frames, 1..4096 */
	/* A ring became half full. Runs in the event's context. */
	void (*wake)(void);
};

extern struct cp_capture_settings cp_capture_settings;

/* What happened; the fields are cp_record's. */
struct cp_event {
	enum cp_mode mode;
	uint64_t count, weight, tag;
};

/* Record E with the stack of REGS for thread T (the calling one), in the ring of signals (CPU,
 * wall; all signals blocked by the caller) or in that of hooks (the other modes; a signal may come
 * between, and then uses the other ring). What can't be recorded is counted. Async-signal-safe.
 * false: lost. */
bool cp_capture(struct cp_thread *t, const struct cp_event *e, const struct cp_regs *regs);
/* The same from a hook for libc's FUNCTION: it is the leaf, in the place of our innermost frame. */
bool cp_capture_hook(struct cp_thread *t, const struct cp_event *e, const struct cp_regs *regs,
		     const void *function);

/* The same, with the kernel frames K on top of the stack, where the mode of E is CPU. */
bool cp_capture_in_kernel(struct cp_thread *t, const struct cp_event *e, const struct cp_regs *regs,
			  const struct cp_perf_frames *k);

/* The same with the stack of T's last sample, or, if it had none, PC alone: for what is known
 * only afterwards. */
bool cp_capture_repeat(struct cp_thread *t, const struct cp_event *e, uint64_t pc);

/* RECORD, of at most DEPTH frames, gets its stack, from REGS of thread T (the calling one), and is
 * not put into a ring yet: for what will be known only later. All signals blocked. false: no
 * memory. */
bool cp_capture_stack(struct cp_thread *t, const struct cp_regs *regs, struct cp_record *record,
		      unsigned depth);
/* A copy of such a RECORD goes to T's ring of hooks. */
bool cp_capture_put(struct cp_thread *t, const struct cp_record *record);

#endif
