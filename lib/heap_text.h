/* The heap as text, in the form of gperftools' heap profiles, which pprof reads, too. */
#ifndef CP_HEAP_TEXT_H
#define CP_HEAP_TEXT_H

#include "run.h"
#include "sink.h"

/* What R, the heap's run, drained, holds: "heap profile:", a line for each stack with objects and
 * bytes in use and in all, and the list of mappings. 0 or the sink's error. Under the collector's
 * lock. */
int cp_heap_text_write(const struct cp_run *r, struct cp_sink *to);

#endif
