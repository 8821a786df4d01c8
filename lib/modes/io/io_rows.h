/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of the I/O mode's file, and its lines of comments. All under the collector's lock. */
#ifndef CP_IO_ROWS_H
#define CP_IO_ROWS_H

#include <stdint.h>

#include "output/comments.h"
#include "output/encode.h"
#include "output/run.h"
#include "sample/thread.h"

/* A run begins, with counts that are 0. */
void cp_io_rows_start(void);
/* The same in a fork child. */
void cp_io_rows_fork_child(void);
/* Note that RECORD, a call of T, is a sample of its row. */
void cp_io_rows_record(struct cp_run *r, struct cp_thread *t, const struct cp_record *record);
/* Note what was counted since the last time: the exact totals of each thread, op and kind. */
void cp_io_rows_tell(struct cp_run *r);
/* T has ended: its totals are handed over. */
void cp_io_rows_released(struct cp_run *r, struct cp_thread *t);
/* Bring the rows up to what was noted: each thread's rows of an op and kind sum to the exact total
 * (strata.h). */
void cp_io_rows_settle(struct cp_run *r);
void cp_io_rows_labels(const struct cp_run *r, const struct cp_stack *s,
		       struct cp_encode_labels *to);
/* Add a line for each op and kind, the one with the most delay first. */
void cp_io_rows_count(const struct cp_run *r, struct cp_vec *to);
void cp_io_rows_report(struct cp_comments *out, const struct cp_run *r);
/* Return TICKS of R's clock in ns. */
uint64_t cp_io_rows_ns(const struct cp_run *r, uint64_t ticks);

#endif
