/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of source files, for `cprof list`.
 *
 * The paths come from a profile, so only regular files of a sane size are read.
 */
#ifndef CT_SOURCE_H
#define CT_SOURCE_H

#include <stddef.h>

struct ct_source {
	char *text;   /* the file, with newlines replaced by NUL */
	char **lines; /* lines[1 .. count] */
	size_t count;
};

/* Reads the source file PATH, as the profile names it. SEARCH_PATH: directories separated by ":" in
 * which, and in whose parents, a relative path is looked for; NULL = the current directory.
 * TRIM_PATH: prefixes that are removed first; NULL = none. Returns 0 or a negative errno. */
int ct_source_read(struct ct_source *s, const char *path, const char *search_path,
		   const char *trim_path);
void ct_source_release(struct ct_source *s);

#endif
