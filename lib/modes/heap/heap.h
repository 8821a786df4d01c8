/* SPDX-License-Identifier: BSD-3-Clause */
/* The heap mode: what is allocated, what is in use, what leaked.
 *
 * Samples are taken in modes/heap/signal/heap_event.c. The interposed functions are in
 * modes/heap/hooks. heap_rows.c makes the profile's rows.
 */
#ifndef CP_HEAP_H
#define CP_HEAP_H

#include <stdint.h>

#include "settings/config.h"
#include "output/run.h"
#include "sample/thread.h"

/* As in mode_ops.h. */
int cp_heap_start(struct cp_run *r, const struct cp_config *c);
void cp_heap_stop(struct cp_run *r);
int cp_heap_set(struct cp_run *r, const struct cp_config *c);
uint64_t cp_heap_due(void);
void cp_heap_tick(struct cp_run *r);
void cp_heap_thread_end(struct cp_thread *t);
void cp_heap_fork_child(struct cp_run *r, struct cp_thread *keep);

/* Find the hooks that exist. Call before a start and before taking the collector's lock. */
void cp_heap_prepare(void);
/* Call after a start: prints a message if libcprof can't see the program's allocations. Ordinary
 * context. */
void cp_heap_check(void);
/* Call when a profile is written, with STACKS if it has any: prints a message, once, if libcprof
 * has seen no allocation and another malloc comes before its own. Any context. */
void cp_heap_check_seen(bool stacks);
/* Returns why libcprof doesn't see the program's allocations, or NULL if it does. Any context. */
const char *cp_heap_unseen(void);

/* Call these around a dlclose, after a drain and while the gate is closed. Another module may later
 * be loaded at the addresses of a module that went away. */
struct cp_module_diff *cp_heap_before_unload(void);
void cp_heap_after_unload(struct cp_module_diff *u);

#endif
