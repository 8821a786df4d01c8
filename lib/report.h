/* What a profile says about itself: its comments, and the lines of CPROF_VERBOSE. */
#ifndef CP_REPORT_H
#define CP_REPORT_H

#include "config.h"
#include "run.h"

#define CP_REPORT_LINES 12
#define CP_REPORT_LINE 256

struct cp_report {
	char lines[CP_REPORT_LINES][CP_REPORT_LINE];
	const char *pointers[CP_REPORT_LINES];
	unsigned count;
};

/* Of R as it is now. Under the collector's lock. */
void cp_report_make(struct cp_report *report, const struct cp_run *r, const struct cp_config *c);

#endif
