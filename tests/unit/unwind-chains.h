/* SPDX-License-Identifier: BSD-3-Clause */
/* Call chains whose frames are known, for the tests of each unwinder.
 *
 * Every function of a chain notes its return address; the innermost traps (a breakpoint
 * instruction, so that the pc is in the chain itself), and the handler walks. The noted addresses
 * must then be in the walk, in one piece.
 */
#ifndef UNWIND_CHAINS_H
#define UNWIND_CHAINS_H

#include "harness.h"

#include <alloca.h>
#include <ucontext.h>

#include "sample/sample.h"

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif
#define OPTIONAL static __attribute__((unused)) /* each program runs what fits its unwinder */
#define DEPTH 4096

struct walked {
	uint64_t pcs[DEPTH];
	unsigned n;
	enum cp_unwind_end end;
};

static const struct cp_unwinder *unwinder;
static unsigned depth_limit = DEPTH;
static bool bounds_unknown, modules_unstable;
static struct walked walked;
static uint64_t noted[DEPTH];
static unsigned notes;
static volatile int sink;

#define NOTE() (noted[notes++] = (uint64_t)__builtin_return_address(0))
/* Keeps a call from becoming a jump. */
#define AFTER_CALL() (sink++)

static void stack_bounds(uint64_t *low, uint64_t *high)
{
	pthread_attr_t attr;
	void *addr;
	size_t size;

	pthread_getattr_np(pthread_self(), &attr);
	pthread_attr_getstack(&attr, &addr, &size);
	pthread_attr_destroy(&attr);
	*low = (uint64_t)addr;
	*high = (uint64_t)addr + size;
}

static void input_of(struct cp_unwind_input *in, const ucontext_t *uc)
{
	memset(in, 0, sizeof(*in));
	cp_regs_of_context(&in->regs, uc);
	if (!bounds_unknown)
		stack_bounds(&in->stack_low, &in->stack_high);
	in->stable_modules = !modules_unstable;
	in->own_tls = true;
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	struct cp_unwind_input in;

#if defined(__aarch64__)
	uc->uc_mcontext.pc += 4;
#endif
	input_of(&in, uc);
	walked.n = unwinder->walk(&in, walked.pcs, depth_limit, &walked.end);
}

static inline __attribute__((always_inline)) void trap(void)
{
#if defined(__x86_64__)
	__asm__ volatile("int3" ::: "memory");
#else
	__asm__ volatile("brk #1" ::: "memory");
#endif
}

static void chains_begin(void)
{
	struct sigaction sa = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_NODEFER };

	sigaction(SIGTRAP, &sa, NULL);
	memset(&walked, 0, sizeof(walked));
	notes = 0;
}

/* Returns where in the walk the return addresses noted from FROM up to before TO are, as one piece;
 * 0 = nowhere. */
static unsigned piece_at(unsigned from, unsigned to)
{
	for (unsigned at = 1; to > from && at + (to - from) <= walked.n; at++) {
		unsigned i = 0;

		while (i < to - from && walked.pcs[at + i] == noted[to - 1 - i] - 1)
			i++;
		if (i == to - from)
			return at;
	}
	return 0;
}

static unsigned noted_at(void)
{
	return piece_at(0, notes);
}

static NOINLINE int chain_leaf(int x)
{
	NOTE();
	trap();
	return x + 1;
}

static NOINLINE int chain_b(int x)
{
	int r;

	NOTE();
	r = chain_leaf(x * 3);
	AFTER_CALL();
	return r;
}

static NOINLINE int chain_a(int x)
{
	int r;

	NOTE();
	r = chain_b(x + 1);
	AFTER_CALL();
	return r;
}

static NOINLINE int chain_alloca(int n)
{
	volatile char *room;

	NOTE();
	room = alloca((size_t)n);
	room[n - 1] = 1;
	chain_leaf(room[n - 1]);
	AFTER_CALL();
	return room[n - 1];
}

