/* SPDX-License-Identifier: BSD-3-Clause */
/* The modes as a profiled process is told of them. */
#ifndef CT_CONTROL_MODES_H
#define CT_CONTROL_MODES_H

#include <stdbool.h>

enum { CT_CPU, CT_WALL, CT_HEAP, CT_LOCK, CT_IO, CT_EVENT, CT_MODES };

struct ct_control_mode {
	const char *name, *path, *setting; /* "cpu"; the variables of its file and of its setting */
	const char *companion;		   /* another view of the same samples, or NULL */
	bool waits; /* it records waits: what is lost is counted in ns, not in samples */
};

extern const struct ct_control_mode ct_control_modes[CT_MODES];

/* Returns the number of the mode NAME, or -1. */
int ct_control_modes_find(const char *name);

#endif
