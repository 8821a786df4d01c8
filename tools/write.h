/* From a profile in memory to a gzipped pprof file. Called by the verbs that make profiles. */
#ifndef CT_WRITE_H
#define CT_WRITE_H

#include <stdio.h>

#include "profile.h"

/* 0 or a negative errno. Ids are 1..N in the order of the tables; what nothing refers to is
 * written all the same. */
int ct_write(const struct ct_profile *p, FILE *to);

/* Writes PATH ("-": stdout, unless that is a terminal) as a whole: a temporary file beside
 * it is renamed when it is complete; mode 0600, or the replaced file's. Says on stderr what
 * failed; 0 or a negative errno. */
int ct_write_file(const struct ct_profile *p, const char *path);

#endif
