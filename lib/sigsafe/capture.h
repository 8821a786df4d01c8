/* guard → unwind → record: what every source's event half calls. */
#ifndef CP_CAPTURE_H
#define CP_CAPTURE_H

#include <stdint.h>

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

/* Record the stack of REGS for thread T (the calling one) with WEIGHT. What can't be
 * recorded is counted. Async-signal-safe, all signals blocked by the caller. */
void cp_capture(struct cp_thread *t, enum cp_source source, const struct cp_regs *regs,
		uint64_t weight);

/* The same with the stack of T's last sample, or, if it had none, PC alone: for what is known
 * only afterwards. */
void cp_capture_repeat(struct cp_thread *t, enum cp_source source, uint64_t pc, uint64_t weight);

#endif
