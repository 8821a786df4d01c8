/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of the I/O mode's settings; see settings.h. */
#include "modes/io/io.h"

#include "settings/config_rows.h"

#define CP_CONFIG_IN struct cp_io_settings
CP_CONFIG_FITS(struct cp_io_settings);

/* clang-format off */
static const struct cp_config_row rows[] = {
	CHOICE("CPROF_IO_TARGET", target, "none", "none", "last", "full"),
	SWITCH("CPROF_IO_WAKERS", wakers, "0"),
};
/* clang-format on */

const struct cp_config_mode cp_io_settings = {
	.variable = "IOPROFILE",
	.path_option = offsetof(struct cprof_options, io_path),
	.rows = rows,
	.count = sizeof(rows) / sizeof(*rows),
};
