/* SPDX-License-Identifier: BSD-3-Clause */
/* Recognizes files of other profilers by their first bytes. */
#ifndef CT_FOREIGN_H
#define CT_FOREIGN_H

#include <stddef.h>

/* Returns the kind of a file that begins with these bytes, and how to get a pprof profile from it;
 * NULL if the kind is unknown. */
const char *ct_foreign_kind(const unsigned char *begin, size_t size);

#endif
