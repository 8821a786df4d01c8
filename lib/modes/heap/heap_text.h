/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the heap as text, in the form of gperftools' heap profiles, which pprof can also read. */
#ifndef CP_HEAP_TEXT_H
#define CP_HEAP_TEXT_H

#include "output/run.h"
#include "output/sink.h"

/* Write R, the heap's drained run: "heap profile:", one line per stack with the objects and bytes
 * in use and in total, and the list of mappings. Returns 0 or the sink's error. Call with the
 * collector's lock held. */
int cp_heap_text_write(const struct cp_run *r, struct cp_sink *to);

#endif
