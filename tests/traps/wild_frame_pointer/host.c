/* SPDX-License-Identifier: BSD-3-Clause */
/* Code without frame pointers, made at run time: rbp is a register like others, and points into
 * memory that another thread takes away and gives back all the time, as allocators and collectors
 * of garbage do. Allocates and computes there.
 *
 *   wild-frames own SECONDS        on the thread's own stack
 *   wild-frames coroutine SECONDS  on a stack that makecontext was given
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "host.h"

#define PAGE 4096
#define BLOCK (16 * PAGE)
#define STACK (256 << 10)

/* call(function, argument, rbp) */
static const unsigned char call_code[] = {
	0x55,		  /* push %rbp */
	0x48, 0x89, 0xd5, /* mov %rdx,%rbp */
	0x48, 0x89, 0xf8, /* mov %rdi,%rax */
	0x48, 0x89, 0xf7, /* mov %rsi,%rdi */
	0xff, 0xd0,	  /* call *%rax */
	0x5d, 0xc3,	  /* pop %rbp; ret */
};

/* spin(times, unused, rbp) */
static const unsigned char spin_code[] = {
	0x55,		  /* push %rbp */
	0x48, 0x89, 0xd5, /* mov %rdx,%rbp */
	0x48, 0xff, 0xcf, /* 1: dec %rdi */
	0x75, 0xfb,	  /* jnz 1b */
	0x5d, 0xc3,	  /* pop %rbp; ret */
};

static void *(*call)(void *(*function)(size_t), size_t argument, const void *rbp);
static void (*spin)(unsigned long times, unsigned long unused, const void *rbp);
static char *block;
static int stop;
static double seconds;

static void make_code(void)
{
	char *code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(code + 0x100, call_code, sizeof(call_code));
	memcpy(code + 0x200, spin_code, sizeof(spin_code));
	if (mprotect(code, PAGE, PROT_READ | PROT_EXEC)) {
		perror("mprotect");
		exit(77);
	}
	*(void **)&call = code + 0x100;
	*(void **)&spin = code + 0x200;
}

static void *take_away(void *arg)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		mprotect(block, BLOCK, PROT_NONE);
		mprotect(block, BLOCK, PROT_READ | PROT_WRITE);
	}
	return arg;
}

static void work(void)
{
	double end = host_clock(CLOCK_MONOTONIC) + seconds;
	char here;

	EXPECT(block > &here);
	do {
		for (int i = 0; i < 200; i++)
			free(call(malloc, 100, block + i % 16 * PAGE + 64));
		for (int i = 0; i < 16; i++)
			spin(20000, 0, block + i * PAGE + 64);
	} while (host_clock(CLOCK_MONOTONIC) < end);
}

static ucontext_t outside, inside;

static void *in_coroutine(void *stack)
{
	getcontext(&inside);
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = STACK;
	inside.uc_link = &outside;
	makecontext(&inside, work, 0);
	swapcontext(&outside, &inside);
	return NULL;
}

static void *in_thread(void *stack)
{
	work();
	return stack;
}

int main(int argc, char **argv)
{
	pthread_t worker, taker;
	char *stack;

#ifndef __x86_64__
	fprintf(stderr, "written for x86_64\n");
	return 77;
#endif
	if (argc < 3)
		return 3;
	seconds = atof(argv[2]);
	make_code();
	/* Stacks that are mapped later are below. */
	block = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	EXPECT(pthread_create(&taker, NULL, take_away, NULL) == 0);
	EXPECT(pthread_create(&worker, NULL, strcmp(argv[1], "own") ? in_coroutine : in_thread,
			      stack) == 0);
	pthread_join(worker, NULL);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(taker, NULL);
	puts("done");
	HOST_END();
}
