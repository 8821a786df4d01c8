/* SPDX-License-Identifier: BSD-3-Clause */
/* The second table of `cprof waits`: who ended the waits, from the files of wakers beside the wall
 * profile. */
#ifndef CT_WAITS_WAKERS_H
#define CT_WAITS_WAKERS_H

#include "core/model.h"

/* Print, for each file of wakers that the same run wrote beside FILE, the ROWS (0: all) functions
 * that waited longest, each with the functions that ended its waits. WALL is the content of FILE;
 * OWN is the expression of -own, or NULL. Returns how many such files there are; a file that can't
 * be read doesn't count, after a message. */
unsigned ct_waits_wakers_print(const char *file, const struct ct_profile *wall, const char *own,
			       long rows);

#endif
