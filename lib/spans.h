/* Latencies of the program's spans, by name. Lock-free; any context. */
#ifndef CP_SPANS_H
#define CP_SPANS_H

#include <stddef.h>
#include <stdint.h>

#include "sigsafe/histogram.h"

#define CP_SPAN_NAME 64
#define CP_SPANS_MAX 256

struct cp_span_kind {
	uint32_t taken; /* 1 once it is being named */
	uint32_t hash;
	char name[CP_SPAN_NAME];
	struct cp_histogram latency;
};

/* The kind called NAME (cut at CP_SPAN_NAME - 1 bytes), made when it is new; NULL: no memory, or
 * CP_SPANS_MAX others, which is counted (CP_COUNT_LOST_SPANS). */
struct cp_span_kind *cp_spans_get(const char *name);
/* The same, but never made. */
struct cp_span_kind *cp_spans_find(const char *name);
/* The one at place I, or NULL: for a walk over all. */
struct cp_span_kind *cp_spans_at(unsigned i);
/* In a fork child: none was seen yet. */
void cp_spans_fork_child(void);

#endif
