/* SPDX-License-Identifier: BSD-3-Clause */
/* SIGPROFs that the program sends to its own calling thread.
 *
 * The kernel keeps one pending signal of each number for a thread, and drops any other. A sample of
 * the profiler is pending for as long as the program has SIGPROF blocked in the kernel, above all
 * while the program's own handler for SIGPROF runs. A sample may also be pending for a moment at
 * any time. So the profiler keeps the program's signal (host/signal/deferred.h) and only asks the
 * kernel to run the profiler's handler. When the kernel runs it, for this wake-up or for the
 * pending sample, the handler calls the program's handler.
 *
 * Signals that another thread sends to this thread do not pass through here.
 */
#ifndef CP_SEND_SELF_H
#define CP_SEND_SELF_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/sys.h"

/* Send SIGPROF to the calling thread, with the siginfo that the kernel would give: SI_TKILL, or
 * SI_QUEUE with VALUE. Called by the interposed functions. Returns false if no sample can be in the
 * way or the wake-up was refused; the caller must then send the signal itself. Async-signal-safe;
 * preserves errno. */
bool cp_send_self_self_signal(int code, union sigval value);

/* Return true if SIG to TID of PID was SIGPROF to the calling thread and was sent by
 * cp_send_self_self_signal. */
static inline bool cp_send_self_tgkill(pid_t pid, pid_t tid, int sig)
{
	return sig == SIGPROF && tid == cp_sys_gettid() && pid == cp_sys_getpid() &&
	       cp_send_self_self_signal(SI_TKILL, (union sigval){ .sival_ptr = NULL });
}

/* Take the sample if SI is one. SI is a SIGPROF that a call for signals took out of the pending
 * ones. Returns true if SI was a sample of the profiler, of any engine; the sample is then recorded
 * at the thread's current place. Async-signal-safe; preserves errno. */
bool cp_send_self_take_sample(const siginfo_t *si);

/* Return true if one of the program's SIGPROFs is pending, or if that can't be determined. Call
 * when the kernel has SIGPROF blocked in the calling thread and one is pending. Pending samples are
 * recorded at the thread's current place. Async-signal-safe. */
bool cp_send_self_is_pending(void);

/* Deliver a deferred signal to the calling thread, now or when the kernel's mask permits. Call when
 * a signal is deferred and the calling thread does not believe SIGPROF blocked. */
void cp_send_self_held(void);

#endif
