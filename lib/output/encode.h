/* SPDX-License-Identifier: BSD-3-Clause */
/* Encodes aggregated and named samples as a pprof profile.
 *
 * The dump calls this under the collector's lock. The encoder doesn't know where samples came from:
 * struct cp_profile_info describes the value types and the meaning of the weights.
 */
#ifndef CP_ENCODE_H
#define CP_ENCODE_H

#include <stdint.h>

#include "profile/aggregate.h"
#include "profile/names.h"
#include "output/pprof.h"
#include "output/row_labels.h"
#include "output/sink.h"

/* The most values that a row may have besides those in struct cp_stack. */
#define CP_ENCODE_MORE 4

struct cp_profile_info {
	const struct cp_pprof_type *types; /* of the values, count first; then the further ones */
	unsigned type_count;		   /* without the further ones */
	unsigned default_type;		   /* as in struct cp_mode_ops */
	unsigned more_count;
	void (*more_values)(const void *context, uint32_t row, uint64_t *values);
	struct cp_pprof_type period_type;
	const char *drop_frames; /* as in struct cp_mode_ops, or NULL */
	uint64_t period;	 /* in period_type's unit */
	uint64_t time_ns;     /* UTC: start of the window; for values of one moment, that moment */
	uint64_t duration_ns; /* 0 = values of one moment */
	const char *labels;   /* k=v,... on every sample; "" = none */
	/* Adds labels of a row to those of its thread and to LABELS; NULL = no such labels. Keys
	 * and units must be constants, because they are compared by address. */
	void (*row_labels)(const void *context, const struct cp_stack *s,
			   struct cp_encode_labels *to);
	const void *context;
	const char *const *comments;
	unsigned comment_count;
	const struct cp_vec *base; /* the values at the begin of a window, which are subtracted
				      (cp_aggregate_since); NULL = none */
};

/* Write A to SINK as a profile. A's locations must already be named. Returns 0 or the first error.
 */
int cp_encode_write(struct cp_aggregate *a, struct cp_names *n, const struct cp_profile_info *info,
		    struct cp_sink *sink);

#endif
