/* Which modules' code the stacks ended in that did not reach their thread's start. */
#ifndef CP_INCOMPLETE_H
#define CP_INCOMPLETE_H

#include <stdbool.h>
#include <stddef.h>

#include "run.h"

/* " libfoo.so 12 (at +0x1234); ..." of the modules with most of them, in TO. False: all stacks are
 * whole. Under the collector's lock. */
bool cp_incomplete_describe(const struct cp_run *r, char *to, size_t size);

#endif
