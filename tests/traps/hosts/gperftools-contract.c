/* SPDX-License-Identifier: BSD-3-Clause */
/* The guarantees on which a program written for gperftools relies, one in each run. In the
 * directory DIR:
 *
 *     gperftools-contract dumps DIR    three heap profiles in a row, two of them with one prefix
 *     gperftools-contract steps DIR    allocates 40 times 1 MiB, as fast as it can
 *     gperftools-contract defaults DIR has 250 MiB in use, one by one
 *     gperftools-contract realtime DIR ProfilerStart, asleep most of the time
 *     gperftools-contract state DIR    what ProfilerGetCurrentState says, here and in a child
 *     gperftools-contract stack DIR    ProfilerGetStackTrace in a handler
 *     gperftools-contract names DIR    names that are too long, and one that looks like a template
 *     gperftools-contract text DIR     GetHeapProfile, and a reason
 */
#include <gperftools/heap-profiler.h>
#include <gperftools/profiler.h>

#include "host.h"

#define MIB ((size_t)1 << 20)

static void *volatile kept[256];

static void keep(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		kept[i] = malloc(MIB);
}

static void drop(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		free(kept[i]);
		kept[i] = NULL;
	}
}

static int dumps(void)
{
	HeapProfilerStart("one");
	keep(1);
	HeapProfilerDump("first");
	HeapProfilerDump("second");
	HeapProfilerStop();
	HeapProfilerStart("one");
	keep(4);
	HeapProfilerDump("third");
	HeapProfilerStop();
	HeapProfilerStart("other");
	HeapProfilerDump("fourth");
	HeapProfilerStop();
	HOST_END();
}

static int steps(void)
{
	HeapProfilerStart("steps");
	for (int i = 0; i < 40; i++) {
		keep(1);
		drop(1);
	}
	HeapProfilerStop();
	HOST_END();
}

static int defaults(void)
{
	HeapProfilerStart("defaults");
	keep(250);
	HeapProfilerStop();
	HOST_END();
}

__attribute__((noinline)) static void nap(void)
{
	nanosleep(&(struct timespec){ 0, 200000000 }, NULL);
	__asm__ volatile(""); /* no tail call: the frame stays */
}

static int realtime(void)
{
	struct ProfilerState s;

	EXPECT(ProfilerStart("realtime.prof"));
	EXPECT(!ProfilerStart("again.prof"));
	EXPECT(ProfilingIsEnabledForAllThreads());
	for (int i = 0; i < 3; i++)
		nap();
	ProfilerGetCurrentState(&s);
	EXPECT(s.enabled && strstr(s.profile_name, "/realtime.prof"));
	ProfilerStop();
	EXPECT(!ProfilingIsEnabledForAllThreads());
	EXPECT(access("realtime.prof", R_OK) == 0);
	EXPECT(ProfilerStart("again.prof"));
	ProfilerStop();
	HOST_END();
}

static int child_state(time_t before)
{
	struct ProfilerState s;
	char end[32];

	ProfilerGetCurrentState(&s);
	snprintf(end, sizeof(end), ".%d", (int)getpid());
	EXPECT(s.enabled && s.start_time >= before);
	EXPECT(strlen(s.profile_name) > strlen(end) &&
	       !strcmp(s.profile_name + strlen(s.profile_name) - strlen(end), end));
	burn(0.1);
	ProfilerFlush();
	EXPECT(access(s.profile_name, R_OK) == 0);
	HOST_END();
}

/* The environment has started a profile. */
static int state(void)
{
	time_t now = time(NULL);
	struct ProfilerState s;
	int status = 1;
	pid_t child;

	ProfilerGetCurrentState(&s);
	EXPECT(s.enabled && s.start_time > 0 && s.start_time <= now + 1 &&
	       s.start_time > now - 600);
	EXPECT(!strcmp(s.profile_name, getenv("CPUPROFILE")));
	child = fork();
	if (!child)
		exit(child_state(now - 1));
	waitpid(child, &status, 0);
	EXPECT(status == 0);
	HOST_END();
}

