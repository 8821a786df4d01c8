/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of the toy mode's settings; see settings.h. */
#include "modes/toy/toy_settings.h"

#include "settings/config_rows.h"

#define CP_CONFIG_IN struct cp_toy_settings
CP_CONFIG_FITS(struct cp_toy_settings);

/* clang-format off */
static const struct cp_config_row rows[] = {
	NUMBER("TOYPROFILE_EVERY", every, "1", 1, 1000, "calls", OPTION(toy_every)),
};
/* clang-format on */

const struct cp_config_mode cp_toy_settings = {
	.variable = "TOYPROFILE",
	.path_option = offsetof(struct cprof_options, toy_path),
	.rows = rows,
	.count = sizeof(rows) / sizeof(*rows),
};
