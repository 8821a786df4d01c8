/* From a profile in memory to a gzipped pprof file. Called by the verbs that make profiles. */
#ifndef CT_WRITE_H
#define CT_WRITE_H

#include <stdio.h>
#include <sys/stat.h>

#include "profile.h"

/* 0 or a negative errno. Ids are 1..N in the order of the tables; what nothing refers to is
 * written all the same. */
int ct_write(const struct ct_profile *p, FILE *to);

/* Writes PATH ("-": stdout, unless that is a terminal) as a whole, see target.h. Says on stderr
 * what failed; 0 or a negative errno. */
int ct_write_file(const struct ct_profile *p, const char *path);
/* The same over the file NAME of DIRECTORY that WAS describes, if it is still that one. */
int ct_write_over(const struct ct_profile *p, int directory, const char *name,
		  const struct stat *was);

#endif
