/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls a handler of the program out of a handler of the profiler, as the kernel would have called
 * it: on the same stack, at the same address, with the same mask and the same arguments, and
 * without a frame of the profiler between the handler and the interrupted code.
 *
 * The kernel has the profiler's handler, and the two may ask for different stacks: SIGPROF's
 * handler of the profiler uses alternate stacks (SA_ONSTACK), the program's may not. There are two
 * ways:
 *
 * - The kernel's frame is where the program's handler wants it. The profiler's handler ends with a
 *   tail call of the program's.
 * - Otherwise the frame is copied to where the kernel would have written it, and the original is
 *   changed so that the return from the profiler's handler calls the program's. That handler
 * returns by the copy.
 *
 * Async-signal-safe; for handlers that run with all signals blocked.
 */
#ifndef CP_HANDLER_CALL_H
#define CP_HANDLER_CALL_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "host/signal/disposition.h"

typedef void (*cp_handler_function)(int, siginfo_t *, void *);

/* Begin the call of D's handler, which is neither default nor ignored, for SIG. UC is the frame of
 * the profiler's handler, and RESTORER that handler's return address. Returns the function that the
 * profiler's handler must tail-call with its own arguments. If SAMPLES come, makes room
 * for them on a small alternate stack, or blocks SIGPROF where there is none. */
cp_handler_function cp_handler_call(int sig, ucontext_t *uc, const struct cp_disposition *d,
				    const void *restorer, bool samples);

/* Not zero once SIGPROF was blocked in a handler because there was no room for samples. */
extern uint32_t cp_handler_call_blocks_prof;

/* Does nothing. For handlers that must tail-call something. */
void cp_handler_call_nothing(int sig, siginfo_t *si, void *uc);

#endif
