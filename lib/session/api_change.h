/* SPDX-License-Identifier: BSD-3-Clause */
/* One start or stop by the program at a time. A concurrent one fails with -EBUSY and does not wait.
 */
#ifndef CP_API_CHANGE_H
#define CP_API_CHANGE_H

#include <stdbool.h>

/* Begins a start or stop. Returns false if another one runs. */
bool cp_api_change_begin(void);
/* Ends it. Returns ERR. */
int cp_api_change_end(int err);
/* In a fork child. Returns true if the session is half started or half stopped, by a thread that
 * the child doesn't have. */
bool cp_api_change_fork_child(void);

#endif
