/* SPDX-License-Identifier: BSD-3-Clause */
/* The modes as a profiled process is told of them. */
#ifndef CT_CONTROL_MODES_H
#define CT_CONTROL_MODES_H

#include <stdbool.h>

enum { CT_CPU, CT_WALL, CT_HEAP, CT_LOCK, CT_IO, CT_EVENT, CT_MODES };

/* Another view of a mode's samples: a profile of its own. */
struct ct_companion {
	const char *name;  /* as the process calls it; NULL: there is none */
	const char *infix; /* of its file's name: NAME.peak.EXT */
	/* The profile has the mode's samples once more, so no window of it is kept or pushed. */
	bool repeats;
};

#define CT_COMPANIONS 2

struct ct_control_mode {
	const char *name, *path; /* "cpu"; the variable of its file */
	const char *setting;	 /* the variable of its setting; NULL: it has none */
	bool waits; /* it records waits: what is lost is counted in ns, not in samples */
	struct ct_companion companions[CT_COMPANIONS];
};

extern const struct ct_control_mode ct_control_modes[CT_MODES];

/* Returns the number of the mode NAME, or -1. */
int ct_control_modes_find(const char *name);

#endif
