/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of the wall mode's settings; see settings.h. */
#include "modes/wall/wall.h"

#include <string.h>

#include "settings/config_rows.h"

#define CP_CONFIG_IN struct cp_wall_settings
CP_CONFIG_FITS(struct cp_wall_settings);

/* clang-format off */
static const struct cp_config_row rows[] = {
	NUMBER("WALLPROFILE_FREQUENCY", frequency, "50", 1, 1000, "samples per second", OPTION(wall_frequency), LIVE),
};

static const struct cp_config_row realtime_rate = NUMBER("CPUPROFILE_FREQUENCY", frequency, NULL, 1, 1000, "with CPUPROFILE_REALTIME");
/* clang-format on */

/* Reads gperftools' wall clock switch: it turns the profile that CPUPROFILE names, or that
 * ProfilerStart will start, into a wall profile. */
static void read_realtime(const struct cp_config_reader *r, struct cp_config *c)
{
	if (!cp_config_reader_switch(r, "CPUPROFILE_REALTIME"))
		return;
	if (c->path[CPROF_WALL][0]) {
		cp_config_reader_say(r, "CPUPROFILE_REALTIME", "1", "0 where WALLPROFILE is set",
				     "0");
		return;
	}
	memcpy(c->path[CPROF_WALL], c->path[CPROF_CPU], sizeof(c->path[0]));
	c->path[CPROF_CPU][0] = '\0';
	c->named_mode = CPROF_WALL;
	if (!cp_config_reader_get(r, "WALLPROFILE_FREQUENCY"))
		cp_config_reader_read(r, &realtime_rate, cp_config_of(c, CPROF_WALL));
}

const struct cp_config_mode cp_wall_settings = {
	.variable = "WALLPROFILE",
	.path_option = offsetof(struct cprof_options, wall_path),
	.rows = rows,
	.count = sizeof(rows) / sizeof(*rows),
	.read = read_realtime,
};
