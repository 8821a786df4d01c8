/* SPDX-License-Identifier: BSD-3-Clause */
/* Linked programs that start and stop profiling under stress: "races DIR" while other threads begin
 * and end all the time, "stalled DIR" with a dump to a pipe that nobody reads, "forks DIR" while
 * another thread forks; "names DIR" with names of files from there. */
#include <cprof.h>
#include <gperftools/heap-profiler.h>
#include <gperftools/profiler.h>

#include <dirent.h>

#include "host.h"

#define ROUNDS 40
#define CHILDREN 100

static int stop;

static void *nothing(void *arg)
{
	return arg;
}

static void *begin_threads(void *arg)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		pthread_t t;

		if (pthread_create(&t, NULL, nothing, NULL) == 0)
			pthread_join(t, NULL);
	}
	return arg;
}

static int threads_now(void)
{
	DIR *d = opendir("/proc/self/task");
	int n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n - 2; /* . and .. */
}

static int races(void)
{
	struct cprof_options o = CPROF_OPTIONS_INIT;
	pthread_t t;

	o.cpu_path = "races.pb";
	pthread_create(&t, NULL, begin_threads, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		EXPECT(cprof_start(&o) == 0);
		usleep(2000);
		EXPECT(cprof_stop() == 0);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(t, NULL);
	for (int i = 0; i < 2000 && threads_now() > 1; i++)
		usleep(1000);
	EXPECT(threads_now() == 1);
	HOST_END();
}

static void *dump(void *fd)
{
	cprof_dump_fd(*(int *)fd);
	return NULL;
}

static int stalled_child(void)
{
	struct cprof_options o = CPROF_OPTIONS_INIT;
	char bytes[4096] = { 0 };
	pthread_t t;
	int p[2];

	o.cpu_path = "stalled.pb";
	if (cprof_start(&o) || pipe2(p, O_NONBLOCK) < 0)
		return 3;
	while (write(p[1], bytes, sizeof(bytes)) > 0)
		;
	fcntl(p[1], F_SETFL, 0);
	pthread_create(&t, NULL, dump, &p[1]);
	usleep(200000); /* the thread is in the write, or was scheduled badly and the test is weaker
			 */
	kill(getpid(), SIGTERM);
	pause();
	return 4;
}

static int stalled(void)
{
	int status = 0;
	pid_t child = fork(), ended = 0;

	if (child == 0)
		_exit(stalled_child());
	for (int i = 0; i < 10000 && (ended = waitpid(child, &status, WNOHANG)) == 0; i++)
		usleep(1000);
	EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	if (!ended)
		kill(child, SIGKILL);
	HOST_END();
}

static void *start_and_stop(void *arg)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		EXPECT(cprof_start(arg) == 0);
		usleep(300);
		EXPECT(cprof_stop() == 0);
	}
	return NULL;
}

/* A copy of a session that is on can be stopped, of one that is half started or stopped nothing is
 * left; then it is as in any process. */
static int start_in_child(const struct cprof_options *o)
{
	int err = cprof_start(o);

	if (err == -EALREADY) {
		for (int mode = CPROF_CPU; mode <= CPROF_LOCK; mode++)
			EXPECT(cprof_dump_mode(mode, "child.pb") == 0);
		EXPECT(cprof_stop() == 0);
		err = cprof_start(o);
	}
	EXPECT(err == 0);
	EXPECT(cprof_stop() == 0);
	EXPECT(cprof_stop() == -ESRCH);
	HOST_END();
}

static int forks(void)
{
	struct cprof_options o = CPROF_OPTIONS_INIT;
	pthread_t t;

	o.cpu_path = "forks.pb";
	o.wall_path = "forks.wall.pb";
	o.heap_path = "forks.heap.pb";
	o.lock_path = "forks.lock.pb";
	EXPECT(cprof_start(&o) == 0);
	EXPECT(cprof_stop() == 0);
	pthread_create(&t, NULL, start_and_stop, &o);
	for (int i = 0; i < CHILDREN; i++) {
		int status = -1;
		pid_t child;

		fflush(stdout);
		child = fork();
		if (child == 0)
			_exit(start_in_child(&o));
		EXPECT(waitpid(child, &status, 0) == child && status == 0);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(t, NULL);
	HOST_END();
}

static int names(void)
{
	struct cprof_options o = CPROF_OPTIONS_INIT;

	o.cpu_path = "cprof.pb";
	EXPECT(cprof_start(&o) == 0);
	burn(0.02);
	EXPECT(cprof_dump("100%dump.pb") == 0);
	EXPECT(cprof_stop() == 0);
	EXPECT(ProfilerStart("gperftools.pb") == 1);
	burn(0.02);
	ProfilerStop();
	HeapProfilerStart("memory");
	HeapProfilerDump("asked");
	HeapProfilerStop();
	HOST_END();
}

static const struct {
	const char *name;
	int (*run)(void);
} ways[] = {
	{ "races", races },
	{ "stalled", stalled },
	{ "forks", forks },
	{ "names", names },
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
