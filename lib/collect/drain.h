/* SPDX-License-Identifier: BSD-3-Clause */
/* Moves the contents of rings and modes into the running runs. Every function runs under the
 * collector's lock, unless it says otherwise.
 */
#ifndef CP_DRAIN_H
#define CP_DRAIN_H

#include "output/run.h"
#include "sample/thread.h"

/* Move the contents of rings and modes into RUNS (CP_MODES of them; a run that is off gets
 * nothing), and give back the rings of ended threads. */
void cp_drain_all(struct cp_run *runs, struct cp_modules *modules);
/* Return true if the calling thread, T (NULL: it has no record), has done anything since the last
 * drain, or any thread has allocated at a new place. Needs no lock: T's rings stay while T lives.
 */
bool cp_drain_has_more(const struct cp_thread *t);
/* Drain before R begins, so that earlier ring contents do not become R's. */
void cp_drain_forget(const struct cp_run *r, struct cp_run *runs, struct cp_modules *modules);
/* Return the number of T's label in R, for a mode that makes rows itself; CP_NO_THREAD if memory is
 * exhausted. */
uint32_t cp_drain_label(struct cp_run *r, struct cp_thread *t);
/* The same for a caller that calls cp_drain_name before a file is written. */
uint32_t cp_drain_unnamed(struct cp_run *r, struct cp_thread *t);
/* Give T's label in R the name that T has now. */
void cp_drain_name(struct cp_run *r, const struct cp_thread *t);

#endif
