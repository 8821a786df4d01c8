/* SIGPROFs that the program sends to the thread that it is in.
 *
 * The kernel keeps one signal of a number pending for a thread, and drops another. A sample of ours
 * is pending for as long as the program has SIGPROF blocked in the kernel, above all while its own
 * handler for it runs; and for a moment at any time. So what the program sends is kept by us
 * (sigsafe/held.h), and the kernel is only asked to run our handler: when it does, for this
 * or for the sample that was pending, the program's handler is called.
 *
 * What another thread sends to this one doesn't come here.
 */
#ifndef CP_SEND_H
#define CP_SEND_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "sigsafe/sys.h"

/* Called by the interposed functions. SIGPROF to the calling thread, as the kernel would tell of
 * it: SI_TKILL, or SI_QUEUE with VALUE. False: nothing of ours can be in the way, and the caller
 * sends it itself. Async-signal-safe; errno stays as it is. */
bool cp_send_to_self(int code, union sigval value);

/* SIG to TID of PID was SIGPROF to the calling thread, and went by the above. */
static inline bool cp_send_tgkill(pid_t pid, pid_t tid, int sig)
{
	return sig == SIGPROF && tid == cp_sys_gettid() && pid == cp_sys_getpid() &&
	       cp_send_to_self(SI_TKILL, (union sigval){ .sival_ptr = NULL });
}

/* SI, a SIGPROF, was taken out of what is pending by a call for signals. True: it was a sample of
 * ours, of any engine, and is taken now, where the thread is. Async-signal-safe; errno stays. */
bool cp_send_take_sample(const siginfo_t *si);

/* The kernel has SIGPROF blocked in the calling thread, and one is pending: is any of the
 * program's? Samples are taken, where the thread is. Async-signal-safe. */
bool cp_send_is_pending(void);

/* Something is held, and the calling thread doesn't believe SIGPROF blocked: it gets it now, or
 * when the kernel's mask lets it. */
void cp_send_held(void);

#endif
