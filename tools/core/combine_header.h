/* SPDX-License-Identifier: BSD-3-Clause */
/* The header of combined profiles: types, units, times, comments. Used by combine.c only. */
#ifndef CT_COMBINE_HEADER_H
#define CT_COMBINE_HEADER_H

#include "core/model.h"

/* Returns a profile without samples that has the types, times and comments of all sources, or NULL
 * after an error message. Scales the sources' values to common units. */
struct ct_profile *ct_combine_header_join(struct ct_profile *const *sources, size_t count);

#endif
