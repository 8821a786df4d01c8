/* SPDX-License-Identifier: BSD-3-Clause */
/* `cprof convert`'s writers; each takes a struct ct_convert. See flame.h. */
#ifndef CT_CONVERT_H
#define CT_CONVERT_H

#include "core/model.h"

struct ct_convert {
	const struct ct_profile *profile;
	const char *name; /* name of the profile in the reader */
	size_t type;	  /* type that is shown first */
	bool threads;	  /* a profile for each thread */
	int *error;	  /* gets a negative errno that isn't due to the file */
};

void ct_convert_speedscope(const void *what, FILE *to);
void ct_convert_callgrind(const void *what, FILE *to);
void ct_convert_otlp(const void *what, FILE *to);

extern const struct ct_verb ct_verb_convert;

#endif
