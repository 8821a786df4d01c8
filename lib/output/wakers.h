/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of wakers have in common: the control half of sample/wakes.h for the companions of
 * the lock mode and of the I/O mode. OF is one of CP_WAKES_OF_*.
 *
 * Under the collector's lock.
 */
#ifndef CP_WAKERS_H
#define CP_WAKERS_H

#include <stdint.h>

#include "output/comments.h"
#include "output/run.h"
#include "sample/wakes.h"

/* Counting begins anew, and from now on waits are followed. SINCE is set here. */
void cp_wakers_start(unsigned of, struct cp_wakes_settings s);
void cp_wakers_stop(unsigned of);
/* KEEP is the thread that goes on with its profile in a fork's child; NULL: the child has none. */
void cp_wakers_fork_child(unsigned of, struct cp_thread *keep);

/* For struct cp_mode_ops. */
uint64_t cp_wakers_period(const struct cp_run *r);

void cp_wakers_count(const struct cp_run *r, struct cp_vec *to);

/* The file's comments. WAITS are "waits" or the like, ENDED says how those that nobody woke ended,
 * BEHIND where stacks are taken. */
void cp_wakers_report(struct cp_comments *out, const struct cp_run *r, const char *waits,
		      const char *ended, const char *behind);

#endif
