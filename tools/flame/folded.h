/* SPDX-License-Identifier: BSD-3-Clause */
/* Stacks as lines, "main;work;inner 12", the format of flamegraph.pl and many others. Used by
 * folded and convert.
 */
#ifndef CT_FOLDED_H
#define CT_FOLDED_H

#include <stdio.h>

#include "core/verb.h"
#include "flame/flame_frames.h"

struct ct_folded {
	const struct ct_profile *profile;
	size_t type;
	enum ct_frames_by by;
	bool threads;  /* the root of each stack is the thread's name */
	bool annotate; /* _[i] inlined, _[k] kernel, _[j] JIT */
};

/* WHAT is a struct ct_folded; see flame_file.h. */
void ct_folded_write(const void *what, FILE *to);

extern const struct ct_verb ct_verb_folded;

#endif
