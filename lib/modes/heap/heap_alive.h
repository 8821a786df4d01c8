/* SPDX-License-Identifier: BSD-3-Clause */
/* The blocks that are still in use, in the profile of lifetimes. */
#ifndef CP_HEAP_ALIVE_H
#define CP_HEAP_ALIVE_H

#include "output/run.h"

/* Adds a row of R, the run of the lifetimes, for each stack and age of the live blocks: their
 * objects and bytes, not rounded. Stacks whose modules have gone away are left out. Call with the
 * collector's lock held. */
void cp_heap_alive_add(struct cp_run *r);

#endif
