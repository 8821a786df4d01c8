/* Lines of source files, for `cprof list`.
 *
 * The paths come from a profile, so only regular files of a sane size are read.
 */
#ifndef CT_SOURCE_H
#define CT_SOURCE_H

#include <stddef.h>

struct ct_source {
	char *text;   /* the file, newlines replaced by NUL */
	char **lines; /* lines[1 .. count] */
	size_t count;
};

/* PATH as the profile has it. SEARCH_PATH: directories separated by ":" in which (and in
 * whose parents) a relative path is looked for, NULL = the current one. TRIM_PATH: prefixes that
 * are taken away before, NULL = none. 0 or a negative errno. */
int ct_source_read(struct ct_source *s, const char *path, const char *search_path,
		   const char *trim_path);
void ct_source_release(struct ct_source *s);

#endif
