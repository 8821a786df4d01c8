/* SPDX-License-Identifier: BSD-3-Clause */
/* Latencies of the program's spans, by span name. Lock-free; any context. */
#ifndef CP_SPANS_H
#define CP_SPANS_H

#include <stddef.h>
#include <stdint.h>

#include "labels/signal/histogram.h"

#define CP_SPAN_NAME 64
#define CP_SPANS_MAX 256

struct cp_span_kind {
	uint32_t taken; /* 1 once a thread is writing its name */
	uint32_t hash;
	char name[CP_SPAN_NAME];
	struct cp_histogram latency;
};

/* Returns the kind called NAME (cut at CP_SPAN_NAME - 1 bytes), and makes it if it is new. Returns
 * NULL without memory, or if there are CP_SPANS_MAX other kinds; CP_COUNT_LOST_SPANS counts these
 * cases. */
struct cp_span_kind *cp_spans_get(const char *name);
/* Returns the kind called NAME, or NULL. Never makes one. */
struct cp_span_kind *cp_spans_find(const char *name);
/* Returns the kind at place I, or NULL. For iterating over all kinds. */
struct cp_span_kind *cp_spans_at(unsigned i);
/* In a fork child: removes all kinds. */
void cp_spans_fork_child(void);

#endif
