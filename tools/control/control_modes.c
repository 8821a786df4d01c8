/* SPDX-License-Identifier: BSD-3-Clause */
/* The modes of a profiled process; see control_modes.h. */
#include "control/control_modes.h"

#include <string.h>

const struct ct_control_mode ct_control_modes[CT_MODES] = {
	{ "cpu", "CPUPROFILE", "CPUPROFILE_FREQUENCY", NULL, false },
	{ "wall", "WALLPROFILE", "WALLPROFILE_FREQUENCY", NULL, false },
	{ "heap", "HEAPPROFILE", "CPROF_HEAP_INTERVAL", "peak", false },
	{ "lock", "LOCKPROFILE", "CPROF_LOCK_THRESHOLD", "holders", true },
	{ "io", "IOPROFILE", "CPROF_IO_THRESHOLD", NULL, true },
	{ "event", "EVENTPROFILE", "CPROF_EVENT", NULL, false },
};

int ct_control_modes_find(const char *name)
{
	for (int m = 0; m < CT_MODES; m++)
		if (!strcmp(ct_control_modes[m].name, name))
			return m;
	return -1;
}
