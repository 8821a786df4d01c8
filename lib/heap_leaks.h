/* What is in use, the largest first, as text: at exit that is what leaked. */
#ifndef CP_HEAP_LEAKS_H
#define CP_HEAP_LEAKS_H

#include "report.h"
#include "run.h"

/* A line for each of the few stacks that hold the most, and one for all. After the names were
 * updated. */
void cp_heap_leaks_report(struct cp_report *out, const struct cp_run *r);

#endif
