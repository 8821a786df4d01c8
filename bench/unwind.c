/* SPDX-License-Identifier: BSD-3-Clause */
/* Nanoseconds a frame of each way to take a stack, side by side in one run.
 *
 *     bench/unwind [depth [rounds]]      default: depths 10, 30 and 100, then what it costs to
 * begin
 *
 * One context is taken DEPTH calls deep, through functions that use 0 to 6
 * callee-saved registers, and walked ROUNDS times by each in turn, which
 * evens out what the machine does meanwhile; the median is printed. "warm" walks
 * the same stack again and again; "cold" empties the caches of ours and of
 * libunwind before each walk, and leaves the processor's as the others' walks did.
 *
 *     own           libcprof's reader of call frame information
 *     fp            libcprof, by frame pointers (this program has none, so it stops early)
 *     unw_backtrace libunwind's, with its cache of frames, which nothing empties
 *     unw_step      libunwind's cursor over the context
 *     backtrace     glibc's, which is libgcc's
 *
 * "To begin" is the first use in a new process, with and without a library of a hundred
 * megabytes loaded (BENCH_LIBRARY, else the largest libLLVM there is): prepare and the first walk.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <glob.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sample/sample.h"
#include "unwind/signal/unwind_signal.h"

#define NOINLINE __attribute__((noinline))
#define ROUNDS_MAX 100000
#define WARM_REPEAT 20

static struct cp_unwind_input in;
static ucontext_t *context_of_input;
static uint64_t pcs[4096];
static void *addresses[4096];
static volatile int sink;
static unsigned rounds = 301;
static bool only_begin;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* ---- the contestants ---- */

static enum cp_unwind_end end;

static unsigned walk_own(void)
{
	return cp_unwinder_dwarf.walk(&in, pcs, 4096, &end);
}

static unsigned walk_fp(void)
{
	return cp_unwinder_fp.walk(&in, pcs, 4096, &end);
}

static unsigned walk_backtrace(void)
{
	return (unsigned)backtrace(addresses, 4096);
}

static bool start_own(void)
{
	return cp_unwinder_dwarf.prepare() == 0;
}

#if defined(HAVE_LIBUNWIND) && defined(__x86_64__)

static int (*unw_backtrace_of)(void **, int);
static int (*init_local)(unw_cursor_t *, ucontext_t *, int);
static int (*step)(unw_cursor_t *);
static int (*get_reg)(unw_cursor_t *, int, unw_word_t *);
static void (*flush)(unw_addr_space_t, unw_word_t, unw_word_t);
static unw_addr_space_t *local_space;

/* Loaded privately, as the product does; its local half, which the product does not use. */
static bool start_libunwind(void)
{
	void *lib = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);

	if (!lib)
		return false;
	*(void **)&unw_backtrace_of = dlsym(lib, "unw_backtrace");
	*(void **)&init_local = dlsym(lib, "_ULx86_64_init_local2");
	*(void **)&step = dlsym(lib, "_ULx86_64_step");
	*(void **)&get_reg = dlsym(lib, "_ULx86_64_get_reg");
	*(void **)&flush = dlsym(lib, "_Ux86_64_flush_cache");
	*(void **)&local_space = dlsym(lib, "_ULx86_64_local_addr_space");
	return unw_backtrace_of && init_local && step && get_reg && flush && local_space;
}

static unsigned walk_unw_backtrace(void)
{
	return (unsigned)unw_backtrace_of(addresses, 4096);
}

static unsigned walk_unw_step(void)
{
	unw_cursor_t cursor;
	unsigned n = 1;
	unw_word_t pc;

	init_local(&cursor, context_of_input, UNW_INIT_SIGNAL_FRAME);
	while (n < 4096 && step(&cursor) > 0) {
		get_reg(&cursor, UNW_REG_IP, &pc);
		pcs[n++] = pc;
	}
	return n;
}

static void forget_libunwind(void)
{
	flush(*local_space, 0, 0);
}

#else

static bool start_libunwind(void)
{
	return false;
}
#define walk_unw_backtrace walk_own
#define walk_unw_step walk_own
#define forget_libunwind NULL