int ProfilerGetStackTrace(void **result, int max_depth, int skip_count, const void *uc)
	__attribute__((weak));

static void *stack[64], *rest[64], *two[2];
static int depth, rest_depth, two_depth;

static void handler(int sig, siginfo_t *si, void *uc)
{
	(void)sig;
	(void)si;
	depth = ProfilerGetStackTrace(stack, 64, 0, uc);
	rest_depth = ProfilerGetStackTrace(rest, 64, 1, NULL);
	two_depth = ProfilerGetStackTrace(two, 2, 0, uc);
}

__attribute__((noinline)) static void raiser(void)
{
	raise(SIGUSR1);
	__asm__ volatile("");
}

static bool is_in(void *address, void (*function)(void), size_t size)
{
	return (char *)address > (char *)function && (char *)address < (char *)function + size;
}

static int stack_trace(void)
{
	struct sigaction a = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	bool found = false;

	EXPECT(ProfilerGetStackTrace != NULL);
	if (!ProfilerGetStackTrace)
		HOST_END();
	EXPECT(ProfilerGetStackTrace(stack, 64, 0, NULL) == 0);
	EXPECT(ProfilerStart("stack.prof"));
	sigaction(SIGUSR1, &a, NULL);
	raiser();
	EXPECT(depth > 3 && depth < 64);
	/* The profiler's frame is not among them: the first is the handler's. */
	EXPECT(is_in(stack[0], (void (*)(void))handler, 300));
	for (int i = 0; i < depth; i++)
		found |= is_in(stack[i], raiser, 64);
	EXPECT(found);
	EXPECT(rest_depth == depth - 1 &&
	       !memcmp(stack + 1, rest, (size_t)rest_depth * sizeof(*rest)));
	EXPECT(two_depth == 2 && two[1] == stack[1]);
	EXPECT(ProfilerGetStackTrace(stack, 0, 0, NULL) == 0);
	EXPECT(ProfilerGetStackTrace(stack, 64, 100, NULL) == 0);
	ProfilerStop();
	HOST_END();
}

static int names(void)
{
	static char name[8192];

	memset(name, 'n', 256);
	EXPECT(!ProfilerStart(name));
	name[255] = '\0';
	EXPECT(ProfilerStart(name));
	ProfilerStop();
	EXPECT(access(name, R_OK) == 0);
	/* Whatever it can start with, it can write. */
	for (size_t n = 3900; n < 4200; n++) {
		for (size_t i = 0; i < n; i++)
			name[i] = i & 1 ? '/' : '.';
		name[n - 1] = 'n';
		name[n] = '\0';
		if (!ProfilerStart(name))
			continue;
		ProfilerStop();
		EXPECT(access(name, R_OK) == 0);
		unlink(name);
	}
	EXPECT(ProfilerStart("as%p.%e%%it%h.is"));
	ProfilerStop();
	EXPECT(access("as%p.%e%%it%h.is", R_OK) == 0);
	HOST_END();
}

static int text(void)
{
	char *t = GetHeapProfile();

	EXPECT(t && !*t);
	free(t);
	HeapProfilerStart("text%p");
	HeapProfilerDump("before the\nflood");
	t = GetHeapProfile();
	EXPECT(t && strlen(t) > 20);
	free(t);
	HeapProfilerStop();
	EXPECT(access("text%p.0001.heap", R_OK) == 0);
	HOST_END();
}

static const struct {
	const char *name;
	int (*run)(void);
} ways[] = {
	{ "dumps", dumps },	  { "steps", steps }, { "defaults", defaults },
	{ "realtime", realtime }, { "state", state }, { "stack", stack_trace },
	{ "names", names },	  { "text", text },
};

int main(int argc, char **argv)
{
	if (argc != 3 || chdir(argv[2]) < 0)
		return 2;
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (!strcmp(argv[1], ways[i].name))
			return ways[i].run();
	return 2;
}
