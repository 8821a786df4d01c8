/* SPDX-License-Identifier: BSD-3-Clause */
/* For the files that define a table of settings (settings.h): how a row is written, and what
 * several tables have in common. */
#ifndef CP_CONFIG_ROWS_H
#define CP_CONFIG_ROWS_H

#include "settings/settings.h"

/* The struct that has the fields is CP_CONFIG_IN. */
/* clang-format off */
#define CP_CONFIG_AT(is, name, of) .variable = (name), .kind = CP_CONFIG_##is, .at = offsetof(CP_CONFIG_IN, of)
#define NUMBER(variable, field, default, least, most, ...) \
	{ CP_CONFIG_AT(NUMBER, variable, field), .standard = (default), .min = (least), .max = (most), .accepted = __VA_ARGS__ }
#define SIZE(variable, field, default, least, most, ...) \
	{ CP_CONFIG_AT(SIZE, variable, field), .standard = (default), .min = (least), .max = (most), .accepted = __VA_ARGS__ }
#define TIMES(variable, field, default, least, most, ...) \
	{ CP_CONFIG_AT(TIMES, variable, field), .standard = (default), .min = (least), .max = (most), .accepted = __VA_ARGS__ }
#define DURATION(variable, field, default, least, most, ...) \
	{ CP_CONFIG_AT(DURATION, variable, field), .standard = (default), .min = (least), .max = (most), .accepted = __VA_ARGS__ }
#define SWITCH(variable, field, ...) \
	{ CP_CONFIG_AT(SWITCH, variable, field), .max = 1, .standard = __VA_ARGS__ }
#define SIGNAL(variable, field, default) \
	{ CP_CONFIG_AT(SIGNAL, variable, field), .standard = (default) }
#define CHOICE(variable, field, default, ...) \
	{ CP_CONFIG_AT(CHOICE, variable, field), .standard = (default), .names = (const char *const[CP_CONFIG_NAMES]){ __VA_ARGS__ } }
#define LIST(variable, field, default, ...) \
	{ CP_CONFIG_AT(LIST, variable, field), .standard = (default), .names = (const char *const[CP_CONFIG_NAMES]){ __VA_ARGS__ } }
#define TEXT(variable, field, what, then, ...) \
	{ CP_CONFIG_AT(TEXT, variable, field), .accepted = (what), .otherwise = (then), .instead = __VA_ARGS__ }
/* At the end of a row: the field of struct cprof_options for the same setting. */
#define OPTION(field) .option = offsetof(struct cprof_options, field)
/* After OPTION: the setting can be changed while the mode is on, by the mode's SET (output.h). */
#define LIVE .live = true
/* The number may be a percentage (CP_CONFIG_PERCENT). */
#define OR_PERCENT .percent = true
/* clang-format on */

#define CP_CONFIG_SECOND UINT64_C(1000000000)
/* Dumps by time. A shorter interval would cost more than the sampling; a longer one amounts to
 * "off". */
#define CP_CONFIG_DUMP_MIN (CP_CONFIG_SECOND / 100)
#define CP_CONFIG_DUMP_MAX (CP_CONFIG_SECOND * 3600 * 24 * 365)

/* A mode's struct of settings must fit into struct cp_config. */
#define CP_CONFIG_FITS(type)                                                                       \
	_Static_assert(sizeof(type) <= CP_CONFIG_MODE_WORDS * sizeof(uint64_t), "too many "        \
										"settings")

#endif
