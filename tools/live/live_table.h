/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of a window: your code, and all, as `cprof top` has them. */
#ifndef CT_LIVE_TABLE_H
#define CT_LIVE_TABLE_H

#include <stdbool.h>

#include "core/model.h"
#include "core/numbers.h"

struct ct_live_row {
	char *name;
	int64_t self, total; /* SELF of your code: with the libraries that it calls */
};

struct ct_live_table {
	struct ct_live_row *own, *all;
	size_t own_count, all_count;
	int64_t sum;	/* of all samples */
	int64_t inside; /* of those with your code */
	int64_t samples;
	size_t type; /* of the profile */
	const char *from_unit;
	char unit[16]; /* for the rows */
};

/* Makes *T from P, which must live as long. TYPE: a sample type of P. */
void ct_live_table_make(struct ct_live_table *t, struct ct_profile *p, size_t type);
void ct_live_table_sort(struct ct_live_table *t, bool by_total);
void ct_live_table_release(struct ct_live_table *t);

/* Writes VALUE in the rows' unit, or in the one that fits it. */
char *ct_live_table_value(const struct ct_live_table *t, char *to, int64_t value);
char *ct_live_table_fitting(const struct ct_live_table *t, char *to, int64_t value);

#endif
