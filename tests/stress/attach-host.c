/* SPDX-License-Identifier: BSD-3-Clause */
/* Storms to attach into. Usage: attach-host KIND SECONDS, where KIND is one of the table at the
 * end, or all. The last line is "ok" if every wait, result and child was as it must be. Where main
 * isn't to be lent, because it often can, it waits in a function that libc's qsort calls. */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"

#define MS UINT64_C(1000000)

extern char **environ;
static uint64_t until;
static int wrong;

static int goes_on(void)
{
	return now_ns() < until;
}

static void say_wrong(const char *what)
{
	fprintf(stderr, "wrong: %s: %s\n", what, strerror(errno));
	__atomic_store_n(&wrong, 1, __ATOMIC_RELAXED);
}

static void *allocate(void *number)
{
	unsigned seed = (unsigned)(uintptr_t)number + 1;
	void *blocks[64] = { NULL };

	while (goes_on())
		for (int i = 0; i < 1000; i++) {
			unsigned k = (seed = seed * 1103515245 + 12345) >> 20 & 63;

			free(blocks[k]);
			blocks[k] = malloc(seed % 3000 + 1);
			memset(blocks[k], (int)k, 1);
		}
	for (int i = 0; i < 64; i++)
		free(blocks[i]);
	return NULL;
}

static void *load(void *number)
{
	static const char *const names[] = { "libm.so.6", "libz.so.1", "liblzma.so.5",
					     "libexpat.so.1" };

	for (unsigned i = (unsigned)(uintptr_t)number; goes_on(); i++) {
		void *handle = dlopen(names[i % 4], RTLD_NOW | RTLD_LOCAL);

		if (handle)
			dlclose(handle);
	}
	return NULL;
}

static void *map(void *unused)
{
	const size_t size = 1 << 18;

	while (goes_on()) {
		char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0);

		p[0] = p[size / 2] = 1;
		mprotect(p, 4096, PROT_READ);
		munmap(p, size);
	}
	return unused;
}

static void await(pid_t child, int expected)
{
	int status;
	pid_t got;

	while ((got = waitpid(child, &status, 0)) < 0 && errno == EINTR)
		;
	if (got != child || !WIFEXITED(status) || WEXITSTATUS(status) != expected)
		say_wrong("child");
}

static void *fork_often(void *unused)
{
	while (goes_on()) {
		pid_t child = fork();

		if (!child) {
			free(malloc(100));
			_exit(7);
		}
		await(child, 7);
	}
	return unused;
}

static void *exec_often(void *unused)
{
	char *const argv[] = { (char *)(uintptr_t) "true", NULL };
	pid_t child;

	while (goes_on())
		if (posix_spawn(&child, "/bin/true", NULL, NULL, argv, environ))
			say_wrong("posix_spawn");
		else
			await(child, 0);
	return unused;
}

static void on_signal(int sig)
{
	(void)sig;
}

/* Has signals, which end its sleeps, and counts with floats in between. */
static void *victim(void *unused)
{
	pthread_t self = pthread_self();
	double x = 1;

	while (goes_on()) {
		const struct timespec t = { .tv_nsec = 300000 };

		pthread_kill(self, SIGUSR1);
		nanosleep(&t, NULL);
		for (int i = 0; i < 2000; i++)
			x = x * 1.0000001 + 0.1;
		if (!(x >= 1))
			say_wrong("float");
		x = x > 1e9 ? 1 : x;
	}
	return unused;
}

static void *back(void *value)
{
	return value;
}

static void *short_threads(void *unused)
{
	while (goes_on()) {
		pthread_t t[4];
		void *result;

		for (uintptr_t i = 0; i < 4; i++)
			if (pthread_create(&t[i], NULL, back, (void *)i))
				say_wrong("pthread_create");
		for (uintptr_t i = 0; i < 4; i++)
			if (pthread_join(t[i], &result) || result != (void *)i)
				say_wrong("pthread_join");
	}
	return unused;
}

static void *jump(void *unused)
{
	while (goes_on()) {
		volatile int count = 0;

		for (volatile int i = 0; i < 500; i++) {
			sigjmp_buf to;

			if (!sigsetjmp(to, 1)) {
				count++;
				siglongjmp(to, 1);
			}
			count++;
		}
		if (count != 1000)
			say_wrong("siglongjmp");
	}
	return unused;
}

