/* SPDX-License-Identifier: BSD-3-Clause */
/* A profile's comments: settings, losses and costs. CPROF_VERBOSE prints the same lines. */
#ifndef CP_COMMENTS_H
#define CP_COMMENTS_H

#include "settings/config.h"
#include "output/run.h"

#define CP_COMMENTS_LINES 56
#define CP_COMMENTS_LINE 320

struct cp_comments {
	char lines[CP_COMMENTS_LINES][CP_COMMENTS_LINE];
	const char *pointers[CP_COMMENTS_LINES];
	unsigned count;
	const struct cp_vec *own, *own_begin; /* the mode's own counters; see cp_comments_own */
};

/* Make the comments of R as it is now. Call with the collector's lock held. */
void cp_comments_make(struct cp_comments *report, const struct cp_run *r,
		      const struct cp_config *c);

/* Add one line; modes call this. A line is cut at CP_COMMENTS_LINE bytes. Lines past
 * CP_COMMENTS_LINES are left out. */
void cp_comments_line(struct cp_comments *report, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Returns number I of those that the mode counts itself (mode_ops.h, COUNT), in the run or in the
 * window that is reported. */
uint64_t cp_comments_own(const struct cp_comments *report, size_t i);
/* Returns number I where it is the longest of some events: that of the run; of a window 0 if none
 * of its events was longer than all before. */
uint64_t cp_comments_own_longest(const struct cp_comments *report, size_t i);
/* Return NS in seconds as "12.345", and PART of WHOLE in per cent as "1.23". The last eight results
 * of each function stay valid. */
const char *cp_comments_seconds(uint64_t ns);
const char *cp_comments_percent(uint64_t part, uint64_t whole);
/* Lines of the modes that record waits: what R lost of them, and what its stacks, taken WHERE,
 * cost.
 */
void cp_comments_waits_lost(struct cp_comments *report, const struct cp_run *r);
void cp_comments_stacks_cost(struct cp_comments *report, const struct cp_run *r, const char *where);

#endif