#endif

static void forget_own(void)
{
	cp_unwinder_dwarf.modules_changed();
}

enum { OWN, FP, UNW_BACKTRACE, UNW_STEP, BACKTRACE, CONTESTANTS };

static struct contestant {
	const char *name;
	bool (*start)(void);
	unsigned (*walk)(void);
	void (*forget)(void);
	bool usable;
	unsigned frames;
	double *warm, *cold;
} contestants[CONTESTANTS] = {
	[OWN] = { "own", start_own, walk_own, forget_own },
	[FP] = { "fp", NULL, walk_fp, NULL },
	[UNW_BACKTRACE] = { "unw_backtrace", start_libunwind, walk_unw_backtrace, NULL },
	[UNW_STEP] = { "unw_step", start_libunwind, walk_unw_step, forget_libunwind },
	[BACKTRACE] = { "backtrace", NULL, walk_backtrace, NULL },
};

/* ---- measuring ---- */

static double time_walk(struct contestant *c, unsigned repeat)
{
	uint64_t from = now();

	for (unsigned i = 0; i < repeat; i++)
		c->frames = c->walk();
	return (double)(now() - from) / repeat;
}

static void round_of(struct contestant *c, unsigned round)
{
	if (c->forget)
		c->forget();
	c->cold[round] = time_walk(c, 1);
	time_walk(c, 2);
	c->warm[round] = time_walk(c, WARM_REPEAT);
}

static double median(double *v)
{
	qsort(v, rounds, sizeof(double), by_value);
	return v[rounds / 2];
}

static void say(const char *what, bool reached)
{
	printf("  %-62s %s\n", what, reached ? "reached" : "MISSED");
}

static void targets(void)
{
	double warm[CONTESTANTS], cold = 0;

	for (unsigned i = 0; i < CONTESTANTS; i++)
		warm[i] = contestants[i].usable
				  ? median(contestants[i].warm) / contestants[i].frames
				  : 0;
	cold = median(contestants[OWN].cold) / contestants[OWN].frames;
	say("own: at most 10 ns a frame warm", warm[OWN] <= 10);
	say("own: at most 60 ns a frame cold", cold <= 60);
	if (!contestants[UNW_STEP].usable)
		return;
	say("own: below unw_backtrace, warm, a frame", warm[OWN] < warm[UNW_BACKTRACE]);
	say("own: at least 20 times below unw_step, warm", warm[OWN] * 20 <= warm[UNW_STEP]);
}

static void report(struct contestant *c)
{
	double warm = median(c->warm), cold = median(c->cold);

	printf("  %-14s %4u frames   warm %8.1f ns/frame %9.0f ns/walk", c->name, c->frames,
	       warm / c->frames, warm);
	if (c->forget)
		printf("   cold %8.1f ns/frame", cold / c->frames);
	printf("\n");
}

static void compare_all(void)
{
	for (unsigned i = 0; i < CONTESTANTS; i++) {
		struct contestant *c = &contestants[i];

		c->usable = !c->start || c->start();
		if (!c->warm) {
			c->warm = calloc(ROUNDS_MAX, sizeof(double));
			c->cold = calloc(ROUNDS_MAX, sizeof(double));
		}
	}
	for (unsigned r = 0; r < rounds; r++)
		for (unsigned i = 0; i < CONTESTANTS; i++)
			if (contestants[i].usable)
				round_of(&contestants[i], r);
	for (unsigned i = 0; i < CONTESTANTS; i++)
		if (contestants[i].usable)
			report(&contestants[i]);
	targets();
}

/* ---- what it costs to begin ---- */

