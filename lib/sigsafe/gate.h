/* Who must not disturb captures in flight waits here: dlclose before a module can
 * go away, fork before libunwind's locks would be copied in a locked state.
 *
 * Captures are counted in one of two phases (as in sleepable RCU), so that a waiter waits
 * only for those that began before it, however many follow.
 */
#ifndef CP_GATE_H
#define CP_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "sigsafe/atomic.h"

/* Around every capture: the returned phase goes to cp_gate_leave. *STABLE: no
 * module can be unmapped until then. */
unsigned cp_gate_enter(bool *stable);
void cp_gate_leave(unsigned phase);

/* From here to cp_gate_open, captures see stable = false, and none that saw true
 * is still in flight. Nests over threads. Not from a handler: it waits. */
void cp_gate_close(void);
void cp_gate_open(void);
/* Wait for every capture that is in flight now. */
void cp_gate_wait(void);
/* For who looks at nothing but its own stack and caches of code: no module that came to where
 * another one was can be on that stack while caches still know the other. */
extern uint32_t cp_gate_closed __attribute__((visibility("hidden")));
static inline bool cp_gate_is_open(void)
{
	/* Acquire: what was forgotten before the gate opened is seen so. */
	return cp_load_acquire(&cp_gate_closed) == 0;
}

/* How often modules may have gone away, so far. */
uint32_t cp_gate_openings(void);

/* In a fork child: nobody else is in flight, and STILL of the caller's own closings are not over.
 */
void cp_gate_fork_child(unsigned still);

#endif
