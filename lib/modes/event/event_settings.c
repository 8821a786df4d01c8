/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of the event mode's settings; see settings.h. */
#include "modes/event/event.h"

#include "settings/config_rows.h"

#define CP_CONFIG_IN struct cp_event_settings
CP_CONFIG_FITS(struct cp_event_settings);

/* clang-format off */
static const struct cp_config_row rows[] = {
	TEXT("CPROF_EVENT", event, CP_EVENT_NAMES_ACCEPTED, "page-faults", "page-faults", .standard = "page-faults",
	     .is_good = cp_event_names_is_good, OPTION(event)),
	NUMBER("CPROF_EVENT_PERIOD", period, NULL, 1, 1000000000, "events", OPTION(event_period), LIVE),
};
/* clang-format on */

const struct cp_config_mode cp_event_settings = {
	.variable = "EVENTPROFILE",
	.path_option = offsetof(struct cprof_options, event_path),
	.rows = rows,
	.count = sizeof(rows) / sizeof(*rows),
};
