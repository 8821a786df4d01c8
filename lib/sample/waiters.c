/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts open waits by bucket, and draws which of them are samples; see wakes.h. */
#include "sample/wakes.h"

/* Epochs of 4 ms, about the kernel's tick. A wait of an earlier epoch may become a long one. */
#define EPOCH_NS_SHIFT 22
#define YOUNG UINT64_C(0x10000)
#define COUNT_MASK UINT64_C(0xffff)

/* The rate of draws is adjusted in windows of 16 epochs, 67 ms. */
#define WINDOW_SHIFT 4
#define WINDOWS_PER_SECOND 15u
#define SHIFT_MAX 20u
#define BUDGET_MAX 30000u /* with a higher budget, all waits are drawn */

/* A thread's open wait: its epoch in the lower half, its bucket, and these bits. */
#define OPEN (UINT64_C(1) << 63)
#define DRAWN (UINT64_C(1) << 62)
#define BUCKET_SHIFT 32

#define RECOUNT_NS UINT64_C(1000000000)

struct cp_waiters_bucket cp_waiters_buckets[CP_WAITERS_BUCKETS];
static uint32_t used; /* some thread has waited; otherwise a fork child has no buckets to clear */

/* The waiter's part of a thread's record. */
struct part {
	uint64_t open;	 /* 0: no wait is open */
	uint64_t random; /* 0: not seeded */
};

extern const struct part cp_waiters_part CP_THREAD_PART;
const struct part cp_waiters_part = { 0 };

static struct part *part_of(const struct cp_thread *t)
{
	return cp_thread_part(t, &cp_waiters_part);
}

static unsigned bucket_in(uint64_t open)
{
	return open >> BUCKET_SHIFT & (CP_WAITERS_BUCKETS - 1);
}

static uint32_t epoch_now(void)
{
	return (uint32_t)(cp_lock_now_by(CLOCK_MONOTONIC_COARSE) >> EPOCH_NS_SHIFT);
}

/* Return WORD as of EPOCH: its newest waits may be old now. */
static uint64_t in_epoch(uint64_t word, uint32_t epoch)
{
	uint64_t young = word >> 16 & COUNT_MASK, old = (word & COUNT_MASK) + young;

	if ((uint32_t)(word >> 32) == epoch)
		return word;
	return (uint64_t)epoch << 32 | (old < COUNT_MASK ? old : COUNT_MASK);
}

static void enter_bucket(struct cp_waiters_bucket *b, uint32_t epoch)
{
	uint64_t word = cp_load_relaxed(&b->word), to;

	/* If more waits begin than the word can count, the bucket stays awaited. */
	do {
		to = in_epoch(word, epoch);
		if ((to >> 16 & COUNT_MASK) < COUNT_MASK)
			to += YOUNG;
	} while (!cp_cas_acqrel(&b->word, &word, to));
}

static void leave_bucket(struct cp_waiters_bucket *b, uint32_t epoch)
{
	uint64_t word = cp_load_relaxed(&b->word), to;

	do {
		to = word;
		if ((uint32_t)(word >> 32) == epoch && word >> 16 & COUNT_MASK)
			to -= YOUNG;
		else if (word & COUNT_MASK)
			to--;
	} while (!cp_cas_acqrel(&b->word, &word, to));
}

/* A recount may have set DRAWN to 0. */
static void undraw(struct cp_waiters_bucket *b)
{
	uint32_t drawn = cp_load_relaxed(&b->drawn);

	while (drawn && !cp_cas_acqrel(&b->drawn, &drawn, drawn - 1))
		;
}

/* Close the wait that a thread's record had as OPEN. */
static void close_wait(uint64_t open)
{
	struct cp_waiters_bucket *b = &cp_waiters_buckets[bucket_in(open)];

	/* In this order, DRAWN is never too high without the word, which the recount reads. */
	if (open & DRAWN)
		undraw(b);
	leave_bucket(b, (uint32_t)open);
}

/* xorshift64* of Marsaglia and Vigna. */
static uint64_t draw_random(struct part *p)
{
	if (!p->random)
		p->random =
			((uint64_t)(uintptr_t)p ^ cp_lock_now() * UINT64_C(0x9e3779b97f4a7c15)) | 1;
	p->random ^= p->random >> 12;
	p->random ^= p->random << 25;
	p->random ^= p->random >> 27;
	return p->random * UINT64_C(0x2545f4914f6cdd1d) >> 32;
}

/* The number of draws falls by a window's part of BUDGET with each window. If there are too few
 * draws for that, waits are drawn more often. Threads that do this at once, or that count at once,
 * may lose a step. */
