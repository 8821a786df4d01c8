/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts in vector registers, as wide as the processor has them, while the program's own handler of
 * ITIMER_PROF interrupts it. The handler has not asked for the alternate stack that the program
 * has, so its frame lies on the thread's stack. After each interruption all registers must be as
 * they were. */
#include <sys/prctl.h>
#include <sys/time.h>

#define HOST_HAS_TIMERS
#include "host.h"

#define VECTORS 32
#define WIDEST 256 /* bytes of a register */
#define TICKS 20

static volatile sig_atomic_t ticks;
static unsigned char before[VECTORS * WIDEST], after[VECTORS * WIDEST];

#ifdef __x86_64__
#define WIDTH 32
#define EACH "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15"
#define LOAD "vmovdqu \\n*32(%1), %%ymm\\n"
#define STORE "vmovdqu %%ymm\\n, \\n*32(%2)"
#define SPIN "1: dec %0\n\tjnz 1b\n\t"
#define TOUCHED                                                                                    \
	"xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",   \
		"xmm11", "xmm12", "xmm13", "xmm14", "xmm15"

static size_t prepare(void)
{
	return __builtin_cpu_supports("avx") ? 16 * WIDTH : 0;
}
#else
#define EACH "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31"
#define LOAD ".arch_extension sve\n\tldr z\\n, [%1, #\\n, mul vl]"
#define STORE "str z\\n, [%2, #\\n, mul vl]"
#define SPIN "1: subs %0, %0, #1\n\tbne 1b\n\t"
#define TOUCHED                                                                                    \
	"v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13",    \
		"v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24",       \
		"v25", "v26", "v27", "v28", "v29", "v30", "v31"

/* So wide that the kernel's frame has records beyond its usual size. */
static size_t prepare(void)
{
	int width = prctl(PR_SVE_SET_VL, WIDEST);

	return width < 0 ? 0 : VECTORS * (size_t)(width & PR_SVE_VL_LEN_MASK);
}
#endif

/* Bytes of all registers together; 0: this processor has none that are wide. */
static size_t bytes;

static void on_tick(int sig)
{
	(void)sig;
	ticks++;
}

__attribute__((noinline)) static void hold_registers(void)
{
	unsigned long n = 2000000;

	__asm__ volatile(".irp n," EACH "\n\t" LOAD "\n\t.endr\n\t" SPIN ".irp n," EACH "\n\t" STORE
			 "\n\t.endr"
			 : "+r"(n)
			 : "r"(before), "r"(after)
			 : "memory", "cc", TOUCHED);
}

int main(void)
{
	struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { { 0, 0 }, { 0, 0 } };
	struct sigaction sa = { .sa_handler = on_tick };
	stack_t alternate = { .ss_sp = malloc(1 << 20), .ss_size = 1 << 20 };

	bytes = prepare();
	if (!bytes)
		return 77;
	for (size_t i = 0; i < bytes; i++)
		before[i] = (unsigned char)(i * 37 + i / 256);
	EXPECT(!sigaltstack(&alternate, NULL) && !sigaction(SIGPROF, &sa, NULL));
	EXPECT(!setitimer(ITIMER_PROF, &often, NULL));
	while (ticks < TICKS && !host_failures) {
		memset(after, 0, bytes);
		hold_registers();
		EXPECT(!memcmp(before, after, bytes));
	}
	setitimer(ITIMER_PROF, &never, NULL);
	puts("kept");
	HOST_END();
}
