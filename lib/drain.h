/* What rings and modes hold goes to the runs that are on. Every function runs under the collector's
 * lock. */
#ifndef CP_DRAIN_H
#define CP_DRAIN_H

#include "run.h"
#include "sigsafe/thread.h"

/* Move what rings and modes hold into RUNS (CP_MODES of them; what isn't running
 * gets nothing), give back rings of ended threads. */
void cp_drain_all(struct cp_run *runs, struct cp_modules *modules);
/* Has the calling thread, T (NULL: it has no record), done anything since the last drain, or has
 * any thread allocated at a new place? Without the lock: T's rings stay while it lives. */
bool cp_drain_has_more(const struct cp_thread *t);
/* Before R begins: what rings still hold is not R's. */
void cp_drain_forget(const struct cp_run *r, struct cp_run *runs, struct cp_modules *modules);
/* The number of T's label in R, for a mode that makes rows itself; CP_NO_THREAD
 * without memory. */
uint32_t cp_drain_label(struct cp_run *r, struct cp_thread *t);
/* The same for who sees to the name before a file is written. */
uint32_t cp_drain_unnamed(struct cp_run *r, struct cp_thread *t);
/* And its label gets the name that T has now. */
void cp_drain_name(struct cp_run *r, const struct cp_thread *t);

#endif