static void adapt(struct cp_waiters_bucket *b, uint8_t window, uint32_t budget)
{
	uint32_t draws = cp_load_relaxed(&b->draws), part = budget / WINDOWS_PER_SECOND;
	uint8_t passed = (uint8_t)(window - cp_load_relaxed(&b->window));
	uint8_t shift = cp_load_relaxed(&b->shift);

	if (!passed)
		return;
	draws -= draws < part * passed ? draws : part * passed;
	cp_store_relaxed(&b->window, window);
	cp_store_relaxed(&b->draws, (uint16_t)draws);
	if (shift && draws + 2 * part < budget)
		cp_store_relaxed(&b->shift, shift > passed ? (uint8_t)(shift - passed) : 0);
}

/* Return the weight of a wait that begins now; 0: it isn't drawn. Chance decides alone: SHIFT
 * follows the waits of the past. A budget of one second may be drawn at once. */
static uint32_t weigh_wait(struct cp_waiters_bucket *b, struct part *p, uint32_t epoch,
			   uint32_t budget)
{
	uint32_t draws;
	uint8_t shift;

	if (budget > BUDGET_MAX)
		return 1;
	adapt(b, (uint8_t)(epoch >> WINDOW_SHIFT), budget);
	shift = cp_load_relaxed(&b->shift);
	if (shift && draw_random(p) & ((UINT64_C(1) << shift) - 1))
		return 0;
	draws = cp_load_relaxed(&b->draws) + 1u;
	if (draws >= budget && shift < SHIFT_MAX) {
		draws -= budget / WINDOWS_PER_SECOND + 1;
		cp_store_relaxed(&b->shift, (uint8_t)(shift + 1));
	}
	cp_store_relaxed(&b->draws, (uint16_t)draws);
	return 1u << shift;
}

uint32_t cp_waiters_open(struct cp_thread *t, struct cp_waiters_bucket *b, uint32_t budget)
{
	uint32_t epoch = epoch_now(), weight = weigh_wait(b, part_of(t), epoch, budget);
	uint64_t open = OPEN | (weight ? DRAWN : 0) |
			(uint64_t)(b - cp_waiters_buckets) << BUCKET_SHIFT | epoch;
	uint64_t left;

	if (!cp_load_relaxed(&used))
		cp_store_relaxed(&used, 1);
	/* Change the word first, as in close_wait. */
	enter_bucket(b, epoch);
	if (weight)
		cp_add_relaxed(&b->drawn, 1);
	/* Close a wait that was left by a jump, or one that this handler interrupts. */
	left = cp_exchange_acqrel(&part_of(t)->open, open);
	if (left)
		close_wait(left);
	return weight;
}

/* Nothing is closed if a handler that interrupted the wait has waited, too. */
void cp_waiters_close(struct cp_thread *t)
{
	uint64_t open = cp_exchange_acqrel(&part_of(t)->open, 0);

	if (open)
		close_wait(open);
}

bool cp_waiters_are_needed(const struct cp_waiters_bucket *b)
{
	return cp_load_relaxed(&b->drawn) ||
	       (in_epoch(cp_load_relaxed(&b->word), epoch_now()) & COUNT_MASK);
}

/* Set the bits of the buckets in which a thread has a wait open. */
static void find_open(uint64_t *bits)
{
	for (uint32_t i = 0; i < cp_thread_limit(); i++) {
		uint64_t open = cp_load_acquire(&part_of(cp_thread_at(i))->open);

		if (open)
			bits[bucket_in(open) / 64] |= UINT64_C(1) << bucket_in(open) % 64;
	}
}

/* A thread that opens or closes a wait changes the word or its epoch, and needs some ns for the
 * rest. So a word that is the same after a second is no thread's that is about to do this. If one
 * was stopped for all that time, its wait isn't counted any more, and may get no waker. */
void cp_waiters_recount(void)
{
	static uint64_t next, seen[CP_WAITERS_BUCKETS];
	uint64_t open[CP_WAITERS_BUCKETS / 64] = { 0 }, now;

	if (!cp_load_relaxed(&used))
		return;
	now = cp_lock_now();
	if (now < next)
		return;
	next = now + RECOUNT_NS;
	find_open(open);
	for (unsigned i = 0; i < CP_WAITERS_BUCKETS; i++) {
		struct cp_waiters_bucket *b = &cp_waiters_buckets[i];
		uint64_t word = cp_load_relaxed(&b->word);
		bool is_open = open[i / 64] >> i % 64 & 1;

		if ((uint32_t)word && word == seen[i] && !is_open &&
		    cp_cas_acqrel(&b->word, &word, word >> 32 << 32))
			cp_store_relaxed(&b->drawn, 0);
		if (word != seen[i])
			seen[i] = word;
	}
}

bool cp_waiters_fork_child(struct cp_thread *keep)
{
	if (keep)
		part_of(keep)->open = 0;
	if (!cp_load_relaxed(&used))
		return false;
	for (unsigned i = 0; i < CP_WAITERS_BUCKETS; i++) {
		struct cp_waiters_bucket *b = &cp_waiters_buckets[i];

		/* Write only where necessary, because each written page is copied. */
		if ((uint32_t)b->word)
			b->word = 0;
		if (b->drawn)
			b->drawn = 0;
	}
	return true;
}
