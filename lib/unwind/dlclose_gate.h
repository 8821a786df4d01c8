/* SPDX-License-Identifier: BSD-3-Clause */
/* Tracks the calling thread's dlclose calls, from the closing of the gate to its opening.
 *
 * A destructor may leave dlclose without returning: by longjmp, or because its thread ends. Without
 * this file, captures would then regard modules as unstable for ever. An abandoned dlclose counts
 * as finished when the same thread calls dlclose again from the same or a shallower depth, when an
 * outer dlclose returns, or when the thread ends.
 */
#ifndef CP_DLCLOSE_GATE_H
#define CP_DLCLOSE_GATE_H

struct cp_module_diff;

/* Told of what went away before the gate opens; NULL: nobody. Set once, before the first sample. */
extern void (*cp_dlclose_gate_unloaded)(struct cp_module_diff *u);

/* Close the gate. FRAME: frame address of dlclose's caller. Returns how many dlclose calls the
 * thread was in before, for cp_dlclose_gate_end. Waits. */
unsigned cp_dlclose_gate_begin(const void *frame);
/* Forget what is known of modules and open the gate. The thread is then in BEFORE dlclose calls.
 * UNLOADED: the result of cp_heap_before_unload. */
void cp_dlclose_gate_end(unsigned before, struct cp_module_diff *unloaded);
/* Call when the thread ends. */
void cp_dlclose_gate_abandon(void);

#endif
