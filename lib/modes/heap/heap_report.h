/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the heap mode and its companions say of themselves: comments in the form of
 * cp_mode_ops.report. Called by the pipeline, under the collector's lock.
 */
#ifndef CP_HEAP_REPORT_H
#define CP_HEAP_REPORT_H

#include "output/comments.h"
#include "output/run.h"
#include "settings/config.h"

/* Sums, the process's memory, lost samples, and with CPROF_VERBOSE the largest stacks in use. */
void cp_heap_report(struct cp_comments *out, const struct cp_run *r, const struct cp_config *c);
void cp_heap_report_peak(struct cp_comments *out, const struct cp_run *r,
			 const struct cp_config *c);
void cp_heap_report_mappings(struct cp_comments *out, const struct cp_run *r,
			     const struct cp_config *c);
void cp_heap_report_lifetimes(struct cp_comments *out, const struct cp_run *r,
			      const struct cp_config *c);

#endif
