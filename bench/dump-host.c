/* SPDX-License-Identifier: BSD-3-Clause */
/* A program with very many different stacks, and what a dump of them does to it.
 *
 *     dump-host STACKS cpu|heap VICTIM DUMPS NAME
 *
 * CPUPROFILE or HEAPPROFILE is NAME.pb, the latter with CPROF_HEAP_INTERVAL=1. Stacks are 30 frames
 * deep, branches of one tree over 2048 functions. In CPU mode each is sampled by the very signal
 * that the thread's timer sends; in heap mode each allocates a block that stays.
 *
 * Then a thread, the VICTIM, notes the longest time between two steps of what it does, while
 * SIGUSR2 makes NAME.0001.pb and so on, and for as long afterwards: spin     reads the clock malloc
 * allocates and frees fault    maps, touches and unmaps memory Longer ones within which another
 * took the processor away are told apart. bench/dump.sh makes a table. A line a dump: ms until the
 * file was there; CPU ms of the library's thread; us of the longest step in it, and of those
 * without a switch; the same two of the time after it; bytes of the file.
 */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define DEPTH 24 /* and those of main and of libc */
#define FUNCTIONS 2048u
#define BATCH 32 /* samples until the collector gets time to drain */
#define LONG_NS 100000

struct walk {
	unsigned stack, level;
};

static int heap;
static siginfo_t timer_signal;
static void **kept;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void pause_us(long us)
{
	nanosleep(&(struct timespec){ us / 1000000, us % 1000000 * 1000 }, NULL);
}

/* ---- stacks ---- */

static int go_on(struct walk *w);

#define ONE(n)                                                                                     \
	static __attribute__((noinline)) int f##n(struct walk *w)                                  \
	{                                                                                          \
		return go_on(w) + 0x##n;                                                           \
	}
#define F8(p) ONE(p##0) ONE(p##1) ONE(p##2) ONE(p##3) ONE(p##4) ONE(p##5) ONE(p##6) ONE(p##7)
#define F64(p) F8(p##0) F8(p##1) F8(p##2) F8(p##3) F8(p##4) F8(p##5) F8(p##6) F8(p##7)
#define F512(p) F64(p##0) F64(p##1) F64(p##2) F64(p##3) F64(p##4) F64(p##5) F64(p##6) F64(p##7)
F512(0)
F512(1)
F512(2)
F512(3)

#define N8(p) f##p##0, f##p##1, f##p##2, f##p##3, f##p##4, f##p##5, f##p##6, f##p##7,
#define N64(p) N8(p##0) N8(p##1) N8(p##2) N8(p##3) N8(p##4) N8(p##5) N8(p##6) N8(p##7)
#define N512(p) N64(p##0) N64(p##1) N64(p##2) N64(p##3) N64(p##4) N64(p##5) N64(p##6) N64(p##7)
static int (*const functions[FUNCTIONS])(struct walk *) = { N512(0) N512(1) N512(2) N512(3) };

static int leaf(const struct walk *w)
{
	if (heap)
		kept[w->stack] = malloc(32);
	else
		syscall(SYS_rt_tgsigqueueinfo, getpid(), getpid(), SIGPROF, &timer_signal);
	return 1;
}

/* A tree: stacks whose numbers have their first bits in common have their first frames in common.
 */
static inline __attribute__((always_inline)) int go_on(struct walk *w)
{
	uint64_t node;

	if (w->level == DEPTH)
		return leaf(w);
	node = w->level < DEPTH - 1 ? w->stack >> (DEPTH - 2 - w->level) : w->stack * 32u;
	node = (node + w->level++ * UINT64_C(0x1000193)) * UINT64_C(0x9e3779b97f4a7c15);
	/* The last one tells neighbours apart for sure. */
	return functions[w->level == DEPTH ? w->stack % FUNCTIONS : node >> 53](w);
}

/* As /proc/self/timers has the main thread's. */
static void learn_timer(void)
{
	FILE *f = fopen("/proc/self/timers", "r");
	unsigned long value;
	char line[256];
	int id = 0, signo, tid;

	timer_signal.si_signo = SIGPROF;
	timer_signal.si_code = SI_TIMER;
	while (f && fgets(line, sizeof(line), f)) {
		sscanf(line, "ID: %d", &id);
		if (sscanf(line, "signal: %d/%lx", &signo, &value) == 2 && signo == SIGPROF)
			timer_signal.si_value.sival_ptr = (void *)value;
		if (sscanf(line, "notify: signal/tid.%d", &tid) == 1 && tid == getpid()) {
			timer_signal.si_timerid = id;
			break;
		}
	}
	if (f)
		fclose(f);
}

