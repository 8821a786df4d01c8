/* SPDX-License-Identifier: BSD-3-Clause */
/* gperftools' functions, implemented by cprof's; see include/gperftools. Ordinary context.
 *
 * If the program has loaded gperftools itself and libcprof is preloaded, calls are passed on to
 * gperftools.
 */
#include <stdlib.h>

#include "session/session.h"
#include "gperftools/heap-profiler.h"
#include "gperftools/profiler.h"
#include "modes/cpu/signal/cpu_signal.h"
#include "collect/collect.h"
#include "unwind/unwind.h"

#define API __attribute__((visibility("default")))

/* Returns gperftools' own NAME, or NULL. */
#define THEIRS(name) ((__typeof__(&(name)))cp_loaded_next_one(#name))

static bool is_on(void)
{
	return cp_session_runs(cp_session_named_mode());
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
	return cp_api_start_mode(CPROF_CPU, fname, "") == 0;
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
		cprof_stop_mode((int)cp_session_named_mode());
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
		cp_threads_register();
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
	cprof_get_mode_stats((int)cp_session_named_mode(), &stats);
	state->enabled = 1;
	state->start_time = (time_t)cp_session_since(cp_session_named_mode());
	state->samples_gathered = stats.samples > INT32_MAX ? INT32_MAX : (int)stats.samples;
	cp_session_path(cp_session_named_mode(), state->profile_name, sizeof(state->profile_name));
}

API int ProfilerGetStackTrace(void **result, int max_depth, int skip_count, const void *uc)
{
	__typeof__(&ProfilerGetStackTrace) theirs = THEIRS(ProfilerGetStackTrace);
	struct cp_regs regs = { 0 };

	if (theirs)
		return theirs(result, max_depth, skip_count, uc);
	if (!result || max_depth <= 0 || skip_count < 0)
		return 0;
	cp_regs_here(&regs);
	/* The first frame is this function's own. */
	return (int)cp_capture_here(&regs, (unsigned)skip_count + 1, result, (unsigned)max_depth);
}

API void HeapProfilerStart(const char *prefix)
{
	__typeof__(&HeapProfilerStart) theirs = THEIRS(HeapProfilerStart);

	if (theirs)
		theirs(prefix);
	else if (prefix && !cp_session_runs(CPROF_HEAP))
		cp_api_start_mode(CPROF_HEAP, prefix, ".%n.heap");
}

API int IsHeapProfilerRunning(void)
{
	__typeof__(&IsHeapProfilerRunning) theirs = THEIRS(IsHeapProfilerRunning);

	return theirs ? theirs() : cp_session_runs(CPROF_HEAP);
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
		cp_session_dump_heap(reason);
}

API char *GetHeapProfile(void)
{
	__typeof__(&GetHeapProfile) theirs = THEIRS(GetHeapProfile);
	struct cp_memory_sink memory;
	char *text = NULL;

	if (theirs)
		return theirs();
	/* The text is empty if no heap profile is being taken. */
	if (cp_session_heap_text(&memory) < 0)
		memory.used = 0;
	text = malloc(memory.used + 1);
	if (text) {
		memcpy(text, memory.data, memory.used);
		text[memory.used] = '\0';
	}
	cp_sink_memory_release(&memory);
	return text;
}
