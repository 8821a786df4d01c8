/* SPDX-License-Identifier: BSD-3-Clause */
/* The event mode's settings. */
#ifndef CP_EVENT_SETTINGS_H
#define CP_EVENT_SETTINGS_H

struct cp_event_settings {
	char event[1024]; /* CPROF_EVENT: a name of event_names.h */
	unsigned period;  /* CPROF_EVENT_PERIOD, events; 0 = the event's own */
};

struct cp_config_mode;

/* The table: variables, options, defaults. */
extern const struct cp_config_mode cp_event_settings;

#endif
