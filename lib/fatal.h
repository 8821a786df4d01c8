/* Signals whose default action ends the process: what is written before it does. */
#ifndef CP_FATAL_H
#define CP_FATAL_H

#include <signal.h>
#include <stdint.h>

/* Those that end process PID by default and can have a handler of ours, as a set in the kernel's
 * form. Pure. */
uint64_t cp_fatal_signals(int pid);

/* The handler: writes the profiles, and ends the process by SIG's default action, with the same
 * siginfo. Returns only where the kernel ignores that, because this is pid 1 of a namespace or
 * another thread has just changed what SIG does; or to let a fault happen again.
 */
void cp_fatal_handler(int sig, siginfo_t *si, void *context);

#endif
