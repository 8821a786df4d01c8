/* SPDX-License-Identifier: BSD-3-Clause */
/* The modes of a profiled process; see control.h. */
#include "control/control.h"

#include <string.h>

const struct ct_control_mode ct_control_modes[CT_MODES] = {
	{ "cpu", "CPUPROFILE", "CPUPROFILE_FREQUENCY", false, { { NULL, NULL, false } } },
	{ "wall", "WALLPROFILE", "WALLPROFILE_FREQUENCY", false, { { NULL, NULL, false } } },
	{ "heap",
	  "HEAPPROFILE",
	  "CPROF_HEAP_INTERVAL",
	  false,
	  { { "peak", "peak", true }, { NULL, NULL, false } } },
	{ "lock",
	  "LOCKPROFILE",
	  "CPROF_LOCK_THRESHOLD",
	  true,
	  { { "holders", "holders", false }, { "wakers", "wakers", false } } },
	{ "io",
	  "IOPROFILE",
	  NULL,
	  true,
	  { { "io_wakers", "wakers", false }, { NULL, NULL, false } } },
	{ "event", "EVENTPROFILE", "CPROF_EVENT", false, { { NULL, NULL, false } } },
};

int ct_control_modes_find(const char *name)
{
	for (int m = 0; m < CT_MODES; m++)
		if (!strcmp(ct_control_modes[m].name, name))
			return m;
	return -1;
}
