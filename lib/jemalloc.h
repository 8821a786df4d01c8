/* A jemalloc that is linked into the program, where nothing can be interposed: found by its
 * mallctl, and its experimental hooks (5.2 and later) installed.
 *
 * Nothing of jemalloc is needed to build, nor to run where there is none.
 */
#ifndef CP_JEMALLOC_H
#define CP_JEMALLOC_H

#include <stdbool.h>

/* Look for it, once. Ordinary context, not under the collector's lock: takes the loader's. */
void cp_jemalloc_find(void);
/* Install the hooks. true: they are. Under the collector's lock. */
bool cp_jemalloc_start(void);
void cp_jemalloc_stop(void);

/* "5.3.0", where this run, or the one that just ended, has its hooks; else NULL. */
const char *cp_jemalloc_version(void);
/* There is one, but its hooks can't be used: why. Else NULL. */
const char *cp_jemalloc_unusable(void);

#endif
