/* SPDX-License-Identifier: BSD-3-Clause */
/* Profiles that couldn't be sent yet, on disk: bounded in size and age, and sent by the next push
 * to the same target if this one ends before. For push_queue.c, which calls with its lock held.
 */
#ifndef CT_PUSH_SPOOL_H
#define CT_PUSH_SPOOL_H

#include "push/push_item.h"
#include "push/push_target.h"

struct ct_push_spool;

/* Opens the spool for TARGET below DIRECTORY (NULL: XDG_STATE_HOME/cprof/push). SIZE: most bytes.
 * SECONDS: the greatest age. Takes over what earlier pushes left. Returns NULL with *WHY, a message
 * that the caller frees, if there can be none. */
struct ct_push_spool *ct_push_spool_open(const char *directory, const struct ct_push_target *target,
					 uint64_t size, double seconds, char **why);
void ct_push_spool_close(struct ct_push_spool *s);

/* Keeps ITEM, which the caller still owns. Adds to *LOST how many old ones had to go for it.
 * Returns 0 or a negative errno. */
int ct_push_spool_add(struct ct_push_spool *s, const struct ct_push_item *item, size_t *lost);
/* How many there are. */
size_t ct_push_spool_count(const struct ct_push_spool *s);
/* Loads number I, the oldest being 0. Returns NULL if it can't be read. */
struct ct_push_item *ct_push_spool_load(const struct ct_push_spool *s, size_t i);
/* Removes the COUNT oldest. */
void ct_push_spool_remove(struct ct_push_spool *s, size_t count);
/* Removes those that are too old. Returns how many. */
size_t ct_push_spool_expire(struct ct_push_spool *s);

#endif