/* Waits of one kind, each of which must last, and not fail. */
static int wait_once(unsigned kind, int ms, int epoll)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
	struct timespec t = { .tv_nsec = ms * 1000000L };
	struct timeval v = { .tv_usec = ms * 1000L };
	struct epoll_event event;
	int result;

	switch (kind) {
	case 0: return nanosleep(&t, NULL);
	case 1: return poll(NULL, 0, ms);
	case 2: return select(0, NULL, NULL, NULL, &v);
	case 3: return epoll_wait(epoll, &event, 1, ms);
	case 4: return usleep((useconds_t)ms * 1000);
	default:
		clock_gettime(CLOCK_REALTIME, &t);
		t.tv_nsec += ms * 1000000L;
		t.tv_sec += t.tv_nsec / 1000000000;
		t.tv_nsec %= 1000000000;
		pthread_mutex_lock(&mutex);
		result = pthread_cond_timedwait(&condition, &mutex, &t);
		pthread_mutex_unlock(&mutex);
		return result == ETIMEDOUT ? 0 : -1;
	}
}

static void *sleep_often(void *number)
{
	static const char *const names[] = { "nanosleep",  "poll",   "select",
					     "epoll_wait", "usleep", "condition" };
	unsigned kind = (unsigned)(uintptr_t)number % 6;
	int ms = 20 + (int)((uintptr_t)number % 5) * 13, epoll = epoll_create1(0);

	while (goes_on()) {
		uint64_t began = now_ns();

		errno = 0;
		/* epoll_wait counts in milliseconds; CLOCK_REALTIME may be set. */
		if (wait_once(kind, ms, epoll) || now_ns() - began < ((uint64_t)ms - 1) * MS)
			say_wrong(names[kind]);
	}
	close(epoll);
	return NULL;
}

static const struct storm {
	const char *name;
	void *(*body)(void *);
	unsigned alone, among; /* threads */
	int hides;	       /* main can't be lent */
} storms[] = {
	{ "malloc", allocate, 8, 2, 0 },
	{ "dlopen", load, 4, 1, 0 },
	{ "mmap", map, 4, 1, 0 },
	{ "fork", fork_often, 2, 1, 0 },
	{ "exec", exec_often, 2, 1, 0 },
	{ "signals", victim, 4, 2, 1 },
	{ "short", short_threads, 2, 1, 0 },
	{ "jump", jump, 2, 1, 1 },
	{ "sleep", sleep_often, 1000, 100, 0 },
};

static pthread_t threads[2000];
static unsigned thread_count;

static int await_all(const void *a, const void *b)
{
	for (unsigned i = 0; i < thread_count; i++)
		pthread_join(threads[i], NULL);
	return *(const char *)a - *(const char *)b;
}

int main(int argc, char **argv)
{
	const struct rlimit files = { 5000, 5000 };
	sigset_t child;
	char two[] = "ab";
	int all, hidden = 0;

	if (argc < 3)
		return 2;
	setrlimit(RLIMIT_NOFILE, &files);
	until = now_ns() + (uint64_t)atoi(argv[2]) * 1000 * MS;
	all = !strcmp(argv[1], "all");
	/* fork and posix_spawn block signals. So a child's end may wake another thread for SIGCHLD,
	 * and end its epoll_wait, without attach, too. */
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &child, NULL);
	sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = on_signal }, NULL);
	for (size_t i = 0; i < sizeof(storms) / sizeof(*storms); i++)
		for (uintptr_t n = 0; (all || !strcmp(argv[1], storms[i].name)) &&
				      n < (all ? storms[i].among : storms[i].alone);
		     n++) {
			hidden = storms[i].hides;
			if (pthread_create(&threads[thread_count++], NULL, storms[i].body,
					   (void *)n))
				return 3;
		}
	puts("up");
	fflush(stdout);
	if (hidden)
		qsort(two, 2, 1, await_all);
	else
		await_all(two, two + 1);
	puts(wrong ? "wrong" : "ok");
	return wrong;
}
