/* The helper: `cprof symbolize --in-place`, started when a program ends, on files that are
 * complete by then. It adds lines and inlined calls, and swaps its result in by rename.
 *
 * The program must not notice: the helper is no child of its (see helper.c), has none of its
 * descriptors, nothing of the profiler's environment, and a time limit.
 */
#ifndef CP_HELPER_H
#define CP_HELPER_H

#include <stdbool.h>
#include <stdint.h>

/* Find the helper beside our library, and keep what it may know of the environment. Ordinary
 * context, once. */
void cp_helper_prepare(void);

/* One that is to be started: COUNT files at most. NULL: none was found, or no memory. */
struct cp_helper *cp_helper_begin(unsigned count);
/* A file for it: room for CP_PATH_MAX bytes, all zeros. */
char *cp_helper_file(struct cp_helper *h, unsigned i);
/* Start it on the first COUNT of its files. With all signals blocked, in any context. 0, or a
 * negative errno; H is released then. */
int cp_helper_start(struct cp_helper *h, unsigned count);
/* Wait until it is done, for SECONDS at most and never longer than some; 0: until it no longer
 * needs us. Afterwards it goes on alone. True when it has finished its work. */
bool cp_helper_wait(struct cp_helper *h, unsigned seconds);
void cp_helper_release(struct cp_helper *h);

#endif
