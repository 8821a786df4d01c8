/* SPDX-License-Identifier: BSD-3-Clause */
/* Names the modules in whose code stacks ended that did not reach their thread's start. */
#ifndef CP_INCOMPLETE_H
#define CP_INCOMPLETE_H

#include <stdbool.h>
#include <stddef.h>

#include "output/run.h"

/* Write " libfoo.so 12 (at +0x1234); ..." to TO, for the modules with the most incomplete stacks of
 * R or of its window. Returns false if all stacks are complete. Call with the collector's lock
 * held. */
bool cp_incomplete_describe(const struct cp_run *r, char *to, size_t size);

#endif
