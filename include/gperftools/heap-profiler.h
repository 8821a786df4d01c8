/* The functions of gperftools' heap profiler, in libcprof: programs that call them are linked with
 * -lcprof in place of -ltcmalloc, and keep the allocator that they have. Where gperftools itself is
 * loaded too, calls go there.
 *
 * The files are pprof's (`go tool pprof FILE`, `cprof top FILE`). CPROF_HEAP_INTERVAL and
 * HEAP_PROFILE_*_INTERVAL of cprof-environment(7) hold. All functions may be called from any
 * thread.
 */
#ifndef CPROF_GPERFTOOLS_HEAP_PROFILER_H
#define CPROF_GPERFTOOLS_HEAP_PROFILER_H

#ifdef __cplusplus
extern "C" {
#endif

/* Start a heap profile: dumps go to PREFIX.0001.heap and so on, and what is there at the end to
 * PREFIX.heap. Nothing when one runs already. */
void HeapProfilerStart(const char *prefix);
/* Nonzero: one is being taken. */
int IsHeapProfilerRunning(void);
/* Stop, and write PREFIX.heap. */
void HeapProfilerStop(void);
/* Write the next PREFIX.NNNN.heap; REASON is for whoever reads the call. */
void HeapProfilerDump(const char *reason);
/* The profile as text, in the form that pprof knew before profile.proto. The caller frees it. NULL:
 * none is being taken, or no memory. */
char *GetHeapProfile(void);

#ifdef __cplusplus
}
#endif

#endif
