/* SPDX-License-Identifier: BSD-3-Clause */
/* The handler of SIGPROF, and the table of the modes that sample by it.
 *
 * SIGPROF has several sources: the timers and events of modes, the profiler's own wake-up
 * (deferred.h), and the program. si_code and si_value tell them apart. A mode that samples by
 * SIGPROF adds one row to the table, before its first signal. A signal that belongs to no row is
 * the program's.
 */
#ifndef CP_SIGPROF_H
#define CP_SIGPROF_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "host/signal/sigprof_value.h"
#include "sample/mode.h"
#include "sample/thread.h"

/* A mode's half of the handler. All functions run in the handler. Each may be NULL, except EXPIRED.
 */
struct cp_sigprof_source {
	/* Not zero while samples are taken. */
	const uint32_t *running;
	/* A timer with a value of this mode has expired. T is the record that the value names, or
	 * NULL. */
	void (*expired)(struct cp_thread *t, const siginfo_t *si, const ucontext_t *uc);
	/* Return true if SI is a signal of this source without such a value; the source has then
	 * taken it. */
	bool (*take)(const siginfo_t *si, const ucontext_t *uc);
	/* Take what the source has for T, the calling thread's record, although no signal
	 * announced it. Called only while LOOKS is not zero. */
	void (*look)(struct cp_thread *t, const ucontext_t *uc);
	const uint32_t *looks;
};

/* Add MODE's row, or replace it by the same. S stays. Ordinary context. */
void cp_sigprof_add(enum cprof_mode mode, const struct cp_sigprof_source *s);

/* Set what ends the process by the default action of a SIGPROF that is the program's. */
void cp_sigprof_set_end(void (*end)(int sig, siginfo_t *si, void *uc));

/* Return true while any source takes samples. Any context. */
bool cp_sigprof_samples_come(void);

/* Return true if the signal has no details. The kernel sends it so when it has no memory for them.
 */
static inline bool cp_sigprof_lacks_details(const siginfo_t *si)
{
	return si->si_code == SI_USER && !si->si_pid;
}

/* Record a sample of UC if SI is one. SI was taken out of the pending signals of this thread, which
 * libc made; all signals are blocked. Returns true if SI was a sample of the profiler. */
bool cp_sigprof_take(const siginfo_t *si, const ucontext_t *uc);

/* Take out the SIGPROFs that are pending for this thread, which libc made; all signals are blocked.
 * Samples are recorded at UC, the program's signals are deferred. A pending SIGPROF would make the
 * kernel drop a wake-up, and might then be dropped itself: from Linux 6.13 on, the kernel drops the
 * signal of a timer that was set again or deleted since. */
void cp_sigprof_take_pending(const ucontext_t *uc);

/* The SA_SIGINFO handler; it has a full mask. */
void cp_sigprof_handle(int sig, siginfo_t *si, void *uc);

#endif
