/* SPDX-License-Identifier: BSD-3-Clause */
/* The signals that the profiler handles for the program, and the program's view of them.
 *
 * They are SIGPROF, the dump signal, the toggle signal, and every signal whose default action ends
 * the process (so that a profile is written). The kernel has the profiler's handler only while the
 * program's own disposition is the default. SIGPROF is different: it is left alone, with its
 * disposition and in masks, until a mode that samples by it starts; from then on the kernel always
 * has the profiler's handler.
 */
#ifndef CP_SIGNALS_H
#define CP_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/signal_work.h"
#include "settings/config.h"

/* Install the handlers, including those for the signals that C names. They call W. Ordinary
 * context. */
void cp_signals_install(const struct cp_config *c, const struct cp_signal_work *w);
/* Restore the defaults. SIGPROF's handler stays installed, inert. */
void cp_signals_remove(void);
/* Take SIGPROF for samples; the program's disposition goes into the table. From here on the masks
 * of the program don't keep SIGPROF from its threads: the caller imports its own
 * (cp_deferred_import_mask). Call before the first sample; calls repeat. Returns 0 or a negative
 * errno. */
int cp_signals_claim_prof(void);
/* Look whether libc's own profiler has set SIGPROF's handler, or put it back, by calls inside libc,
 * which change the kernel's disposition. The program's view then follows, and the profiler's
 * handler stays. Async-signal-safe. */
void cp_signals_look_at_prof(void);

/* sigaction on the program's view: the program never sees or removes the profiler's handlers.
 * Async-signal-safe, as sigaction must be. Returns 0, or -1 with errno. */
int cp_signals_sigaction(int sig, const struct sigaction *act, struct sigaction *old);

/* Return true if the kernel's handler for SIG is the profiler's. Async-signal-safe. */
bool cp_signals_are_ours(int sig);

/* Return true if a handler of the program for one of SIGNALS (kernel form) exists or once existed,
 * so it may have run. False is certain, unless the handler was installed without libc and is gone
 * again. Async-signal-safe. */
bool cp_signals_may_have_run(uint64_t signals);

/* The sigaltstack system call for the program; examines the new alternate stack of the calling
 * thread. Returns 0, or a negative errno. Async-signal-safe. */
long cp_signals_sigaltstack(const stack_t *ss, stack_t *old);
/* Call before the calling thread makes SIZE bytes at AT, where an alternate stack may be,
 * unwritable: no handler of the profiler may use that stack any more. Async-signal-safe. */
void cp_signals_alternate_goes(const void *at, size_t size);
/* Call around exec and posix_spawn. The first sets the inherited state of this thread and process
 * to the program's view of it; the second undoes that. */
void cp_signals_exec_begin(void);
void cp_signals_exec_failed(void);
void cp_signals_fork_child(void);

#endif
