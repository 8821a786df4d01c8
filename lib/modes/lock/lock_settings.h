/* SPDX-License-Identifier: BSD-3-Clause */
/* The lock mode's settings. */
#ifndef CP_LOCK_SETTINGS_H
#define CP_LOCK_SETTINGS_H

#include <stdint.h>

struct cp_lock_settings {
	uint64_t threshold_ns; /* CPROF_LOCK_THRESHOLD: shorter waits are counted without a stack */
};

struct cp_config_mode;

/* The table: variables, options, defaults. */
extern const struct cp_config_mode cp_lock_settings;

#endif
