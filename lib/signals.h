/* The signals that we handle for the program, and its view of them.
 *
 * SIGPROF, the dump and the toggle signal, and every signal whose default action ends
 * the process (so that a profile is left). Ours is in the kernel only while the program's own
 * disposition is the default (SIGPROF: always while profiling).
 */
#ifndef CP_SIGNALS_H
#define CP_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

/* Install the handlers. DUMP_SIGNAL and TOGGLE_SIGNAL: 0 = none. Ordinary context. */
void cp_signals_install(int dump_signal, int toggle_signal);
/* Put back the defaults (SIGPROF's handler stays, inert). */
void cp_signals_remove(void);

/* sigaction as the program means it: it never sees or removes what is ours. Async-signal-safe, as
 * sigaction must be. 0, or -1 with errno. */
int cp_signals_sigaction(int sig, const struct sigaction *act, struct sigaction *old);

/* End the process by SIG's default action, with the same siginfo. Returns only where that
 * is ignored (pid 1 of a namespace), or to let a fault happen again. */
void cp_signals_die(int sig, siginfo_t *si, void *context);

/* Around exec: what is ours in this thread and process is as the program believes
 * it to be. */
void cp_signals_exec_begin(void);
void cp_signals_exec_failed(void);

#endif
