/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads with the smallest stack that libc allows, and alternate signal stacks.
 *
 *   small-stacks threads            four threads with PTHREAD_STACK_MIN work
 *   small-stacks alternate SIZE     work with an alternate stack of the kernel's minimum + SIZE
 *                                   bytes; says on stderr how much was used above the frame
 *   small-stacks header             with one of MINSIGSTKSZ bytes, as the header has it
 *   small-stacks handler            work in a handler that itself runs on an alternate stack
 */
#include <limits.h>
#include <sys/auxv.h>

#include "host.h"

#define PAINT 0xa5
#define HEADER_MINSIGSTKSZ 2048 /* <bits/sigstack.h> of x86, before it became a sysconf */
#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

/* The smallest alternate stack that the kernel takes and that one frame of it fits on: processors
 * with few registers have frames that are smaller than what the kernel takes. */
static size_t frame_size(void)
{
	size_t n = getauxval(AT_MINSIGSTKSZ);

	return n > HEADER_MINSIGSTKSZ ? n : HEADER_MINSIGSTKSZ;
}

__attribute__((noinline)) static void *work(void *arg)
{
	burn(0.15);
	return NULL;
}

static void threads(void)
{
	pthread_t t[4];
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	EXPECT(pthread_attr_setstacksize(&attr, (size_t)PTHREAD_STACK_MIN) == 0);
	for (int i = 0; i < 4; i++)
		EXPECT(pthread_create(&t[i], &attr, work, NULL) == 0);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	pthread_attr_destroy(&attr);
}

/* An alternate stack of SIZE bytes, painted, with painted space below it, which nobody may touch.
 */
#define BELOW 8192
static unsigned char *set_alternate(size_t size)
{
	unsigned char *area = malloc(BELOW + size);
	stack_t ss = { .ss_sp = area + BELOW, .ss_size = size }, now;

	memset(area, PAINT, BELOW + size);
	EXPECT(sigaltstack(&ss, NULL) == 0);
	EXPECT(sigaltstack(NULL, &now) == 0);
	EXPECT(now.ss_sp == ss.ss_sp && now.ss_size == size);
	return area;
}

static size_t used(const unsigned char *area, size_t size)
{
	size_t clean = 0;

	while (clean < BELOW + size && area[clean] == PAINT)
		clean++;
	return BELOW + size - clean;
}

static void on_alarm(int sig, siginfo_t *info, void *context)
{
}

/* The part of an alternate stack that the kernel's frame and almost nothing else takes: with the
 * details of the signal, which on aarch64 are its lowest part. A sample during this measurement
 * would be counted as that part: none arrives here, because of the mask. libc's own sigaction, or
 * the profiler would stand before the handler. */
static size_t frame_here(const unsigned char *area, size_t size)
{
	struct sigaction act = { .sa_sigaction = on_alarm, .sa_flags = SA_ONSTACK | SA_SIGINFO };
	uint64_t prof = 1ull << (SIGPROF - 1), before;
	int (*set)(int, const struct sigaction *, struct sigaction *);
	size_t frame;

	*(void **)&set = dlsym(dlopen("libc.so.6", RTLD_LAZY), "sigaction");
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &prof, &before, sizeof(before));
	EXPECT(set && set(SIGALRM, &act, NULL) == 0);
	raise(SIGALRM);
	frame = used(area, size);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
	return frame;
}

static void alternate(size_t extra)
{
	size_t size = frame_size() + extra, frame, all;
	unsigned char *area = set_alternate(size);

	frame = frame_here(area, size);
	EXPECT(frame > 0 && frame <= size);
	memset(area, PAINT, BELOW + size);
	work(NULL);
	all = used(area, size);
	EXPECT(all <= size);
	fprintf(stderr, "alternate stack: frame %zu, with the handler %zu: its own %ld\n", frame,
		all, all ? (long)all - (long)frame : 0);
}

static void header(void)
{
	unsigned char *area = set_alternate(HEADER_MINSIGSTKSZ);

	work(NULL);
	EXPECT(used(area, HEADER_MINSIGSTKSZ) == 0);
}

static volatile int handled;

static void on_usr1(int sig)
{
	work(NULL);
	handled++;
}

/* One signal's frame, and room for an ordinary handler: not for two frames. */
static void handler(void)
{
	size_t size = frame_size() + 1536;
	unsigned char *area = set_alternate(size);
	struct sigaction act = { .sa_handler = on_usr1, .sa_flags = SA_ONSTACK }, view;
	sigset_t inside;

	EXPECT(sigaction(SIGUSR1, &act, NULL) == 0);
	EXPECT(sigaction(SIGUSR1, NULL, &view) == 0);
	EXPECT(view.sa_handler == on_usr1 && (view.sa_flags & SA_ONSTACK));
	EXPECT(sigismember(&view.sa_mask, SIGPROF) == 0);
	raise(SIGUSR1);
	EXPECT(handled == 1);
	EXPECT(used(area, size) <= size);
	EXPECT(sigprocmask(SIG_BLOCK, NULL, &inside) == 0);
	EXPECT(sigismember(&inside, SIGPROF) == 0);
}

int main(int argc, char **argv)
{
	burn_and_tick(0); /* the loader resolves what burn calls, on its own terms */
	if (!strcmp(argv[1], "threads"))
		threads();
	else if (!strcmp(argv[1], "alternate"))
		alternate((size_t)atol(argv[2]));
	else if (!strcmp(argv[1], "header"))
		header();
	else
		handler();
	puts("done");
	HOST_END();
}
