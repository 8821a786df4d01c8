/* SPDX-License-Identifier: BSD-3-Clause */
/* The table "Your code": the cost of each function of the program's own modules, including its
 * calls into libraries. */
#ifndef CT_OWN_TABLE_H
#define CT_OWN_TABLE_H

#include "core/own.h"
#include "core/report.h"

struct ct_own_row {
	uint32_t node; /* node of the report's graph */
	int64_t own;   /* value of samples in which this is the innermost own function */
	int64_t total; /* value including the own functions that it calls */
};

struct ct_own_table {
	struct ct_own_row *rows; /* the largest first */
	size_t count;
	int64_t inside, outside; /* sums of samples with and without an own function */
};

/* The option -own of top and run. */
extern const struct ct_option ct_own_options[];

/* Returns -1 after a message if -own is no expression. */
int ct_own_table_check(void);
/* The rule which frames of P are own code, by -own; NULL: none is (-own=). The caller frees it. */
struct ct_own *ct_own_table_rule(const struct ct_profile *p);
/* Sums up the samples of R, whose graph must be made. Returns -1 after a message if -own is no
 * expression. The caller releases the table. */
int ct_own_table_make(struct ct_own_table *t, const struct ct_report *r);
void ct_own_table_release(struct ct_own_table *t);
/* Prints at most ROWS rows (0: all), and an empty line. Prints nothing if the program's own code
 * has no samples. */
void ct_own_table_print(const struct ct_own_table *t, const struct ct_report *r, size_t rows);
void ct_own_table_json(const struct ct_own_table *t, const struct ct_report *r, struct ct_json *j);

#endif
