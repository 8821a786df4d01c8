/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal chaining: the kernel calls a handler of the profiler, which then calls the program's
 * handler.
 *
 * Chaining is needed where the process may end after the program's handler without further notice:
 *
 * - Handlers for one call (SA_RESETHAND) of a signal whose default action ends the process. The
 *   kernel sets the disposition to the default as it calls such a handler. Programs that clean up
 *   in the handler and raise the signal again are then gone. The profiler's handler instead
 *   installs its own handler for the default case, and then calls the program's.
 * - Handlers for SIGABRT. When one returns, abort() ends the process by libc's own means. The
 * profile is written before such a handler runs.
 *
 * Chaining is also needed where samples need room:
 *
 * - Handlers with SA_ONSTACK (host/signal/altstack.h). All signals are blocked until the profiler's
 *   handler has made room.
 *
 * The disposition table holds the program's handler. The kernel does not know that handler.
 */
#ifndef CP_CHAINED_H
#define CP_CHAINED_H

#include <signal.h>
#include <stdbool.h>

/* Callbacks into signals.c. */
struct cp_chained_hooks {
	/* Set SIG to its default in the kernel and in the table, unless the kernel meanwhile has a
	 * handler that is not the profiler's. */
	void (*put_default)(int sig);
	/* Return what handles the default action of SIG: it ends the process, or does nothing. */
	void (*(*default_of)(int sig))(int sig, siginfo_t *si, void *context);
	/* Write the profile: the process may be about to end. */
	void (*write)(void);
	/* Return true if the table belongs to this process; false in the child of a vfork. */
	bool (*is_ours)(void);
};

/* Set the callbacks. Call before any other function of this file. */
void cp_chained_begin(const struct cp_chained_hooks *h);

/* Return true if ACT must be chained because the process may end after its handler. The default
 * action of SIG ends the process. Any context. */
bool cp_chained_wants(int sig, const struct sigaction *act);
/* Return true if ACT, for any signal, must be chained so that samples by SIGPROF have room. Any
 * context. */
bool cp_chained_wants_room(const struct sigaction *act);
/* Fill *OURS with the disposition that the kernel gets in place of ACT. ACT is in the table. Any
 * context. */
void cp_chained_fill(struct sigaction *ours, int sig, const struct sigaction *act);
/* Return true if ACT, read from the kernel, is a chained handler. Any context. */
bool cp_chained_is(const struct sigaction *act);

#endif
