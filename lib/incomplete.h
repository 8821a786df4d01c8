/* Which modules' code the stacks ended in that did not reach their thread's start. */
#ifndef CP_INCOMPLETE_H
#define CP_INCOMPLETE_H

#include "report.h"

/* A line with the modules of most of them; none when all stacks are whole. Under the collector's
 * lock. */
void cp_incomplete_report(struct cp_report *out, const struct cp_run *r);

#endif