static void begin_all(void)
{
	for (unsigned i = 0; i < CONTESTANTS; i++) {
		struct contestant *c = &contestants[i];
		uint64_t from = now(), started;

		if (i == FP || (c->start && !c->start()))
			continue;
		started = now();
		c->frames = c->walk();
		printf("    %-14s start %8.1f us   first walk %8.1f us\n", c->name,
		       (double)(started - from) / 1000, (double)(now() - started) / 1000);
	}
	/* A function of the library, as if it had just been called from here. */
	in.regs.r[CP_REG_PC] = (uint64_t)dlsym(RTLD_DEFAULT, "LLVMContextCreate");
	if (in.regs.r[CP_REG_PC]) {
		uint64_t from = now();

		cp_unwinder_dwarf.walk(&in, pcs, 1, &end);
		printf("    own            first look-up in it %8.1f us\n",
		       (double)(now() - from) / 1000);
	}
}

static void take(int sig, siginfo_t *info, void *context)
{
	pthread_attr_t attr;
	void *low;
	size_t size;

	memset(&in, 0, sizeof(in));
	context_of_input = context;
	cp_regs_of_context(&in.regs, context);
	pthread_getattr_np(pthread_self(), &attr);
	pthread_attr_getstack(&attr, &low, &size);
	pthread_attr_destroy(&attr);
	in.stack_low = (uint64_t)low;
	in.stack_high = in.stack_low + size;
	in.stable_modules = in.own_tls = true;
	/* Here, where the interrupted stack still is as it was. */
	if (only_begin)
		begin_all();
	else
		compare_all();
}

static int descend(unsigned depth);

#define FRAME(name, count)                                                                         \
	static NOINLINE int name(unsigned depth)                                                   \
	{                                                                                          \
		int v[count + 1], r;                                                               \
                                                                                                   \
		for (int i = 0; i <= count; i++)                                                   \
			v[i] = sink + i;                                                           \
		r = descend(depth - 1);                                                            \
		for (int i = 0; i <= count; i++)                                                   \
			r += v[i] * i;                                                             \
		return r;                                                                          \
	}
FRAME(frame_0, 0)
FRAME(frame_1, 1)
FRAME(frame_2, 2)
FRAME(frame_3, 3)
FRAME(frame_5, 5)
FRAME(frame_40, 40)

static NOINLINE int descend(unsigned depth)
{
	static int (*const frame[])(unsigned) = { frame_0, frame_1, frame_2,
						  frame_3, frame_5, frame_40 };
	int r = 0;

	if (depth == 0)
		raise(SIGUSR1);
	else
		r = frame[depth % 6](depth);
	return r + sink;
}

static const char *big_library(void)
{
	static char path[512];
	glob_t found = { 0 };

	if (getenv("BENCH_LIBRARY"))
		return getenv("BENCH_LIBRARY");
	glob("/usr/lib/*/libLLVM-*.so.1", 0, NULL, &found);
	if (found.gl_pathc)
		snprintf(path, sizeof(path), "%s", found.gl_pathv[0]);
	globfree(&found);
	return *path ? path : NULL;
}

static void begin_in_child(const char *library)
{
	fflush(stdout);
	if (fork() == 0) {
		if (library && !dlopen(library, RTLD_LAZY | RTLD_GLOBAL))
			_exit(0);
		printf("  to begin, %s:\n", library ? library : "with this program's libraries");
		only_begin = true;
		descend(30);
		fflush(stdout);
		_exit(0);
	}
	wait(NULL);
}

static void at_depth(unsigned depth)
{
	printf("depth %u:\n", depth);
	sink += descend(depth) == 12345;
}

int main(int argc, char **argv)
{
	unsigned depth = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
	struct sigaction sa = { .sa_sigaction = take, .sa_flags = SA_SIGINFO };

	if (argc > 2)
		rounds = (unsigned)atoi(argv[2]);
	if (rounds < 1 || rounds > ROUNDS_MAX || depth > 1500) {
		fprintf(stderr, "usage: unwind [depth up to 1500 [rounds]]\n");
		return 2;
	}
	sigaction(SIGUSR1, &sa, NULL);
	if (depth) {
		at_depth(depth);
		return 0;
	}
	begin_in_child(NULL);
	if (big_library())
		begin_in_child(big_library());
	printf("cold: caches of rules emptied, the processor's as the walks of all others leave "
	       "them\n");
	at_depth(10);
	at_depth(30);
	at_depth(100);
	return 0;
}
