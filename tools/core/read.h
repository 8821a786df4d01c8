/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a profile's bytes into a profile in memory. Called by every verb that reads.
 *
 * The input is hostile until proven otherwise: decompressed size, message sizes and counts are
 * limited, and every index is checked. An error message gives the offset of the error.
 */
#ifndef CT_READ_H
#define CT_READ_H

#include "core/input.h"
#include "core/model.h"

/* Returns 0, or a negative errno with the reason in FAULT: -EBADMSG if the profile is not valid,
 * -EFBIG if it is over a limit, or the input's error. */
int ct_read(struct ct_profile **p, struct ct_input *in, struct ct_fault *fault);

/* Reads SOURCE (a file, "-" or a URL). Returns NULL after a message on stderr that says why it
 * can't be read. */
struct ct_profile *ct_read_source(const char *source);

#endif
