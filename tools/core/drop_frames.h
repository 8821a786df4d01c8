/* SPDX-License-Identifier: BSD-3-Clause */
/* drop_frames and keep_frames: which frames a profile itself declares uninteresting.
 *
 * pprof leaves out functions whose whole name matches drop_frames and not keep_frames, and
 * everything that they call. In libcprof's heap and lock profiles these are the leaves that say no
 * more than the file's type does (malloc, pthread_mutex_lock), so that pprof's first table begins
 * with the program's functions. cprof itself shows these leaves, except with -drop_frames.
 */
#ifndef CT_DROP_FRAMES_H
#define CT_DROP_FRAMES_H

#include "core/model.h"

/* Removes the frames from P's stacks that pprof would. */
void ct_drop_frames(struct ct_profile *p);
/* Returns the name of a function as pprof compares it, without parameters. The caller frees it. */
char *ct_drop_frames_name(const char *function);
/* Is P a profile of libcprof's own, the first one of those that were merged? */
bool ct_drop_frames_ours(const struct ct_profile *p);

/* Adds the functions to drop_frames that lie between the program's own functions and those that
 * drop_frames names, such as std::vector<int>::push_back in a heap profile: functions of the C++
 * and Rust libraries that no sample of P shows calling the program's code or another library. So
 * no code of the program is left out. If a function that drop_frames names calls such code, because
 * the program replaced it, the function is added to keep_frames. Does nothing if P is not
 * libcprof's, or has no drop_frames. May be called again. */
void ct_drop_frames_choose(struct ct_profile *p);

#endif
