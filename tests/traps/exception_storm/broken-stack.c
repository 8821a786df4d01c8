/* SPDX-License-Identifier: BSD-3-Clause */
/* Code whose registers and stack no unwinder can follow: hand-written assembly does this, and a
 * program that is about to crash. Each spins for a while with nothing to hold on to.
 */
#include "host.h"

#define SPINS 40000000L

#if defined(__x86_64__)
/* Spin with the frame pointer (and the other callee-saved registers) set to VALUE. */
__attribute__((noinline)) static void spin_with_registers(unsigned long value)
{
	long n = SPINS;

	__asm__ volatile("pushq %%rbp\n\tpushq %%rbx\n\t"
			 "movq %[v], %%rbp\n\tmovq %[v], %%rbx\n"
			 "1:\tdecq %[n]\n\tjnz 1b\n\t"
			 "popq %%rbx\n\tpopq %%rbp"
			 : [n] "+r"(n)
			 : [v] "r"(value)
			 : "memory", "cc", "r12", "r13", "r14", "r15");
}

/* Spin with the stack pointer at TOP, where nothing lies above (or garbage does). The red zone
 * is not used while it spins. */
__attribute__((noinline)) static void spin_on_stack(char *top)
{
	long n = SPINS;

	__asm__ volatile("movq %%rsp, %%r12\n\tmovq %[top], %%rsp\n"
			 "1:\tdecq %[n]\n\tjnz 1b\n\t"
			 "movq %%r12, %%rsp"
			 : [n] "+r"(n)
			 : [top] "r"(top)
			 : "memory", "cc", "r12");
}
#elif defined(__aarch64__)
__attribute__((noinline)) static void spin_with_registers(unsigned long value)
{
	long n = SPINS;

	__asm__ volatile("mov x9, x29\n\tmov x10, x30\n\tmov x29, %[v]\n\tmov x30, %[v]\n"
			 "1:\tsubs %[n], %[n], #1\n\tb.ne 1b\n\t"
			 "mov x29, x9\n\tmov x30, x10"
			 : [n] "+r"(n)
			 : [v] "r"(value)
			 : "memory", "cc", "x9", "x10", "x30");
}

__attribute__((noinline)) static void spin_on_stack(char *top)
{
	long n = SPINS;

	__asm__ volatile("mov x9, sp\n\tmov sp, %[top]\n"
			 "1:\tsubs %[n], %[n], #1\n\tb.ne 1b\n\t"
			 "mov sp, x9"
			 : [n] "+r"(n)
			 : [top] "r"(top)
			 : "memory", "cc", "x9");
}
#endif

static void *after_call;

__attribute__((noinline)) static void note_caller(void)
{
	after_call = __builtin_return_address(0);
}

__attribute__((noinline)) static void spin_below_circle(void)
{
	double end = host_clock(CLOCK_THREAD_CPUTIME_ID) + 0.1;

	do
		for (volatile long i = 0; i < SPINS / 100; i++)
			;
	while (host_clock(CLOCK_THREAD_CPUTIME_ID) < end);
}

/* A frame that says it was called by itself. */
__attribute__((noinline)) static void spin_in_circle(void)
{
	void *volatile *frame = __builtin_frame_address(0);
	void *below = frame[0], *caller = frame[1];

	note_caller();
	frame[0] = (void *)frame;
	frame[1] = after_call;
	spin_below_circle();
	frame[0] = below;
	frame[1] = caller;
}

int main(void)
{
	long page = sysconf(_SC_PAGESIZE), size = 64 * page;
	char *area = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	unsigned long here = (unsigned long)&page;
	const unsigned long values[] = { 0,
					 1,
					 here & ~15ul,
					 here - 4096,
					 (unsigned long)area,
					 (unsigned long)(area + size) - 8,
					 0x7ffffffff000ul,
					 0xdead00000000beeful,
					 ~0ul };

	spin_in_circle();
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		spin_with_registers(values[i]);
	/* At the end of what is mapped, then in a field of addresses that look like a chain. */
	mprotect(area + size - page, (size_t)page, PROT_NONE);
	spin_on_stack(area + size - page);
	for (long i = 0; i < size - page; i += (long)sizeof(unsigned long)) {
		unsigned long next = (unsigned long)(area + i);

		memcpy(area + i, &next, sizeof(next));
	}
	spin_on_stack(area + size / 2);
	memset(area, 0xff, (size_t)(size - page));
	spin_on_stack(area + size / 2);
	puts("done");
	HOST_END();
}
