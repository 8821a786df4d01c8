/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of gperftools' heap profiler, in libcprof: programs that call them are linked with
 * -lcprof in place of -ltcmalloc, and keep their own allocator. If gperftools itself is loaded too,
 * calls go to gperftools.
 *
 * The files are pprof files (`go tool pprof FILE`, `cprof top FILE`). CPROF_HEAP_INTERVAL and
 * HEAP_PROFILE_*_INTERVAL of cprof-environment(7) apply. All functions may be called from any
 * thread.
 */
#ifndef CPROF_GPERFTOOLS_HEAP_PROFILER_H
#define CPROF_GPERFTOOLS_HEAP_PROFILER_H

#ifdef __cplusplus
extern "C" {
#endif

/* Start a heap profile. Dumps go to PREFIX.0001.heap and so on, the profile at the end to
 * PREFIX.heap. A later start in the same process continues the numbers, so that no dump is
 * overwritten; PREFIX.heap is then the file of the last profile. PREFIX is used as it is, without
 * templates. A dump is written after each GiB allocated and each further 100 MiB in use, unless
 * HEAP_PROFILE_ALLOCATION_INTERVAL and HEAP_PROFILE_INUSE_INTERVAL say otherwise. Does nothing if a
 * heap profile is already running. */
void HeapProfilerStart(const char *prefix);
/* Return nonzero if a heap profile is running. */
int IsHeapProfilerRunning(void);
/* Stop the profile, and write PREFIX.heap. */
void HeapProfilerStop(void);
/* Write the next PREFIX.NNNN.heap; REASON is in its comments. */
void HeapProfilerDump(const char *reason);
/* Return the profile as text, in the form that pprof used before profile.proto. The caller frees
 * it. Returns "" if no heap profile is running, NULL if there is no memory. */
char *GetHeapProfile(void);

#ifdef __cplusplus
}
#endif

#endif
