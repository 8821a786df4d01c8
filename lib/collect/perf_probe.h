/* SPDX-License-Identifier: BSD-3-Clause */
/* May this process have perf events? */
#ifndef CP_PERF_PROBE_H
#define CP_PERF_PROBE_H

#include "sample/perf_event.h"

/* Try an event of WHAT (NULL: the task clock) in the calling thread, which it does not outlive.
 * Returns NULL if that is possible, or the reason why not, in words, with the kernel's error in
 * *ERR (negative; 0: it was not asked). The next call may overwrite the text. Ordinary context. */
const char *cp_perf_probe(const struct cp_perf_what *what, int *err);

#endif
