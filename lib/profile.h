/* A pprof profile of what was aggregated and named.
 *
 * Called by the dump under the collector's lock. Knows nothing of where samples came
 * from: the source describes its types and what its weights mean.
 */
#ifndef CP_PROFILE_H
#define CP_PROFILE_H

#include <stdint.h>

#include "aggregate.h"
#include "names.h"
#include "pprof.h"
#include "row_labels.h"
#include "sink.h"

struct cp_profile_info {
	const struct cp_pprof_type *types; /* of the values, count first; the last is the default */
	unsigned type_count;
	struct cp_pprof_type period_type;
	uint64_t weight_unit; /* what one of the last value stands for, in its type's unit */
	uint64_t period;      /* in period_type's unit */
	uint64_t time_ns;     /* UTC, start of the window */
	uint64_t duration_ns;
	const char *labels; /* k=v,... on every sample; "" = none */
	/* Labels of a row besides its thread's and LABELS; NULL = none. Keys and units are
	 * constants, known again by their address. */
	void (*row_labels)(const void *context, const struct cp_stack *s,
			   struct cp_profile_labels *to);
	const void *context;
	const char *const *comments;
	unsigned comment_count;
	bool twice; /* another profile of the same rows begins with their locations, too */
};

/* Write A, its locations already named, as a profile to SINK. 0 or the first error. */
int cp_profile_write(struct cp_aggregate *a, struct cp_names *n, const struct cp_profile_info *info,
		     struct cp_sink *sink);

#endif
