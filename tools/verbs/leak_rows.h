/* SPDX-License-Identifier: BSD-3-Clause */
/* What `cprof leaks` shows: from each dump the bytes and blocks in use by stack of your own code,
 * and from them a row for each stack that holds memory or, with several dumps, that grew by more
 * than chance explains.
 */
#ifndef CT_LEAK_ROWS_H
#define CT_LEAK_ROWS_H

#include "core/model.h"
#include "verbs/own_stack.h"

/* Counts for each power of two seconds, and one for blocks of under a second. */
#define CT_LEAK_AGES 65

/* What is known of a stack's bytes besides their number, by age. */
struct ct_leak_detail {
	double blocks; /* not rounded */
	double bytes[CT_LEAK_AGES],
		variance[CT_LEAK_AGES]; /* [0] is under a second, [n] from 2^(n-1) seconds on */
	double ageless;			/* variance of the bytes whose age isn't known */
	/* The same of the number of blocks, if they come and go at random: the sum of the squares
	 * of their sizes. */
	double turnover[CT_LEAK_AGES], ageless_turnover;
};

struct ct_leak_dump {
	struct ct_profile *p;
	const char *file;
	size_t space; /* index of the type in bytes; the type in blocks is before it */
	struct ct_sums stacks;
	struct ct_leak_detail *details; /* one for each of STACKS */
	size_t detail_count, detail_room;
	int64_t bytes, blocks;
	double variance; /* of the bytes by sampling */
	bool has_ages, is_sampled;
};

struct ct_leak_row {
	const char *stack;
	int64_t bytes, blocks;		     /* in the last dump */
	const struct ct_leak_detail *detail; /* in the last dump */
	double grown; /* bytes, from the first dump to the last: of three or more, by their trend */
	double variance; /* of the bytes or, with several dumps, of the growth */
	/* Has grown, but may have done so for a moment only: by few blocks, or in few dumps. */
	bool is_few;
};

struct ct_leaks {
	struct ct_leak_dump *dumps; /* the oldest first */
	size_t count;
	struct ct_leak_row *rows;
	size_t row_count; /* the last FEW are of stacks that may have grown for a moment only */
	size_t few;
	/* Stacks without a row that were higher in each dump than in the one before. Too few dumps
	 * were given, and no ages, to tell whether they grow. */
	size_t rising;
	double minutes;	 /* time from the first dump to the last */
	bool has_errors; /* some rows have one */
};

/* Reads FILEs, in any order, and makes the rows. OWN is an expression for your own code, or NULL.
 * Returns -1 after an error message. Call ct_leak_rows_release in any case. */
int ct_leak_rows_make(struct ct_leaks *l, char *const *files, size_t count, const char *own);
void ct_leak_rows_release(struct ct_leaks *l);

#endif
