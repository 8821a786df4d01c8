/* SPDX-License-Identifier: BSD-3-Clause */
/* The wall mode's settings. */
#ifndef CP_WALL_SETTINGS_H
#define CP_WALL_SETTINGS_H

#include <stdint.h>

struct cp_wall_settings {
	unsigned frequency;    /* WALLPROFILE_FREQUENCY, Hz, 1-1000 */
	uint64_t span_slow_ns; /* CPROF_SPAN_SLOW: least length of a slow span; 0 = off */
};

struct cp_config_mode;

/* The table: variables, options, defaults. */
extern const struct cp_config_mode cp_wall_settings;

#endif
