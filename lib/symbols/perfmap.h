/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of code that a JIT compiled, from /tmp/perf-PID.map: lines "START SIZE name", as node
 * --perf-basic-prof, .NET, Julia, LuaJIT and others write them for perf.
 *
 * Called at a dump; see symbols.h for the context.
 */
#ifndef CP_PERFMAP_H
#define CP_PERFMAP_H

#include "symbols/symbols.h"

/* Fill NAME and START of the N queries (any order; sorted in place) whose address, BASE + offset,
 * is in the map of this process. A later line wins, because JITs reuse memory. Returns 0, -ENOMEM,
 * or why there is no map: -ENOENT, or -EPERM (another user owns the file, or it is not a regular
 * file). */
int cp_perfmap_find(uint64_t base, struct cp_symbol_query *q, size_t n, struct cp_arena *names);

/* The same on an open file; for tests. */
int cp_perfmap_read(int fd, uint64_t base, struct cp_symbol_query *q, size_t n,
		    struct cp_arena *names);

#endif
