/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the word that a mistyped one was meant to be. */
#ifndef CT_NEAREST_H
#define CT_NEAREST_H

#include <stddef.h>

/* Returns how many letters of A must be changed, left out, added or swapped with the next one to
 * get B. */
size_t ct_nearest_distance(const char *a, const char *b);
/* Returns the nearest word to WORD so far: BEST or OTHER, or NULL if neither is near. */
const char *ct_nearest(const char *word, const char *best, const char *other);

#endif
