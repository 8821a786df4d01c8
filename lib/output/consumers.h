/* SPDX-License-Identifier: BSD-3-Clause */
/* Those who take windows of a run, over the control socket. Each has the values of the run's rows
 * at the begin of its window, so several consumers don't disturb each other.
 *
 * Under the collector's lock.
 */
#ifndef CP_CONSUMERS_H
#define CP_CONSUMERS_H

#include "output/run.h"

struct cp_consumer *cp_consumers_find(struct cp_run *r, uint64_t id);
/* Adds a consumer whose window begins with the run. Pointers to others are void then. Returns NULL
 * if there are too many, or no memory. */
struct cp_consumer *cp_consumers_add(struct cp_run *r, uint64_t id);
/* Gives a consumer that follows R, and whose process is gone, the new number ID: its window goes
 * on. Returns NULL if there is none. */
struct cp_consumer *cp_consumers_take_over(struct cp_run *r, uint64_t id);
/* Pointers to others are void then. */
void cp_consumers_remove(struct cp_run *r, struct cp_consumer *c);
/* Removes those whose time is over. */
void cp_consumers_expire(struct cp_run *r, uint64_t now);
/* Returns when the last of them is forgotten; 0: there is none. */
uint64_t cp_consumers_until(const struct cp_run *r);

/* Ends C's window: notes R as it is now as the begin of the next one. R is settled. The window that
 * it ends can be written until cp_consumers_confirm. Returns 0 or -ENOMEM. */
int cp_consumers_end_window(const struct cp_run *r, struct cp_consumer *c);
/* Makes VIEW a copy of R for C's window, which has ended. VIEW can be written and goes into no
 * other function. Times and counters are those of the window; rows and names are to be taken from
 * VIEW's ROWS, because only those are kept up to date, and values with cp_consumers_base. */
void cp_consumers_view(const struct cp_run *r, const struct cp_consumer *c, struct cp_run *view);
/* Returns the values of R's rows at the begin of the window, for cp_aggregate_since; NULL: R is no
 * view of a window. */
const struct cp_vec *cp_consumers_base(const struct cp_run *r);
/* The client has the window that was ended, or (RECEIVED false) it hasn't: then the next window
 * begins where that one began. Without an ended window nothing happens. */
void cp_consumers_confirm(struct cp_consumer *c, bool received);

/* Does anybody need row NUMBER of R for a window? */
bool cp_consumers_need(const struct cp_run *r, uint32_t number);
/* R's rows were renumbered: KEPT tells which of the first COUNT rows have stayed. */
void cp_consumers_rows_moved(struct cp_run *r, bool (*kept)(uint32_t row, const void *arg),
			     const void *arg);

#endif
