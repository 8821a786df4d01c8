/* gperftools' functions, in terms of ours; see include/gperftools. Ordinary context.
 *
 * A program that has loaded gperftools itself means that: preloaded, we hand its calls on.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "config.h"
#include "cprof.h"
#include "gperftools/heap-profiler.h"
#include "gperftools/profiler.h"
#include "session.h"
#include "sigsafe/atomic.h"
#include "sigsafe/cpu_event.h"
#include "sigsafe/text.h"
#include "threads.h"

#define API __attribute__((visibility("default")))

/* gperftools' own NAME, or NULL. */
#define THEIRS(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

static int64_t started; /* UTC seconds */

static bool is_on(void)
{
	return cp_session_runs(CP_MODE_CPU);
}

API int ProfilerStartWithOptions(const char *fname, const struct ProfilerOptions *options)
{
	__typeof__(&ProfilerStartWithOptions) theirs = THEIRS(ProfilerStartWithOptions);

	if (theirs)
		return theirs(fname, options);
	if (!fname || is_on())
		return 0;
	cp_cpu_state.filter_argument = options ? options->filter_in_thread_arg : NULL;
	cp_store_release(&cp_cpu_state.filter, options ? options->filter_in_thread : NULL);
	if (cp_api_start_mode(CP_MODE_CPU, fname) < 0)
		return 0;
	cp_store_relaxed(&started, (int64_t)time(NULL));
	return 1;
}

API int ProfilerStart(const char *fname)
{
	__typeof__(&ProfilerStart) theirs = THEIRS(ProfilerStart);

	return theirs ? theirs(fname) : ProfilerStartWithOptions(fname, NULL);
}

API void ProfilerStop(void)
{
	__typeof__(&ProfilerStop) theirs = THEIRS(ProfilerStop);

	if (theirs)
		theirs();
	else
		cprof_stop_mode(CPROF_CPU);
}

API void ProfilerFlush(void)
{
	__typeof__(&ProfilerFlush) theirs = THEIRS(ProfilerFlush);

	if (theirs)
		theirs();
	else
		cp_session_write("at ProfilerFlush", false);
}

API void ProfilerEnable(void)
{
}

API void ProfilerDisable(void)
{
}

API int ProfilingIsEnabledForAllThreads(void)
{
	__typeof__(&ProfilingIsEnabledForAllThreads) theirs =
		THEIRS(ProfilingIsEnabledForAllThreads);

	return theirs ? theirs() : is_on();
}

API void ProfilerRegisterThread(void)
{
	__typeof__(&ProfilerRegisterThread) theirs = THEIRS(ProfilerRegisterThread);

	if (theirs)
		theirs();
	else
		cp_threads_adopt();
}

API void ProfilerGetCurrentState(struct ProfilerState *state)
{
	__typeof__(&ProfilerGetCurrentState) theirs = THEIRS(ProfilerGetCurrentState);
	struct cprof_stats stats = { .size = sizeof(stats) };

	if (theirs) {
		theirs(state);
		return;
	}
	memset(state, 0, sizeof(*state));
	if (!is_on())
		return;
	cprof_get_stats(&stats);
	state->enabled = 1;
	state->start_time = (time_t)cp_load_relaxed(&started);
	state->samples_gathered = stats.samples > INT32_MAX ? INT32_MAX : (int)stats.samples;
	cp_session_path(CP_MODE_CPU, state->profile_name, sizeof(state->profile_name));
}

API void HeapProfilerStart(const char *prefix)
{
	__typeof__(&HeapProfilerStart) theirs = THEIRS(HeapProfilerStart);
	char path[CP_PATH_MAX];

	if (theirs) {
		theirs(prefix);
		return;
	}
	if (!prefix || cp_session_runs(CP_MODE_HEAP) || strlen(prefix) > sizeof(path) - 16)
		return;
	cp_format(path, sizeof(path), "%s.%%n.heap", prefix);
	cp_api_start_mode(CP_MODE_HEAP, path);
}

API int IsHeapProfilerRunning(void)
{
	__typeof__(&IsHeapProfilerRunning) theirs = THEIRS(IsHeapProfilerRunning);

	return theirs ? theirs() : cp_session_runs(CP_MODE_HEAP);
}

API void HeapProfilerStop(void)
{
	__typeof__(&HeapProfilerStop) theirs = THEIRS(HeapProfilerStop);

	if (theirs)
		theirs();
	else
		cprof_stop_mode(CPROF_HEAP);
}

API void HeapProfilerDump(const char *reason)
{
	__typeof__(&HeapProfilerDump) theirs = THEIRS(HeapProfilerDump);

	if (theirs)
		theirs(reason);
	else
		cp_session_dump_heap();
}

API char *GetHeapProfile(void)
{
	__typeof__(&GetHeapProfile) theirs = THEIRS(GetHeapProfile);
	struct cp_memory_sink memory;
	char *text = NULL;

	if (theirs)
		return theirs();
	if (cp_session_heap_text(&memory) == 0)
		text = malloc(memory.used + 1);
	if (text) {
		memcpy(text, memory.data, memory.used);
		text[memory.used] = '\0';
	}
	cp_memory_sink_release(&memory);
	return text;
}
