/* SPDX-License-Identifier: BSD-3-Clause */
/* Events by the names that perf gives them. */
#ifndef CP_EVENT_NAMES_H
#define CP_EVENT_NAMES_H

#include "sample/sample.h"

/* The accepted names, for messages. */
#define CP_EVENT_NAMES_ACCEPTED                                                                    \
	"page-faults, minor-faults, major-faults, cycles, instructions, cache-misses, "            \
	"branch-misses, dTLB-load-misses or another event of perf list that happens in the "       \
	"program, and :u for the program's own part"

#define CP_EVENT_NAME_SIZE 32

struct cp_event_name {
	char text[CP_EVENT_NAME_SIZE]; /* perf's first name for it: "page-faults" for "faults" */
	struct cp_perf_what what;
	unsigned period; /* events between samples, unless another number is asked for */
	unsigned least;	 /* the least number of events between samples */
};

/* Find the event TEXT: "page-faults", "cache-misses:u", "LLC-load-misses", "r01c2". Returns false
 * if there is none of that name, or if it can't be sampled. Any context. */
bool cp_event_names_find(const char *text, struct cp_event_name *to);
bool cp_event_names_is_good(const char *text);

#endif
