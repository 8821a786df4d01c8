/* SPDX-License-Identifier: BSD-3-Clause */
/* Linked with the library: threads of C11, and one that libc's own pthread_create makes, which the
 * profiler finds in /proc before it makes itself known with cprof_thread_pause.
 */
#include <threads.h>

#include "cprof.h"
#include "host.h"

#define C11_THREADS 4

__attribute__((noinline)) static int c11_work(void *arg)
{
	burn_and_tick(0.03);
	return *(int *)arg;
}

/* Each is over before anybody could find it in /proc. */
static void make_c11_threads(void)
{
	for (int i = 0; i < C11_THREADS; i++) {
		int given = i - 2, got = 77;
		thrd_t t;

		EXPECT(thrd_create(&t, c11_work, &given) == thrd_success);
		EXPECT(thrd_join(t, &got) == thrd_success && got == given);
	}
}

/* The profiler's timers are listed with the thread that they signal. */
static int my_timers(void)
{
	FILE *f = fopen("/proc/self/timers", "r");
	char line[256], wanted[64];
	int found = 0;

	snprintf(wanted, sizeof(wanted), "tid.%d\n", (int)syscall(SYS_gettid));
	while (f && fgets(line, sizeof(line), f))
		found += strstr(line, wanted) != NULL;
	if (f)
		fclose(f);
	return found;
}

__attribute__((noinline)) static void found_work(void)
{
	burn(0.1);
	__asm__ volatile("");
}

__attribute__((noinline)) static void paused_work(void)
{
	burn(0.3);
	__asm__ volatile("");
}

__attribute__((noinline)) static void resumed_work(void)
{
	burn(0.12);
	__asm__ volatile("");
}

static void start(const char *path)
{
	struct cprof_options o = CPROF_OPTIONS_INIT;

	o.cpu_path = path;
	o.frequency = 1000;
	EXPECT(cprof_start(&o) == 0);
}

static void *found_thread(void *arg)
{
	for (int i = 0; i < 1000 && !my_timers(); i++)
		usleep(10000);
	EXPECT(my_timers() == 1);
	found_work();
	EXPECT(cprof_thread_pause() == 0);
	EXPECT(my_timers() == 1);
	paused_work();
	EXPECT(cprof_thread_resume() == 0);
	resumed_work();
	/* The sweep looks again and again. */
	usleep(1500000);
	EXPECT(my_timers() == 1);
	EXPECT(cprof_stop() == 0);
	start(arg);
	EXPECT(my_timers() == 1);
	return arg;
}

int main(int argc, char **argv)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY), *symbol;
	int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	pthread_t found;

	if (argc < 3)
		return 2;
	start(argv[1]);
	make_c11_threads();
	symbol = libc ? dlsym(libc, "pthread_create") : NULL;
	EXPECT(symbol != NULL);
	if (symbol) {
		memcpy(&create, &symbol, sizeof(create));
		EXPECT(create(&found, NULL, found_thread, argv[2]) == 0);
		pthread_join(found, NULL);
	}
	EXPECT(cprof_stop() == 0);
	HOST_END();
}