static NOINLINE int chain_big_frame(int n)
{
	volatile char room[100000];

	NOTE();
	room[n] = 1;
	chain_leaf(n);
	AFTER_CALL();
	return room[n];
}

static NOINLINE int chain_deep(int n)
{
	NOTE();
	if (n > 1)
		chain_deep(n - 1);
	else
		trap();
	AFTER_CALL();
	return n;
}

/* Six values alive over the call: every callee-saved register is used. */
static NOINLINE int chain_busy(int *v)
{
	int a = v[0], b = v[1], c = v[2], d = v[3], e = v[4], f = v[5];

	NOTE();
	chain_leaf(a);
	AFTER_CALL();
	return a ^ b * 3 ^ c * 5 ^ d * 7 ^ e * 11 ^ f * 13;
}

/* A local that must be aligned: gcc addresses its frame through another register. */
static NOINLINE int chain_realigned(int n)
{
	volatile char room[256] __attribute__((aligned(64)));

	NOTE();
	room[n] = (char)n;
	chain_leaf(n);
	AFTER_CALL();
	return room[n];
}

#define CHECK_NOTED(want_end)                                                                      \
	do {                                                                                       \
		CHECK(noted_at());                                                                 \
		CHECK_EQ(walked.end, want_end);                                                    \
	} while (0)

OPTIONAL void test_plain_chain(void)
{
	chains_begin();
	chain_a(1);
	CHECK_EQ(noted_at(), 1);
	CHECK_EQ(walked.end, CP_UNWIND_COMPLETE);
}

OPTIONAL void test_chain_through_alloca_and_big_frames(void)
{
	chains_begin();
	chain_alloca(3000);
	CHECK_NOTED(CP_UNWIND_COMPLETE);
	chains_begin();
	chain_big_frame(77);
	CHECK_NOTED(CP_UNWIND_COMPLETE);
}

OPTIONAL void test_chain_through_busy_and_realigned_frames(void)
{
	int v[6] = { 1, 2, 3, 4, 5, 6 };

	chains_begin();
	chain_busy(v);
	CHECK_NOTED(CP_UNWIND_COMPLETE);
	chains_begin();
	chain_realigned(77);
	CHECK_NOTED(CP_UNWIND_COMPLETE);
}

OPTIONAL void test_deep_recursion(void)
{
	chains_begin();
	chain_deep(2000);
	CHECK_EQ(noted_at(), 1);
	CHECK_EQ(walked.end, CP_UNWIND_COMPLETE);
	CHECK(walked.n > 2000);
}

OPTIONAL void test_depth_limit_cuts_the_outermost(void)
{
	unsigned whole;

	chains_begin();
	chain_a(1);
	whole = walked.n;
	for (depth_limit = 1; depth_limit < whole; depth_limit++) {
		chains_begin();
		chain_a(1);
		CHECK_EQ(walked.n, depth_limit);
		CHECK_EQ(walked.end, CP_UNWIND_TRUNCATED);
		CHECK_EQ(walked.pcs[depth_limit], 0);
	}
	chains_begin();
	chain_a(1);
	CHECK_EQ(walked.n, whole);
	CHECK_EQ(walked.end, CP_UNWIND_COMPLETE);
	depth_limit = DEPTH;
}

OPTIONAL void test_unknown_stack_bounds(void)
{
	bounds_unknown = true;
	chains_begin();
	chain_a(1);
	bounds_unknown = false;
	CHECK_EQ(noted_at(), 1);
	CHECK_EQ(walked.end, CP_UNWIND_COMPLETE);
}

static void *in_thread(void *arg)
{
	chain_a(1);
	return NULL;
}

OPTIONAL void test_thread_start_completes(void)
{
	pthread_t t;

	chains_begin();
	pthread_create(&t, NULL, in_thread, NULL);
	pthread_join(t, NULL);
	CHECK_EQ(noted_at(), 1);
	CHECK_EQ(walked.end, CP_UNWIND_COMPLETE);
	CHECK(walked.n >= 6 && walked.n <= 8);
}

static ucontext_t outside, inside;

