/* SPDX-License-Identifier: BSD-3-Clause */
/* Code that is made while the program runs: which code in a profile it is, and how each runtime is
 * asked to name it.
 */
#ifndef CT_JIT_H
#define CT_JIT_H

#include "core/model.h"

/* Is PATH, from a mapping, memory for code that is made while the program runs? */
bool ct_jit_is_path(const char *path);
/* Is L, whose innermost function is NAME, such code? So is code in no mapping of a profile that has
 * mappings: node's memory for code is gone when the profile is written at the program's end. */
bool ct_jit_is(const struct ct_profile *p, const struct ct_location *l, const char *name);
/* Is NAME a place in such code that was not named, like "//anon+0x7f79c7e7e088"? There can be
 * thousands of them. */
bool ct_jit_is_place(const char *name);
/* What to do so that the code of P's program has names. */
const char *ct_jit_advice(const struct ct_profile *p);

#endif
