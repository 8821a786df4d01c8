/* SPDX-License-Identifier: BSD-3-Clause */
/* Gives up the rows of a run that nobody will ask for: a run without a file, whose windows are
 * taken. Under the collector's lock. */
#ifndef CP_SHRINK_H
#define CP_SHRINK_H

#include "output/run.h"

/* Gives up the rows of R that no consumer needs, and the labels of threads that have no row left,
 * if that is worth the work. R's rows are only those of records. */
void cp_shrink_run(struct cp_run *r);

#endif
