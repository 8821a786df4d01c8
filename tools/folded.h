/* Stacks as lines, "main;work;inner 12": flamegraph.pl's and many others' format. Written by
 * folded and convert.
 */
#ifndef CT_FOLDED_H
#define CT_FOLDED_H

#include <stdio.h>

#include "flame_frames.h"

struct ct_folded {
	const struct ct_profile *profile;
	size_t type;
	enum ct_frames_by by;
	bool threads;  /* the thread's name is the root */
	bool annotate; /* _[i] inlined, _[k] kernel, _[j] JIT */
};

/* WHAT is a struct ct_folded; see flame_file.h. */
void ct_folded_write(const void *what, FILE *to);

#endif
