/* What a mutex costs with the library preloaded.
 *
 *   lock pair                the pair of lock and unlock, free: in ns, over a bare forward
 *   lock waited              the same of one that a thread has waited for before
 *   lock contended SECONDS INSIDE OUTSIDE
 *                            pairs a second of eight threads that share one, with so many turns
 *                            of a loop while they hold it, and while they don't; and pairs a
 *                            second of CPU time, which what else runs disturbs less
 *
 * bench/lock.sh runs it. A bare forward is what any interposition costs: a call of the original
 * through a pointer. Both are called here through a pointer, in turns, so that what else the
 * machine does hits both; the median of the differences is what is left.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PAIRS 200000
#define ROUNDS 301
#define THREADS 8

typedef int (*lock_function)(pthread_mutex_t *);

static struct {
	lock_function lock, unlock;
} real;

__attribute__((noinline, aligned(64))) static int forward_lock(pthread_mutex_t *m)
{
	return real.lock(m);
}

__attribute__((noinline, aligned(64))) static int forward_unlock(pthread_mutex_t *m)
{
	return real.unlock(m);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

/* ns a pair. */
static double time_pairs(lock_function lock, lock_function unlock)
{
	volatile lock_function l = lock, u = unlock;
	double began = now();

	for (int i = 0; i < PAIRS; i++) {
		l(&m);
		u(&m);
	}
	return (now() - began) * 1e9 / PAIRS;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *values, int n)
{
	qsort(values, (size_t)n, sizeof(*values), by_value);
	return values[n / 2];
}

static void *look_up(void *handle, const char *name)
{
	void *f = dlsym(handle, name);

	if (!f)
		exit(2);
	return f;
}

static void *wait_once(void *arg)
{
	pthread_mutex_lock(&m);
	pthread_mutex_unlock(&m);
	return arg;
}

static void let_wait(void)
{
	struct timespec moment = { 0, 50000000 };
	pthread_t thread;

	pthread_mutex_lock(&m);
	pthread_create(&thread, NULL, wait_once, NULL);
	nanosleep(&moment, NULL);
	pthread_mutex_unlock(&m);
	pthread_join(thread, NULL);
}

static int pair(void)
{
	static double direct[ROUNDS], forward[ROUNDS], ours[ROUNDS], over[ROUNDS];
	void *libc = dlopen("libc.so.6", RTLD_LAZY);
	lock_function lock, unlock;

	*(void **)&real.lock = look_up(libc, "pthread_mutex_lock");
	*(void **)&real.unlock = look_up(libc, "pthread_mutex_unlock");
	*(void **)&lock = look_up(RTLD_DEFAULT, "pthread_mutex_lock");
	*(void **)&unlock = look_up(RTLD_DEFAULT, "pthread_mutex_unlock");
	for (int i = 0; i < ROUNDS; i++) {
		direct[i] = time_pairs(real.lock, real.unlock);
		forward[i] = time_pairs(forward_lock, forward_unlock);
		ours[i] = time_pairs(lock, unlock);
		over[i] = ours[i] - forward[i];
	}
	printf("libc %.2f  forward %.2f  ours %.2f  ours over forward %.2f ns a pair\n",
	       median(direct, ROUNDS), median(forward, ROUNDS), median(ours, ROUNDS),
	       median(over, ROUNDS));
	return 0;
}

static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t together;
static volatile int stop;
static int turns_inside, turns_outside;
static uint64_t pairs[THREADS][8]; /* a cache line each */

static void *contend(void *arg)
{
	uint64_t *n = pairs[(intptr_t)arg];
	volatile unsigned inside = 0, outside = 0;

	pthread_barrier_wait(&together);
	while (!stop) {
		pthread_mutex_lock(&shared);
		for (int i = 0; i < turns_inside; i++)
			inside++;
		pthread_mutex_unlock(&shared);
		for (int i = 0; i < turns_outside; i++)
			outside++;
		++*n;
	}
	return NULL;
}

static int contended(double seconds)
{
	pthread_t threads[THREADS];
	struct timespec left = { (time_t)seconds,
				 (long)((seconds - (double)(time_t)seconds) * 1e9) };
	uint64_t all = 0;
	double began;

	pthread_barrier_init(&together, NULL, THREADS + 1);
	for (intptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, contend, (void *)i);
	pthread_barrier_wait(&together);
	began = now();
	nanosleep(&left, NULL);
	stop = 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < THREADS; i++)
		all += pairs[i][0];
	printf("%.0f %.0f\n", (double)all / (now() - began), (double)all / cpu_seconds());
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "pair"))
		return pair();
	if (argc == 2 && !strcmp(argv[1], "waited")) {
		let_wait();
		return pair();
	}
	if (argc == 5 && !strcmp(argv[1], "contended")) {
		turns_inside = atoi(argv[3]);
		turns_outside = atoi(argv[4]);
		return contended(atof(argv[2]));
	}
	fprintf(stderr, "usage: lock pair | lock waited | lock contended SECONDS INSIDE OUTSIDE\n");
	return 2;
}
