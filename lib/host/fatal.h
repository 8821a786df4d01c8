/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles signals whose default action ends the process: the profiles are written before it
 * ends. */
#ifndef CP_FATAL_H
#define CP_FATAL_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "host/signal_work.h"

/* Returns the signals that end process PID by default and can have the profiler's handler, as a
 * kernel signal set. Pure. */
uint64_t cp_fatal_signals(int pid);

/* Set what writes the profiles. Call before the handler is installed. */
void cp_fatal_begin(const struct cp_signal_work *w);

/* The handler. It writes the profiles and ends the process by SIG's default action, with the same
 * siginfo. It returns in two cases. First, the kernel ignores the default action, because this
 * process is pid 1 of a namespace or another thread has just changed SIG's action. Second, a fault
 * has to happen again. */
void cp_fatal_handler(int sig, siginfo_t *si, void *context);

#endif
