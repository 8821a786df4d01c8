/* SPDX-License-Identifier: BSD-3-Clause */
/* Installs SIGPROF's handler (host/signal/sigprof.h), and looks whether it is still there. */
#ifndef CP_SIGPROF_HANDLER_H
#define CP_SIGPROF_HANDLER_H

#include <stdbool.h>

/* Install the handler, for cp_signals_claim_prof. The program's own disposition goes into the
 * table. Returns 0 or a negative errno. */
int cp_sigprof_handler_install(void);
/* Return true if the kernel still has the handler. Any context. */
bool cp_sigprof_handler_is_there(void);
/* Report, once, that the program has replaced the handler without libc, as a Go runtime does.
 * Samples then end. Called now and then on the collector's thread. */
void cp_sigprof_handler_check(void);

#endif
