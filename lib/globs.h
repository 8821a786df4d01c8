/* Program names against a list of patterns (CPROF_ONLY).
 *
 * Any context. libc's fnmatch would take the locale and may allocate.
 */
#ifndef CP_GLOBS_H
#define CP_GLOBS_H

#include <stdbool.h>

/* TEXT matches one of the comma-separated GLOBS as a whole: * any run, ? any one byte, [a-z] one
 * of, [!a-z] none of; a bracket that is never closed stands for itself. Empty items match
 * nothing. */
bool cp_globs_match(const char *globs, const char *text);

#endif
