/* SPDX-License-Identifier: BSD-3-Clause */
/* Watches the process's memory, and says when a heap dump is due because memory is about to run
 * out (CPROF_HEAP_DUMP_AT).
 *
 * The collector calls due and tick, with its lock held. A mark that was passed is silent until use
 * has fallen to nine tenths of it. Some memory is kept in reserve and given back before the dump,
 * so that the dump can be made near the limit.
 */
#ifndef CP_MEMORY_WATCH_H
#define CP_MEMORY_WATCH_H

#include <stdbool.h>
#include <stdint.h>

/* A mark: bytes of resident memory; or, with this bit, per cent of the nearest limit; or PRESSURE:
 * tasks wait for memory. */
#define CP_MEMORY_WATCH_PERCENT (UINT64_C(1) << 63)
#define CP_MEMORY_WATCH_PRESSURE UINT64_MAX
#define CP_MEMORY_WATCH_MARKS 6

/* Reads "80%,95%,2G,pressure" into MARKS; zeros follow the last one. Returns 0 or -EINVAL. */
int cp_memory_watch_parse(const char *text, uint64_t marks[CP_MEMORY_WATCH_MARKS]);

bool cp_memory_watch_is_good(const char *text);

/* Watches the marks in TEXT; "": nothing is watched. Of the dumps the last four stay. */
void cp_memory_watch_start(const char *text);
bool cp_memory_watch_is_on(void);
void cp_memory_watch_stop(void);
/* Begins anew in a fork child. */
void cp_memory_watch_fork_child(void);
/* Returns when tick is due, in monotonic ns; UINT64_MAX: never. */
uint64_t cp_memory_watch_due(void);
/* Looks. Returns true if a dump is to be made now. */
bool cp_memory_watch_tick(void);
/* Is a dump to be made that hasn't been written yet? */
bool cp_memory_watch_is_asked(void);
/* Returns the bytes from the last look's use to the nearest mark; UINT64_MAX: there is none. */
uint64_t cp_memory_watch_left(void);
/* Returns why the dump is made that is being written, or NULL if it wasn't asked for here. */
const char *cp_memory_watch_reason(void);
/* Dump NUMBER of KIND (0 or 1: the heap's, its peak's) was WRITTEN, or could not be. Returns the
 * number of an older one to remove, or 0. */
unsigned cp_memory_watch_dumped(unsigned kind, unsigned number, bool written);

#endif
