/* SPDX-License-Identifier: BSD-3-Clause */
/* Walks that share their end with the one before, against the unwinder's own: random calls through
 * functions with all sorts of frames, over and over on the same stretch of stack. */
#include "harness.h"

#include <alloca.h>

#include "modes/heap/signal/stack_cache.h"
#include "unwind/signal/unwind_signal.h"

#define NOINLINE __attribute__((noinline, noclone))
#define USE(x) __asm__ volatile("" : "+r"(x)::"memory")
#define DEEPEST 400

static struct cp_tail_cache memo;
static uint64_t low, high, state = 12345;
static unsigned walks, shared, bad;
static uint64_t epoch = 1;

/* A replay leads to the stack that it was kept for. */
static struct cp_stack_cache replays[CP_REPLAYS];
static struct stack {
	unsigned depth;
	uint64_t pcs[4096];
} kept[CP_REPLAYS];
static unsigned replayed, wrong;

static uint64_t chance(void)
{
	state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return state >> 33;
}

/* The same of what is known of a call alone: the stack from the caller on. */
static struct cp_stack_cache call_replays[CP_REPLAYS];
static struct stack call_kept[CP_REPLAYS];
static unsigned calls_replayed, calls_wrong;

static bool differs(const struct stack *s, const uint64_t *pcs, unsigned n)
{
	return s->depth != n || memcmp(s->pcs, pcs, n * sizeof(*pcs));
}

static struct stack *fill(struct stack *s, const uint64_t *pcs, unsigned n)
{
	s->depth = n;
	memcpy(s->pcs, pcs, n * sizeof(*pcs));
	return s;
}

static void replay_call(const struct cp_unwind_input *in, const struct cp_call *call,
			const uint64_t *pcs, unsigned n, bool memoized)
{
	struct cp_stack_cache *r = cp_stack_cache_at(call_replays, call->sp, call->pc);
	struct stack *s = (struct stack *)(void *)cp_stack_cache_find_call(r, in, call);

	if (s) {
		calls_replayed++;
		calls_wrong += differs(s, pcs, n);
		return;
	}
	if (!memoized)
		return;
	s = fill(&call_kept[r - call_replays], pcs, n);
	cp_stack_cache_keep_call(r, &memo, in, call, n, (struct cp_stack_depot_entry *)(void *)s);
}

/* PCS is what the unwinder found; one that is kept must be just that. */
static void replay(const struct cp_unwind_input *in, const uint64_t *pcs, unsigned n, bool memoized)
{
	struct cp_stack_cache *r = cp_stack_cache_at(replays, in->regs.r[CP_REG_SP], 0);
	struct stack *s = (struct stack *)(void *)cp_stack_cache_find(r, in);

	if (s) {
		replayed++;
		wrong += differs(s, pcs, n);
		return;
	}
	if (!memoized)
		return;
	s = fill(&kept[r - replays], pcs, n);
	cp_stack_cache_keep(r, &memo, in, (struct cp_stack_depot_entry *)(void *)s);
}

static NOINLINE void look(void)
{
	static uint64_t pcs[4096];
	struct cp_unwind_input in = {
		.stack_low = low, .stack_high = high, .stable_modules = true, .own_tls = true
	};
	enum cp_unwind_end end;
	struct cp_call call = cp_call_here();
	unsigned n, m;

	cp_regs_here(&in.regs);
	n = cp_unwind_dwarf_walk(&in, pcs, 4096, &end);
	m = cp_tail_cache_walk(&memo, &in, epoch, 4096);
	walks++;
	replay(&in, pcs, n, m);
	replay_call(&in, &call, pcs + 1, n - 1, m);
	if (!m)
		return;
	shared++;
	bad += m != n || end != CP_UNWIND_COMPLETE ||
	       memcmp(pcs, cp_tail_cache_pcs(&memo, m), n * sizeof(*pcs)) ||
	       cp_tail_cache_hash(&memo, m) != cp_tail_cache_hash_of(pcs, n);
}

static void go(unsigned depth, unsigned *budget);

static NOINLINE int plain(unsigned depth, unsigned *budget)
{
	go(depth, budget);
	USE(depth);
	return (int)depth;
}

/* Keeps values of its caller's in callee-saved registers, rbx and rbp among them. */
static NOINLINE int busy(unsigned depth, unsigned *budget)
{
	uint64_t a = chance(), b = chance(), c = chance(), d = chance(), e = chance();

	USE(a);
	USE(b);
	go(depth, budget);
	USE(c);
	USE(d);
	USE(e);
	return (int)(a ^ b ^ c ^ d ^ e);
}

