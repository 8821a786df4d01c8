/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of the lock mode's settings; see settings.h. */
#include "modes/lock/lock.h"

#include "settings/config_rows.h"

#define CP_CONFIG_IN struct cp_lock_settings
CP_CONFIG_FITS(struct cp_lock_settings);

/* clang-format off */
static const struct cp_config_row rows[] = {
	DURATION("CPROF_LOCK_THRESHOLD", threshold_ns, "1us", 1, CP_CONFIG_SECOND * 3600,
		 "a duration as 1us or 5ms (1ns to 1h), or 0", OPTION(lock_threshold_ns), LIVE),
};
/* clang-format on */

const struct cp_config_mode cp_lock_settings = {
	.variable = "LOCKPROFILE",
	.path_option = offsetof(struct cprof_options, lock_path),
	.rows = rows,
	.count = sizeof(rows) / sizeof(*rows),
};
