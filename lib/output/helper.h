/* SPDX-License-Identifier: BSD-3-Clause */
/* The helper runs `cprof symbolize --in-place` on the finished files when a program ends. It adds
 * source lines and inlined calls, and replaces each file by rename.
 *
 * The program must not notice: the helper is not a child of the program (see helper.c). It inherits
 * none of the program's descriptors and nothing of the profiler's environment, and it has a time
 * limit.
 */
#ifndef CP_HELPER_H
#define CP_HELPER_H

#include <stdbool.h>
#include <stdint.h>

/* Find the helper beside the library, and save the part of the environment that the helper may see.
 * Ordinary context, once. */
void cp_helper_prepare(void);

/* Has the process another root directory than at the start? Any context. */
bool cp_helper_root_changed(void);

/* Is there a helper that could be run? Any context. */
bool cp_helper_is_there(void);

/* Returns whether this process's parent belongs to another user. A helper that goes on after this
 * process may then be the last process of this process's user, whom the parent may want to delete.
 */
bool cp_helper_would_outlive_its_user(void);

/* Returns a helper for COUNT files at most, not started yet. Returns NULL if no helper was found or
 * there is no memory. */
struct cp_helper *cp_helper_begin(unsigned count);
/* Returns the buffer for the path of file I: CP_PATH_MAX bytes, all zeros. */
char *cp_helper_file(struct cp_helper *h, unsigned i);
/* Have the files pushed to URL, which must live on: `cprof push`. LINES: also add lines to them.
 * Otherwise the helper only pushes. Call before the start. */
void cp_helper_push_too(struct cp_helper *h, const char *url, bool lines);
/* Start the helper on the first COUNT files. Call with all signals blocked; any context. Returns 0,
 * or a negative errno after releasing H. */
int cp_helper_start(struct cp_helper *h, unsigned count);
/* Wait until the helper is done, for at most SECONDS (capped by an upper limit). With SECONDS = 0,
 * wait only until the helper no longer needs this process. Afterwards the helper continues alone.
 * Returns true if the helper ended in time and has replaced its first file. */
bool cp_helper_wait(struct cp_helper *h, unsigned seconds);
void cp_helper_release(struct cp_helper *h);

/* Start `cprof VERB -helper ARGUMENT` (push URL, serve ADDRESS), which runs alone until no process
 * asks for ARGUMENT any more. Both must live on. Not
 * where this process, or one above it, would become its parent. Call with all signals blocked, in
 * the collector. Takes a millisecond or two. Returns NULL if it can't be started; otherwise call
 * cp_helper_reap until that returns true. */
struct cp_helper *cp_helper_alone(const char *verb, const char *argument);
/* Has the start of H ended? Then H is released. Doesn't wait. */
bool cp_helper_reap(struct cp_helper *h);
/* How long to wait between two looks whether a helper is still there. */
uint64_t cp_helper_watch_ns(void);

#endif
