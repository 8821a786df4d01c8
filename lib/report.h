/* What a profile says about itself: its comments, and the lines of CPROF_VERBOSE. */
#ifndef CP_REPORT_H
#define CP_REPORT_H

#include "config.h"
#include "run.h"

#define CP_REPORT_LINES 48
#define CP_REPORT_LINE 256

struct cp_report {
	char lines[CP_REPORT_LINES][CP_REPORT_LINE];
	const char *pointers[CP_REPORT_LINES];
	unsigned count;
};

/* Of R as it is now. Under the collector's lock. */
void cp_report_make(struct cp_report *report, const struct cp_run *r, const struct cp_config *c);

/* For modes: one more line, cut at CP_REPORT_LINE; those past CP_REPORT_LINES are left out. */
void cp_report_line(struct cp_report *report, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* "12.345" of NS; "1.23" for PART of WHOLE in per cent. Eight of each live at a time. */
const char *cp_report_seconds(uint64_t ns);
const char *cp_report_percent(uint64_t part, uint64_t whole);

#endif
