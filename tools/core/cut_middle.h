/* SPDX-License-Identifier: BSD-3-Clause */
/* Shortens deep stacks for receivers with a limit. Such receivers cut the leaf, which has the
 * values; here the middle is cut. Called by `cprof merge` and `cprof strip-labels`, before equal
 * stacks are summed.
 */
#ifndef CT_CUT_MIDDLE_H
#define CT_CUT_MIDDLE_H

#include "core/model.h"

/* The smallest number of frames that can be requested: the leaf, [...] and the root. */
#define CT_CUT_MIN 3

#define CT_CUT_HELP "leave N frames of a deeper stack, [...] in place of its middle"

/* Shortens the stacks of P that have more than FRAMES locations: the innermost and the outermost
 * ones stay, FRAMES in all with [...] in between. Adds a comment with the number of stacks that
 * were cut. FRAMES 0: does nothing. Returns false after an error message if FRAMES is below
 * CT_CUT_MIN. */
bool ct_cut_middle(struct ct_profile *p, long frames);

#endif