static void in_coroutine(void)
{
	chain_a(1);
	AFTER_CALL();
}

OPTIONAL void test_coroutine_stack(void)
{
	size_t size = 64 << 10;
	void *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	chains_begin();
	getcontext(&inside);
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = size;
	inside.uc_link = &outside;
	makecontext(&inside, in_coroutine, 0);
	swapcontext(&outside, &inside);
	CHECK_EQ(noted_at(), 1);
	CHECK(walked.n <= 8);
	munmap(stack, size);
}

static uint64_t interrupted;
static unsigned notes_outside;

static void on_user(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	struct cp_regs regs;

	cp_regs_of_context(&regs, uc);
	interrupted = regs.r[CP_REG_PC];
	notes_outside = notes;
	chain_a(1);
	AFTER_CALL();
}

static NOINLINE int chain_raise(int sig)
{
	NOTE();
	pthread_kill(pthread_self(), sig);
	AFTER_CALL();
	return sig;
}

static void check_signal_chain(int flags)
{
	struct sigaction sa = { .sa_sigaction = on_user, .sa_flags = SA_SIGINFO | flags };
	unsigned inner, outer, at = 0;

	chains_begin();
	sigaction(SIGUSR1, &sa, NULL);
	chain_raise(SIGUSR1);
	inner = piece_at(notes_outside, notes);
	outer = piece_at(0, notes_outside);
	CHECK_EQ(inner, 1);
	CHECK(outer > inner + 3);
	/* the handler's frame is not noted; after it come the trampoline and the interrupted code
	 */
	while (at < walked.n && walked.pcs[at] != interrupted)
		at++;
	CHECK_EQ(at, inner + notes - notes_outside + 1);
	CHECK_EQ(walked.end, CP_UNWIND_COMPLETE);
}

OPTIONAL void test_signal_frame_is_crossed(void)
{
	check_signal_chain(0);
}

OPTIONAL void test_signal_stack_is_left(void)
{
	static char room[64 << 10];
	stack_t ss = { .ss_sp = room, .ss_size = sizeof(room) }, old;

	sigaltstack(&ss, &old);
	check_signal_chain(SA_ONSTACK);
	sigaltstack(&old, NULL);
}

/* Registers that point anywhere: nothing may fault, one frame at least. */
OPTIONAL void test_garbage_registers_never_fault(void)
{
	unsigned char *page =
		mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t wild[] = { 0,
			    1,
			    8,
			    4096,
			    UINT64_MAX,
			    UINT64_MAX - 7,
			    UINT64_C(1) << 63,
			    UINT64_C(1) << 47,
			    (uint64_t)page,
			    (uint64_t)page + 4096 - 8,
			    (uint64_t)page + 4096 - 3,
			    (uint64_t)page + 4096,
			    (uint64_t)page + 2 * 4096,
			    (uint64_t)test_garbage_registers_never_fault,
			    (uint64_t)&page,
			    (uint64_t)mmap,
			    (uint64_t)qsort + 20,
			    (uint64_t)environ };
	unsigned count = sizeof(wild) / sizeof(*wild);
	static struct cp_unwind_input in;
	enum cp_unwind_end end;

	mprotect(page + 4096, 4096, PROT_NONE);
	for (unsigned i = 0; i < count * count * count; i++) {
		memset(&in, 0, sizeof(in));
		for (unsigned r = 0; r < CP_REGS; r++)
			in.regs.r[r] = wild[i * (r + 1) % count];
		in.regs.r[CP_REG_PC] = wild[i % count];
		in.regs.r[CP_REG_SP] = wild[i / count % count];
		in.regs.r[CP_REG_FP] = wild[i / count / count];
		in.stable_modules = in.own_tls = i & 1;
		if (i & 2)
			stack_bounds(&in.stack_low, &in.stack_high);
		CHECK(unwinder->walk(&in, walked.pcs, 64, &end) >= 1);
		CHECK_EQ(walked.pcs[0], in.regs.r[CP_REG_PC]);
	}
	munmap(page, 3 * 4096);
}

#endif
