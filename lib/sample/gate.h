/* SPDX-License-Identifier: BSD-3-Clause */
/* Callers that must not disturb captures in flight wait here: dlclose before a module can go away,
 * fork before libunwind's locks would be copied in a locked state.
 *
 * Captures are counted in one of two phases (as in sleepable RCU), so a waiter waits only for the
 * captures that began before it, however many follow.
 */
#ifndef CP_GATE_H
#define CP_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"

/* Called around every capture. Returns the phase, which goes to cp_gate_leave. Sets *STABLE to
 * true if no module can be unmapped before cp_gate_leave. */
unsigned cp_gate_enter(bool *stable);
void cp_gate_leave(unsigned phase);

/* From cp_gate_close to cp_gate_open, captures get stable = false. No capture that got true is
 * still in flight when cp_gate_close returns. Closings by several threads nest. Not from a
 * handler, because cp_gate_close waits. */
void cp_gate_close(void);
void cp_gate_open(void);
/* Waits for every capture that is in flight now. */
void cp_gate_wait(void);
/* Returns whether the gate is open. Enough for a caller that reads only its own stack and caches
 * of code: while the gate is open, no module on that stack lies where a cache still has an earlier
 * module. */
extern uint32_t cp_gate_closed __attribute__((visibility("hidden")));
static inline bool cp_gate_is_open(void)
{
	/* Acquire: the caller sees the caches as they were emptied before the gate opened. */
	return cp_load_acquire(&cp_gate_closed) == 0;
}

/* Returns how often modules may have gone away so far. */
uint32_t cp_gate_openings(void);

/* In a fork child: no other capture is in flight, and STILL of the caller's own closings are not
 * over. */
void cp_gate_fork_child(unsigned still);

#endif
