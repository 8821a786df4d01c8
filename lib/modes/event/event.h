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

/* Begin or end the event of a registered thread. Call on that thread or in the sweep. */
void cp_event_control_thread_begin(struct cp_thread *t);
void cp_event_control_thread_end(struct cp_thread *t);

#endif
