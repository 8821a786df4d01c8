/* SPDX-License-Identifier: BSD-3-Clause */
/* The toy mode's settings. */
#ifndef CP_TOY_SETTINGS_H
#define CP_TOY_SETTINGS_H

struct cp_toy_settings {
	unsigned every; /* TOYPROFILE_EVERY: calls for each sample, 1-1000 */
};

struct cp_config_mode;

/* The table: variables, options, defaults. */
extern const struct cp_config_mode cp_toy_settings;

#endif