static void make_stacks(unsigned n)
{
	volatile int sum = 0;

	kept = calloc(n, sizeof(*kept));
	learn_timer();
	for (unsigned i = 0; i < n; i++) {
		/* Neighbours don't come one after the other, as they don't in life. */
		sum += go_on(&(struct walk){ (unsigned)(i * UINT64_C(15485863) % n), 0 });
		if (!heap && i % BATCH == 0)
			pause_us(20);
	}
}

/* ---- the victim ---- */

static struct {
	uint64_t any, unswitched;
} longest;
static int stop;
static const char *kind;

static long switches(void)
{
	struct rusage r;

	getrusage(RUSAGE_THREAD, &r);
	return r.ru_nivcsw;
}

static void step(void)
{
	if (*kind == 'm') {
		free(malloc(100));
	} else if (*kind == 'f') {
		char *p = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0);

		p[0] = p[8192] = 1;
		munmap(p, 16384);
	}
}

static void raise_to(uint64_t *max, uint64_t ns)
{
	if (ns > __atomic_load_n(max, __ATOMIC_RELAXED))
		__atomic_store_n(max, ns, __ATOMIC_RELAXED);
}

static void *suffer(void *arg)
{
	uint64_t before = now();
	long switched = switches();

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		uint64_t t;

		step();
		t = now();
		raise_to(&longest.any, t - before);
		if (t - before > LONG_NS) {
			long s = switches();

			if (s == switched)
				raise_to(&longest.unswitched, t - before);
			switched = s;
			t = now();
		} else {
			raise_to(&longest.unswitched, t - before);
		}
		before = t;
	}
	return arg;
}

static void begin_window(void)
{
	__atomic_store_n(&longest.any, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&longest.unswitched, 0, __ATOMIC_RELAXED);
}

static void print_window(void)
{
	printf(" %.1f %.1f", (double)__atomic_load_n(&longest.any, __ATOMIC_RELAXED) / 1000,
	       (double)__atomic_load_n(&longest.unswitched, __ATOMIC_RELAXED) / 1000);
}

/* CPU ns that the library's thread has used. */
static uint64_t collector_ns(void)
{
	uint64_t ns = 0, used;
	struct dirent *d;
	DIR *tasks = opendir("/proc/self/task");

	while (tasks && (d = readdir(tasks))) {
		char path[64], name[32] = "";
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/task/%.12s/comm", d->d_name);
		f = fopen(path, "r");
		if (!f)
			continue;
		if (!fgets(name, sizeof(name), f))
			name[0] = '\0';
		fclose(f);
		if (strcmp(name, "cprof\n"))
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%.12s/schedstat", d->d_name);
		f = fopen(path, "r");
		if (f && fscanf(f, "%lu", &used) == 1)
			ns = used;
		if (f)
			fclose(f);
	}
	if (tasks)
		closedir(tasks);
	return ns;
}

/* Returns its size; 0: there is no such file. */
static long size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : (long)st.st_size;
}

static int dump(const char *name, unsigned number)
{
	uint64_t began, took, used;
	char path[4096];

	snprintf(path, sizeof(path), "%s.%04u.pb", name, number);
	used = collector_ns();
	begin_window();
	began = now();
	kill(getpid(), SIGUSR2);
	while (!size_of(path)) {
		if (now() - began > UINT64_C(60000000000))
			return 1;
		pause_us(200);
	}
	took = now() - began;
	printf("%.1f %.1f", (double)took / 1e6, (double)(collector_ns() - used) / 1e6);
	print_window();
	begin_window();
	pause_us((long)(took / 1000));
	print_window();
	printf(" %ld\n", size_of(path));
	unlink(path);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned dumps = argc > 4 ? (unsigned)atoi(argv[4]) : 0;
	pthread_t victim;

	if (argc < 6)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	heap = !strcmp(argv[2], "heap");
	kind = argv[3];
	make_stacks((unsigned)atoi(argv[1]));
	pthread_create(&victim, NULL, suffer, NULL);
	pause_us(300000);
	for (unsigned i = 1; i <= dumps; i++)
		if (dump(argv[5], i))
			return 1;
	stop = 1;
	pthread_join(victim, NULL);
	/* The profile at exit is not what this is about. */
	kill(getpid(), SIGKILL);
	return 0;
}
