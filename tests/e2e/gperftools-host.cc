/* SPDX-License-Identifier: BSD-3-Clause */
// A program as gperftools' users write it: start, flush, stop, a filter, the state, a heap profile.
#include <gperftools/heap-profiler.h>
#include <gperftools/profiler.h>

#include "system.h"

static volatile unsigned long sink;
static int failures;
static pthread_t left_out;

static void expect(const char *what, bool ok)
{
	if (!ok)
		printf("not as expected: %s\n", what), failures++;
}

static void burn(double seconds)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	double end = (double)t.tv_sec + (double)t.tv_nsec / 1e9 + seconds;
	do {
		for (int i = 0; i < 10000; i++)
			sink += (unsigned long)i;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while ((double)t.tv_sec + (double)t.tv_nsec / 1e9 < end);
}

extern "C" __attribute__((noinline)) void kept_part()
{
	burn(0.3);
	sink++; // no tail call: the frame stays
}

extern "C" __attribute__((noinline)) void left_out_part()
{
	burn(0.3);
	sink++; // no tail call: the frame stays
}

static void *thread(void *)
{
	ProfilerRegisterThread();
	left_out_part();
	return nullptr;
}

static int only_main(void *arg)
{
	return pthread_equal(pthread_self(), *static_cast<pthread_t *>(arg));
}

static void cpu()
{
	pthread_t self = pthread_self();
	ProfilerOptions options = { only_main, &self };
	ProfilerState state;

	expect("no state before", (ProfilerGetCurrentState(&state), !state.enabled));
	expect("ProfilerStart in no directory", !ProfilerStart("nowhere/x.prof"));
	expect("ProfilerStartWithOptions", ProfilerStartWithOptions("cpu.prof", &options) != 0);
	expect("a second start", !ProfilerStart("other.prof"));
	expect("enabled", ProfilingIsEnabledForAllThreads() != 0);
	pthread_create(&left_out, nullptr, thread, nullptr);
	kept_part();
	pthread_join(left_out, nullptr);
	ProfilerFlush();
	expect("flushed", access("cpu.prof", R_OK) == 0);
	ProfilerGetCurrentState(&state);
	expect("the state", state.enabled && state.samples_gathered > 5 &&
				    time(nullptr) - state.start_time < 60);
	expect("the name", strcmp(strrchr(state.profile_name, '/'), "/cpu.prof") == 0);
	ProfilerStop();
	expect("stopped", !ProfilingIsEnabledForAllThreads());
	ProfilerStop();
	expect("ProfilerStart again", ProfilerStart("again.prof") != 0);
	kept_part();
	ProfilerStop();
}

extern "C" __attribute__((noinline)) void *leak(size_t n)
{
	char *p = static_cast<char *>(malloc(n));
	memset(p, 1, n);
	return p;
}

static void *kept[64];

static void heap()
{
	HeapProfilerStart("heap");
	if (!IsHeapProfilerRunning()) {
		puts("no heap profile in this build");
		return;
	}
	for (auto &p : kept)
		p = leak(1 << 20);
	HeapProfilerDump("after the leak");
	expect("a numbered dump", access("heap.0001.heap", R_OK) == 0);
	char *text = GetHeapProfile();
	expect("the heap as text", text && strncmp(text, "heap profile: ", 14) == 0);
	if (FILE *f = text ? fopen("heap.text", "w") : nullptr) {
		fputs(text, f);
		fclose(f);
	}
	free(text);
	expect("both at once", ProfilerStart("both.prof") != 0);
	kept_part();
	ProfilerStop();
	expect("the heap goes on", IsHeapProfilerRunning() != 0);
	HeapProfilerStop();
	text = GetHeapProfile();
	expect("no text without a heap profile", text && !*text);
	free(text);
	expect("the heap's file", access("heap.heap", R_OK) == 0);
}

int main(int argc, char **argv)
{
	if (argc != 2 || chdir(argv[1]) < 0)
		return 2;
	cpu();
	heap();
	if (!failures)
		puts("as expected");
	return failures != 0;
}
