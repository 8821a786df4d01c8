/* The functions of gperftools' CPU profiler, in libcprof: programs that call them are linked with
 * -lcprof in place of -lprofiler. Where gperftools itself is loaded too, calls go there.
 *
 * The profile is a pprof file (`go tool pprof FILE`, `cprof top FILE`). CPUPROFILE_FREQUENCY and
 * the other variables of cprof-environment(7) hold. All functions may be called from any thread.
 */
#ifndef CPROF_GPERFTOOLS_PROFILER_H
#define CPROF_GPERFTOOLS_PROFILER_H

#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ProfilerOptions {
	/* Called in the handler, on the thread that is about to be sampled: 0 leaves the sample
	 * out. Must be async-signal-safe. NULL: every thread. */
	int (*filter_in_thread)(void *arg);
	void *filter_in_thread_arg;
};

struct ProfilerState {
	int enabled;		 /* a profile is being taken */
	time_t start_time;	 /* since when; 0 when not enabled */
	char profile_name[1024]; /* where it goes; "" when not enabled */
	int samples_gathered;
};

/* Start a CPU profile that goes to FNAME. Nonzero: it runs; 0: it can't, or one runs already. */
int ProfilerStart(const char *fname);
int ProfilerStartWithOptions(const char *fname, const struct ProfilerOptions *options);
/* Stop, and write the file. Nothing when none runs. */
void ProfilerStop(void);
/* Write what there is to the file, and go on. */
void ProfilerFlush(void);
/* They have done nothing in gperftools for long. */
void ProfilerEnable(void);
void ProfilerDisable(void);
/* Nonzero: a profile is being taken. */
int ProfilingIsEnabledForAllThreads(void);
/* Threads are found without it; it does no harm. */
void ProfilerRegisterThread(void);
void ProfilerGetCurrentState(struct ProfilerState *state);

#ifdef __cplusplus
}
#endif

#endif
