/* SPDX-License-Identifier: BSD-3-Clause */
/* The I/O mode's settings. */
#ifndef CP_IO_SETTINGS_H
#define CP_IO_SETTINGS_H

#include <stdbool.h>

struct cp_io_settings {
	int target;  /* CPROF_IO_TARGET: enum cp_io_target */
	bool wakers; /* CPROF_IO_WAKERS: who ended the reads of pipes and eventfds */
};

struct cp_config_mode;

/* The table: variables, options, defaults. */
extern const struct cp_config_mode cp_io_settings;

#endif
