/* SPDX-License-Identifier: BSD-3-Clause */
/* The event half of the event mode: a sample for each hit of a thread's perf event. */
#ifndef CP_EVENT_HIT_H
#define CP_EVENT_HIT_H

#include "host/signal/host_signal.h"

/* Written by the control half, read by the handler. */
struct cp_event_state {
	uint32_t running; /* samples are taken */
	uint32_t used;	  /* an event was used in this process, so its signals may come */
	uint64_t period;  /* events between two samples, on average */
};
extern struct cp_event_state cp_event_state;

/* A thread's event, a part of its record. */
extern const struct cp_perf cp_event_thread_part CP_THREAD_PART;

static inline struct cp_perf *cp_event_of(const struct cp_thread *t)
{
	return cp_thread_part(t, &cp_event_thread_part);
}

/* The event mode's row in the table of the sources of SIGPROF. */
extern const struct cp_sigprof_source cp_event_hit_source;

#endif
