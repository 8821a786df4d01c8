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
#include "sink.h"

struct cp_profile_info {
	const char *type, *unit; /* of the second value: "cpu", "nanoseconds" */
	uint64_t weight_unit;	 /* what one unit of weight stands for, in UNIT */
	uint64_t nominal_period; /* asked for, in UNIT; written when no sample tells better */
	uint64_t time_ns;	 /* UTC, start of the window */
	uint64_t duration_ns;
	const char *labels; /* k=v,... on every sample; "" = none */
	const char *const *comments;
	unsigned comment_count;
};

/* Write A, its locations already named, as a profile to SINK. 0 or the first error. */
int cp_profile_write(struct cp_aggregate *a, struct cp_names *n, const struct cp_profile_info *info,
		     struct cp_sink *sink);

#endif
