/* Names of code that a JIT made, from /tmp/perf-PID.map: lines "START SIZE name", as
 * node --perf-basic-prof, .NET, Julia, LuaJIT and others write them for perf.
 *
 * Called at a dump; see symbols.h for the context.
 */
#ifndef CP_PERFMAP_H
#define CP_PERFMAP_H

#include "symbols.h"

/* Fill NAME and START of the N queries (any order; sorted in place) whose address, BASE + offset,
 * the map of this process covers. A later line wins: JITs reuse memory. 0, or why there is no map:
 * -ENOENT, -EPERM (it belongs to another user, or is no regular file), -ENOMEM. */
int cp_perfmap_find(uint64_t base, struct cp_symbol_query *q, size_t n, struct cp_arena *names);

/* The same on an open file; for tests. */
int cp_perfmap_read(int fd, uint64_t base, struct cp_symbol_query *q, size_t n,
		    struct cp_arena *names);

#endif
