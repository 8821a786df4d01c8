/* SPDX-License-Identifier: BSD-3-Clause */
/* From a profile in memory to a gzipped pprof file. Called by the verbs that make profiles. */
#ifndef CT_WRITE_H
#define CT_WRITE_H

#include <stdio.h>

#include "core/model.h"

/* Returns 0 or a negative errno. Ids are 1..N in the order of the tables. Entries that nothing
 * refers to are written, too. */
int ct_write(const struct ct_profile *p, FILE *to);

/* Writes PATH ("-": stdout, unless that is a terminal) as a whole; see target.h. Prints a message
 * on stderr if that fails. Returns 0 or a negative errno. */
int ct_write_file(const struct ct_profile *p, const char *path);
/* The same for a file that was read from PATH: it is as old as before. */
int ct_write_file_in_place(const struct ct_profile *p, const char *path);

#endif
