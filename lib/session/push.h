/* SPDX-License-Identifier: BSD-3-Clause */
/* CPROF_PUSH=URL: windows of this process are pushed by a helper, `cprof push`. The library itself
 * speaks to nobody. Called by window.c, under the collector's lock.
 *
 * A process that has lived for a second starts a helper, which takes windows over the control
 * socket. A process that ends before a helper has asked for a window, or that has no control
 * socket, has its files pushed by the helper at its end (helper.h). A helper that was killed is
 * started again. A helper that was started may
 * still be on its way, or may leave the process to another one, so only its request counts.
 */
#ifndef CP_PUSH_H
#define CP_PUSH_H

#include <stdbool.h>
#include <stdint.h>

struct cp_helper;

/* Plans the start of the helper: at a start of the session. */
void cp_push_plan(void);
/* The same in a fork child, whose parent's helper isn't its own. */
void cp_push_fork_child(void);
/* When the helper is to be started; monotonic ns, UINT64_MAX: not at all. */
uint64_t cp_push_due(void);
/* Starts the helper if it is time. In the collector. */
void cp_push_serve(void);
/* A client has begun a window with the start of a mode: it is a helper, which also pushes what the
 * process does after its last window. FOLLOWER: its process id; 0 = it is out of sight. */
void cp_push_note_window(int follower);
/* Starts the helper `cprof VERB -helper ARGUMENT`. Returns NULL if it can't be started now; with
 * CPROF_VERBOSE, WITHOUT and the reason are said. */
struct cp_helper *cp_push_start_helper(const char *verb, const char *argument, const char *without);
/* Are this process's files still to be pushed, at its end? */
bool cp_push_wants_files(void);

#endif
