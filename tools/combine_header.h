/* What combined profiles say about themselves; used by combine.c only. */
#ifndef CT_COMBINE_HEADER_H
#define CT_COMBINE_HEADER_H

#include "profile.h"

/* A profile without samples whose types, times and comments are all the sources', or NULL and
 * it is said why there is none. The sources' values are brought to common units. */
struct ct_profile *ct_combine_headers(struct ct_profile *const *sources, size_t count);

#endif
