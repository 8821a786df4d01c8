/* SPDX-License-Identifier: BSD-3-Clause */
/* Matches program names against a list of patterns (CPROF_ONLY).
 *
 * Any context. libc's fnmatch depends on the locale and may allocate.
 */
#ifndef CP_GLOBS_H
#define CP_GLOBS_H

#include <stdbool.h>

/* Returns whether the whole of TEXT matches one of the comma-separated GLOBS: * is any run, ? any
 * one byte, [a-z] one of these bytes, [!a-z] one of the others. A bracket that is never closed is
 * literal. Empty items match nothing. */
bool cp_globs_match(const char *globs, const char *text);

#endif
