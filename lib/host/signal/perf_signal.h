/* SPDX-License-Identifier: BSD-3-Clause */
/* Whose is a signal that a descriptor sent? The profiler's perf events send SIGPROF with the number
 * of a descriptor that is closed. For the modes that have such events; in the handler.
 */
#ifndef CP_PERF_SIGNAL_H
#define CP_PERF_SIGNAL_H

#include <poll.h>

#include "host/signal/disposition.h"
#include "host/signal/sigprof.h"
#include "sample/perf_event.h"

/* Return true if SI may come from a perf event. A signal without details may come from any. */
static inline bool cp_perf_signal_may_be(const siginfo_t *si)
{
	return cp_sigprof_lacks_details(si) || (si->si_code >= POLL_IN && si->si_code <= POLL_HUP);
}

/* Return true if SI may come from P. */
static inline bool cp_perf_signal_fits(const struct cp_perf *p, const siginfo_t *si)
{
	return cp_sigprof_lacks_details(si) || p->fd == si->si_fd;
}

/* Return true if the program wants a SIGPROF: it has a handler, or the signal is deferred, or
 * sigwait took it out. Otherwise the default action would end the process, which is never intended
 * for a descriptor's signal. */
static inline bool cp_perf_signal_is_wanted(void)
{
	struct cp_disposition d;

	cp_disposition_get(SIGPROF, &d);
	return d.handler != SIG_DFL || cp_thread_self()->prof_blocked;
}

/* Return true if SI, which brought no hit, is the program's. A signal with a number that no event
 * has may come from an event that has ended since; the descriptor in one of the program's own
 * signals is open. */
static inline bool cp_perf_signal_is_programs(const siginfo_t *si)
{
	return cp_sigprof_lacks_details(si) ||
	       (cp_perf_signal_is_wanted() && cp_perf_event_is_programs(si->si_fd));
}

#endif
