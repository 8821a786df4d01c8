/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of the I/O mode's file, and its lines of comments. All under the collector's lock. */
#ifndef CP_IO_ROWS_H
#define CP_IO_ROWS_H

#include <stdint.h>

#include "output/comments.h"
#include "output/encode.h"
#include "output/run.h"
#include "sample/thread.h"

/* A run, or a fork child, begins: its rows begin at the present counts. */
void cp_io_rows_begin(void);
/* Add RECORD, a call of T, to its row. */
void cp_io_rows_record(struct cp_run *r, struct cp_thread *t, const struct cp_record *record);
/* Add the calls without a stack. */
void cp_io_rows_collect(struct cp_run *r);
void cp_io_rows_labels(const struct cp_run *r, const struct cp_stack *s,
		       struct cp_encode_labels *to);
/* Add a line for each op and kind, the one with the most delay first. */
void cp_io_rows_count(const struct cp_run *r, struct cp_vec *to);
void cp_io_rows_report(struct cp_comments *out, const struct cp_run *r);
/* Return TICKS of R's clock in ns. */
uint64_t cp_io_rows_ns(const struct cp_run *r, uint64_t ticks);

#endif
