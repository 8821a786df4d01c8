/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of lib/modes/event/, by the file that implements them. */
#ifndef CP_MODES_EVENT_EVENT_H
#define CP_MODES_EVENT_EVENT_H

#include "modes/event/event_names.h"

/* event.c
 *
 * The event mode's settings.
 */

struct cp_event_settings {
	char event[1024]; /* CPROF_EVENT: a name of event_names.h */
	unsigned period;  /* CPROF_EVENT_PERIOD, events; 0 = the event's own */
};

struct cp_config_mode;

/* The table: variables, options, defaults. */
extern const struct cp_config_mode cp_event_settings;

/* The control half of the event mode: one perf event per thread, which counts one thing and sends
 * the thread SIGPROF at each so many of them.
 *
 * Only threads made by libc have an event: the signal names no thread record, so the handler needs
 * the thread's own TLS. No event is kept over fork or exec. Any ordinary or collector context.
 */

/* The mode's state since its start. */
struct cp_event_control {
	struct cp_event_name
		event;	 /* the counted event; only its user part if the kernel allows no more */
	unsigned period; /* events between samples, on average */
	const char *refusal;  /* why nothing is counted; NULL: it is counted */
	const char *narrowed; /* why only the user part is counted; NULL: all is counted */
};
extern struct cp_event_control cp_event_control;

/* Install the handler and create events for all registered threads. PERIOD 0: the event's own. If
 * the event isn't possible here, one line says so, and the mode is on without samples. Returns 0 or
 * a negative errno. */
int cp_event_control_start(const char *event, unsigned period);
/* Go on with another period. A hit counts for the period of its event, and a thread's first hit for
 * a whole one, so totals stay right. Returns 0, or -ERANGE: the event isn't sampled that often. */
int cp_event_control_set_period(unsigned period);
/* Delete all events. The handler stays: a late signal must not kill. */
void cp_event_control_stop(void);
/* Begin or end the event of a registered thread. Call on that thread or in the sweep. */
void cp_event_control_thread_begin(struct cp_thread *t);
void cp_event_control_thread_end(struct cp_thread *t);
/* Free the lock of the events in a fork child, where whoever held it is not. */
void cp_event_control_fork_locks(void);
/* Forget all events in a fork child, where none exist, and start anew for T, its thread. */
void cp_event_control_fork_child(struct cp_thread *t);
/* Call around exec in this process: a pending signal of this thread's event would kill the new
 * program. */
void cp_event_control_exec_begin(void);
void cp_event_control_exec_failed(void);

#endif
