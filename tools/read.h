/* From a profile's bytes to a profile in memory. Called by every verb that reads.
 *
 * The input is hostile until proven otherwise: decompressed size, message sizes and counts are
 * limited, every index is checked, and what is wrong is said with its offset.
 */
#ifndef CT_READ_H
#define CT_READ_H

#include "input.h"
#include "profile.h"

/* 0, or a negative errno and FAULT says why: -EBADMSG not a valid profile, -EFBIG over a
 * limit, or the input's. */
int ct_read(struct ct_profile **p, struct ct_input *in, struct ct_fault *fault);

/* Reads SOURCE (file, "-", URL) or says on stderr why not and returns NULL. */
struct ct_profile *ct_read_source(const char *source);

#endif
