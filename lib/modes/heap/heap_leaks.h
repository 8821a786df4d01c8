/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes what is in use as text, the largest stacks first. At exit, this memory is what leaked. */
#ifndef CP_HEAP_LEAKS_H
#define CP_HEAP_LEAKS_H

#include "output/comments.h"
#include "output/run.h"

/* Add one line for each of the few stacks that hold the most, and one line for the total. Call
 * after the names were updated. */
void cp_heap_leaks_report(struct cp_comments *out, const struct cp_run *r);

#endif
