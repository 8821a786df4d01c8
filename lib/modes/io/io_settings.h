/* SPDX-License-Identifier: BSD-3-Clause */
/* The I/O mode's settings. */
#ifndef CP_IO_SETTINGS_H
#define CP_IO_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

struct cp_io_settings {
	uint64_t threshold_ns; /* CPROF_IO_THRESHOLD: shorter calls are recorded without a stack */
	unsigned budget;       /* CPROF_IO_BUDGET: stacks per second and thread */
	int target;	       /* CPROF_IO_TARGET: enum cp_io_target */
	bool wakers;	       /* CPROF_IO_WAKERS: who ended the reads of pipes and eventfds */
};

struct cp_config_mode;

/* The table: variables, options, defaults. */
extern const struct cp_config_mode cp_io_settings;

#endif