/* A frame of a size that only the frame pointer knows. */
static NOINLINE int sized(unsigned depth, unsigned *budget)
{
	volatile char *p = alloca(16 + chance() % 500);

	p[0] = 1;
	go(depth, budget);
	return p[0];
}

static NOINLINE int wide(unsigned depth, unsigned *budget)
{
	volatile char room[300];

	room[depth % 300] = 1;
	go(depth, budget);
	return room[depth % 300];
}

static NOINLINE int twice(unsigned depth, unsigned *budget)
{
	int r = plain(depth, budget);

	return r + plain(depth, budget);
}

static void go(unsigned depth, unsigned *budget)
{
	static int (*const all[])(unsigned, unsigned *) = { plain, busy, sized, wide, twice };
	unsigned r = 0;

	do {
		if (!depth || !*budget) {
			look();
			return;
		}
		--*budget;
		look();
		r += (unsigned)all[chance() % 5](depth - 1, budget);
		USE(r);
	} while (chance() % 3);
}

static void set_bounds(void)
{
	pthread_attr_t attr;
	size_t size;
	void *start;

	pthread_getattr_np(pthread_self(), &attr);
	pthread_attr_getstack(&attr, &start, &size);
	pthread_attr_destroy(&attr);
	low = (uint64_t)(uintptr_t)start;
	high = low + size;
}

TEST(test_memo_walks_are_the_unwinders)
{
	set_bounds();
	CHECK_EQ(cp_unwinder_dwarf.prepare ? cp_unwinder_dwarf.prepare() : 0, 0);
	for (unsigned round = 0; round < 300; round++) {
		unsigned budget = 500;

		go(1 + (unsigned)chance() % 60, &budget);
		/* The same stack again, in other places' registers. */
		look();
	}
	printf("# %u walks, %u shared, %u replayed, %u from calls\n", walks, shared, replayed,
	       calls_replayed);
	CHECK(walks > 50000);
#if !defined(__SANITIZE_ADDRESS__)
	/* Nearly all: the first time a function is met its rule isn't in the cache. With a
	 * sanitizer, frames are such that few have a rule. */
	CHECK(shared > walks - walks / 20);
#endif
	CHECK_EQ(bad, 0);
}

TEST(test_replays_are_the_unwinders)
{
#if !defined(__SANITIZE_ADDRESS__)
	CHECK(replayed > walks / 50);
#endif
	CHECK_EQ(wrong, 0);
}

TEST(test_replays_of_calls_are_the_unwinders)
{
#if !defined(__SANITIZE_ADDRESS__)
	CHECK(calls_replayed > walks / 50);
#endif
	CHECK_EQ(calls_wrong, 0);
}

/* Two functions that call with the same stack pointer, from frames of different layout. The words
 * that the first walk read are left unchanged. */
static NOINLINE void with_room(unsigned bytes)
{
	volatile char *room = alloca(bytes);

	USE(room);
	look();
	USE(room);
}

static NOINLINE void first_caller(unsigned above, unsigned below)
{
	volatile char *room = alloca(above);

	USE(room);
	with_room(below);
	USE(room);
}

static NOINLINE void second_caller(unsigned above, unsigned below)
{
	volatile char *room = alloca(above);

	USE(room);
	with_room(below);
	room = NULL; /* compilers make one function of two that are alike */
	USE(room);
}

TEST(test_replays_of_calls_need_their_registers)
{
	calls_wrong = calls_replayed = 0;
	/* From one place. The first one's stack is kept when it comes again. The words that
	 * compilers put on a frame beside the room differ by a few. */
	for (volatile unsigned step = 0; step < 1024; step++) {
		void (*caller)(unsigned, unsigned) = step % 4 ? first_caller : second_caller;
		unsigned above = step % 4 ? 0 : step / 64 * 16;
		unsigned below = step % 4 ? 1024 : 1024 - above + step / 4 % 16 * 16 - 128;

		caller(above, below);
	}
#if !defined(__SANITIZE_ADDRESS__)
	CHECK(calls_replayed > 0);
#endif
	CHECK_EQ(calls_wrong, 0);
}

TEST(test_memo_is_forgotten_with_the_epoch)
{
	unsigned budget = 10;

	go(5, &budget);
	memo.entry = (struct cp_stack_depot_entry *)&budget;
	epoch++;
	look();
	CHECK(memo.entry == NULL);
	CHECK_EQ(memo.epoch, epoch);
}

TEST(test_memo_deep_stacks_are_the_unwinders)
{
	unsigned budget = 5000;

	bad = 0;
	go(DEEPEST, &budget);
	CHECK_EQ(bad, 0);
}
