/* SPDX-License-Identifier: BSD-3-Clause */
/* The processor's counter: a clock of constant rate, read without a system call. Any context.
 *
 * A program may forbid itself to read the counter (prctl's PR_SET_TSC); the kernel then kills a
 * thread that reads it. The vdso's clocks read the counter, too. Once a thread has forbidden it,
 * no handler and no hook in any thread ever reads the counter again. Its measurements are then
 * skipped, or use a system call.
 */
#ifndef CP_TICKS_H
#define CP_TICKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arch.h"
#include "base/atomic.h"

extern uint32_t cp_ticks_forbidden __attribute__((visibility("hidden")));

/* Returns the counter, or 0 if reading is forbidden. */
static inline uint64_t cp_ticks(void)
{
	return __builtin_expect(cp_load_relaxed(&cp_ticks_forbidden) != 0, 0) ? 0 : cp_arch_ticks();
}

/* Called before the calling thread makes this prctl: notes whether it forbids the counter. */
void cp_ticks_see_prctl(int option, unsigned long value);
/* Asks the kernel whether the calling thread was forbidden the counter earlier. */
void cp_ticks_ask(void);

#endif
