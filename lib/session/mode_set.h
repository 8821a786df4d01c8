/* SPDX-License-Identifier: BSD-3-Clause */
/* Changes settings of a mode while it is on. */
#ifndef CP_MODE_SET_H
#define CP_MODE_SET_H

#include "sample/mode.h"

#define CP_MODE_SET_MOST 4 /* settings of one mode that can be changed */

struct cp_mode_set {
	unsigned mode;			      /* below CP_MAIN_MODES */
	const char *(*name)(const char *key); /* the value of a variable, or NULL */
	unsigned count;			      /* out: the settings that were given */
	char changes[CP_MODE_SET_MOST][72];   /* out: "KEY=VALUE, before: VALUE" */
	char why[192];			      /* out, with -ERANGE: which value, what is accepted */
	int result; /* out: 0; -ESRCH: the mode isn't on; -EINVAL: none is given that can be
		       changed; -ERANGE; -EOPNOTSUPP: this change needs a new start */
};

/* Reads the settings of the mode and goes on with them, with all or none. Changes to the same value
 * count. For cp_collect_run, which holds the lock; ARG is a struct cp_mode_set. */
void cp_mode_set_apply(void *arg);

#endif
