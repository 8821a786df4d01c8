/* The heap mode: what is allocated, what is live, what leaked. The event half is
 * sigsafe/heap_event.c, the interposed functions are in preload/, rows are made in heap_rows.c.
 */
#ifndef CP_HEAP_H
#define CP_HEAP_H

#include <stdint.h>

#include "config.h"
#include "run.h"
#include "sigsafe/thread.h"

/* As in mode.h. */
int cp_heap_start(struct cp_run *r, const struct cp_config *c);
void cp_heap_stop(struct cp_run *r);
uint64_t cp_heap_due(void);
void cp_heap_tick(struct cp_run *r);
void cp_heap_thread_end(struct cp_thread *t);
void cp_heap_fork_child(struct cp_run *r, struct cp_thread *keep);

/* Before a start, and before the collector's lock: find what hooks there are. */
void cp_heap_prepare(void);
/* After a start: say so if the program's allocations don't come to us. Ordinary context. */
void cp_heap_check(void);

/* Around a dlclose, after a drain and while the gate is closed: where a module has gone, the same
 * addresses may be another's from now on. */
struct cp_unloaded *cp_heap_before_unload(void);
void cp_heap_after_unload(struct cp_unloaded *u);

#endif
