/* SPDX-License-Identifier: BSD-3-Clause */
/* The unwinder of jemalloc's own profiler.
 *
 * jemalloc unwinds by libgcc or libunwind, which take locks and allocate: with many threads,
 * exceptions and dlopen, programs crash or hang there. jemalloc 5.3.0 and later take another
 * unwinder (experimental.hooks.prof_backtrace). A program whose jemalloc profiles itself
 * (opt.prof) gets libcprof's.
 */
#ifndef CP_JEMALLOC_BACKTRACE_H
#define CP_JEMALLOC_BACKTRACE_H

#include <stdbool.h>

/* Set libcprof's unwinder in jemalloc, if there is one that profiles itself. IN_FILE: also look for
 * a jemalloc that only the symbol table of the program's file tells of, which takes long. Returns
 * true if the unwinder is set. In the constructor. */
bool cp_jemalloc_backtrace_begin(bool in_file);

#endif
