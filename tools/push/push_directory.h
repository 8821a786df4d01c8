/* SPDX-License-Identifier: BSD-3-Clause */
/* A directory as the target of a push: a file for each window, the oldest ones removed when there
 * are too many. Called by push_send.c.
 */
#ifndef CT_PUSH_DIRECTORY_H
#define CT_PUSH_DIRECTORY_H

#include "push/push_item.h"

/* Writes SERVICE.PID.SERIES.TIME.pb to PATH, which is created, and removes the oldest such files if
 * all are bigger than LIMIT bytes. Returns 0 or a negative errno. */
int ct_push_directory_add(const char *path, const struct ct_push_item *item, uint64_t limit);

#endif
