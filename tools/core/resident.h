/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of a process's resident memory, from the comments of a heap profile. */
#ifndef CT_RESIDENT_H
#define CT_RESIDENT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/model.h"

#define CT_RESIDENT_ROWS 16

struct ct_resident_row {
	char name[40];
	int64_t bytes;
};

struct ct_resident {
	int64_t all; /* bytes */
	size_t count;
	struct ct_resident_row rows[CT_RESIDENT_ROWS];
};

/* Reads the table. Returns false if P has none. */
bool ct_resident_read(const struct ct_profile *p, struct ct_resident *to);
/* Prints the table to stdout. VARIANCE is that of the bytes in use by sampling, 0 if it isn't
 * known. */
void ct_resident_print(const struct ct_resident *r, double variance);
/* Prints a hint on stderr if most of the memory is the allocator's, and the profile doesn't say
 * why. */
void ct_resident_hint(const struct ct_resident *r);

#endif
