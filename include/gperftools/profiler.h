/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of gperftools' CPU profiler, in libcprof: programs that call them are linked with
 * -lcprof in place of -lprofiler. If gperftools itself is loaded too, calls go to gperftools.
 *
 * The profile is a pprof file (`go tool pprof FILE`, `cprof top FILE`). CPUPROFILE_FREQUENCY and
 * the other variables of cprof-environment(7) apply. All functions may be called from any thread.
 */
#ifndef CPROF_GPERFTOOLS_PROFILER_H
#define CPROF_GPERFTOOLS_PROFILER_H

#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ProfilerOptions {
	/* Called in the handler, on the thread that is about to be sampled; the sample is left out
	 * if it returns 0. Must be async-signal-safe. NULL: every thread is sampled. */
	int (*filter_in_thread)(void *arg);
	void *filter_in_thread_arg;
};

struct ProfilerState {
	int enabled;		 /* nonzero: a profile is running */
	time_t start_time;	 /* 0 if no profile is running */
	char profile_name[1024]; /* absolute path; "" if no profile is running */
	int samples_gathered;
};

/* Start a CPU profile that is written to FNAME. FNAME is used as it is: the templates of CPUPROFILE
 * (%p and the like) are not expanded. Under a rank of MPI or Slurm, .rank-N is appended, and in a
 * child of a profiled process the pid; ProfilerGetCurrentState returns the final name. With
 * CPUPROFILE_REALTIME=1 the profile is a wall-clock profile, for which no filter is called. Returns
 * nonzero if the profile runs, 0 if it can't (no such directory, too long a name) or if one is
 * already running. */
int ProfilerStart(const char *fname);
int ProfilerStartWithOptions(const char *fname, const struct ProfilerOptions *options);
/* Stop the profile, and write the file. Does nothing if no profile is running. */
void ProfilerStop(void);
/* Write the samples so far to the file, and go on. */
void ProfilerFlush(void);
/* These two have long done nothing in gperftools. */
void ProfilerEnable(void);
void ProfilerDisable(void);
/* Return nonzero if a profile is running. */
int ProfilingIsEnabledForAllThreads(void);
/* Does nothing: threads are found without this call. */
void ProfilerRegisterThread(void);
void ProfilerGetCurrentState(struct ProfilerState *state);
/* Store the return addresses of the calling thread's stack in RESULT, innermost first, without the
 * first SKIP_COUNT, at most MAX_DEPTH. Returns how many were stored; 0 before the first profile was
 * started, by the environment or a call. May be called in a signal handler; UC is not used. */
int ProfilerGetStackTrace(void **result, int max_depth, int skip_count, const void *uc);

#ifdef __cplusplus
}
#endif

#endif
