/* SPDX-License-Identifier: BSD-3-Clause */
/* Touches known numbers of pages for the first time, for event.sh.
 *
 *   event-host touches N    writes to 7 N pages in one function and 2 N in another, and the kernel
 *                           writes to N more, in turns of ten
 *   event-host threads N T  T threads, one after the other, each touch N pages
 *   event-host forks N      a child touches N pages
 *   event-host execs N      touches N pages, then executes itself, and touches N pages
 *   event-host api N PATH   starts the mode itself, with a period of 3; the library is preloaded
 *   event-host pends N PATH starts the mode itself, whose event gets another number than that of
 * the CPU mode has had, and is in calls with N page faults each; then it works for a second
 */
#include <cprof.h>

#include "host.h"

#pragma weak cprof_start
#pragma weak cprof_stop_mode
#pragma weak cprof_get_mode_stats
#pragma weak cprof_thread_pause
#pragma weak cprof_thread_resume

static volatile int sink;
static size_t page;

#define TOUCHES(name)                                                                              \
	__attribute__((noinline, noipa)) static char *name(char *at, long n)                       \
	{                                                                                          \
		for (; n > 0; n--, at += page)                                                     \
			*(volatile char *)at = 1;                                                  \
		sink = __LINE__;                                                                   \
		return at;                                                                         \
	}

TOUCHES(touches_much)
TOUCHES(touches_little)
TOUCHES(thread_touches)
TOUCHES(child_touches)
TOUCHES(touches_before)
TOUCHES(touches_after)
TOUCHES(touches_paused)

/* A page of its own for each touch: no huge pages, and no fault around it. */
static char *pages(long n)
{
	char *at = mmap(NULL, (size_t)n * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);

	EXPECT(at != MAP_FAILED);
	madvise(at, (size_t)n * page, MADV_NOHUGEPAGE);
	return at;
}

__attribute__((noinline, noipa)) static char *has_read(int zero, char *at, long n)
{
	size_t left = (size_t)n * page;
	ssize_t got;

	/* Less than was asked for where a signal came. */
	while (left && (got = read(zero, at, left)) > 0) {
		at += got;
		left -= (size_t)got;
	}
	EXPECT(!left);
	return at;
}

__attribute__((noinline, noipa)) static void touches(long n)
{
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	char *at = pages(10 * n);

	for (long turn = 0; turn < n / 10; turn++) {
		at = touches_much(at, 70);
		at = touches_little(at, 20);
		at = has_read(zero, at, 10);
	}
	close(zero);
}

__attribute__((noinline, noipa)) static void *thread(void *arg)
{
	char *at = pages(*(long *)arg);

	thread_touches(at, *(long *)arg);
	munmap(at, *(size_t *)arg * page);
	return NULL;
}

static void threads(long n, int count)
{
	for (int i = 0; i < count; i++) {
		pthread_t t;

		EXPECT(pthread_create(&t, NULL, thread, &n) == 0);
		pthread_join(t, NULL);
	}
}

static void forks(long n)
{
	char *at = pages(n);
	pid_t child = fork();
	int status = 1;

	if (!child) {
		child_touches(at, n);
		exit(0);
	}
	EXPECT(waitpid(child, &status, 0) == child && status == 0);
}

static void api(long n, const char *path)
{
	struct cprof_options o = CPROF_OPTIONS_INIT;
	struct cprof_stats s = { .size = sizeof(s) };

	o.event_path = path;
	o.event = "context-switches";
	EXPECT(cprof_start(&o) == -EINVAL);
	o.event = "minor-faults:u";
	o.event_period = 1000000001;
	EXPECT(cprof_start(&o) == -EINVAL);
	o.event_period = 3;
	touches_before(pages(n), n);
	EXPECT(cprof_start(&o) == 0);
	touches_much(pages(n), n);
	EXPECT(cprof_thread_pause() == 0);
	touches_paused(pages(n), n);
	EXPECT(cprof_thread_resume() == 0);
	EXPECT(cprof_get_mode_stats(CPROF_EVENT, &s) == 0 && s.period == 3);
	EXPECT(cprof_stop_mode(CPROF_EVENT) == 0);
	touches_after(pages(n), n);
}

__attribute__((noinline, noipa)) static void works_on(double seconds)
{
	double until = host_clock(CLOCK_THREAD_CPUTIME_ID) + seconds;

	while (host_clock(CLOCK_THREAD_CPUTIME_ID) < until)
		sink++;
}

static void pends(long n, const char *path)
{
	struct cprof_options o = CPROF_OPTIONS_INIT;
	int file = (int)syscall(SYS_memfd_create, "pends", 0u);

	EXPECT(file >= 0);
	/* Where the number of the CPU mode's event was. */
	EXPECT(fcntl(file, F_DUPFD_CLOEXEC, 500) >= 500);
	o.event_path = path;
	o.event = "minor-faults";
	o.event_period = 1;
	EXPECT(cprof_start(&o) == 0);
	/* The signal of a call's first fault pends during the call. */
	while (host_clock(CLOCK_THREAD_CPUTIME_ID) < 0.4) {
		char *at = pages(n);

		EXPECT(pwrite(file, at, (size_t)n * page, 0) == (ssize_t)((size_t)n * page));
		munmap(at, (size_t)n * page);
	}
	works_on(1);
}

int main(int argc, char **argv)
{
	long n = argc > 2 ? atol(argv[2]) : 1000;

	page = (size_t)sysconf(_SC_PAGESIZE);
	if (argc < 3 || !strcmp(argv[1], "touches")) {
		touches(n);
	} else if (!strcmp(argv[1], "threads")) {
		threads(n, atoi(argv[3]));
	} else if (!strcmp(argv[1], "forks")) {
		forks(n);
	} else if (!strcmp(argv[1], "execs")) {
		touches_before(pages(n), n);
		execl("/proc/self/exe", argv[0], "after", argv[2], NULL);
	} else if (!strcmp(argv[1], "after")) {
		touches_after(pages(n), n);
	} else if (!strcmp(argv[1], "pends")) {
		pends(n, argv[3]);
	} else {
		api(n, argv[3]);
	}
	HOST_END();
}
