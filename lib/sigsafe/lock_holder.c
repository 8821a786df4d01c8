/* Entries of unlocks that let waiters go; see lock_holder.h. */
#include "sigsafe/lock_holder.h"

#include <stddef.h>

#include "sigsafe/atomic.h"
#include "sigsafe/capture.h"
#include "sigsafe/sys.h"

/* Of a thread. A waiter runs some 50 us after the unlock; a thread within its budget unlocks
 * this often in a multiple of that. */
#define PER_GROUP 8u
#define GROUPS 4096u
/* Locks of one hash share a bucket, which holds the newest entry only. */
#define BUCKETS 4096u

#define OPEN 1u
#define STACK 2u
#define DELIVERED 4u
#define TAKEN 8u
#define ADDING (UINT64_C(1) << 8)
#define ADDING_MASK (UINT64_C(0xffff) << 8)
#define GENERATION (UINT64_C(1) << 24)
#define GENERATION_MASK (~(GENERATION - 1))
/* Of a bucket's word: the generation as in the state, and below it the entry's number, one more. */
#define NUMBER_MASK (GENERATION - 1)

struct cp_holders {
	uint32_t used; /* 1 = it is some thread's */
	uint32_t next; /* entry to be used next */
	struct cp_holder entries[PER_GROUP];
};

static struct cp_holders *groups[GROUPS]; /* mapped in order, never unmapped */
static uint64_t buckets[BUCKETS];

static uint64_t *bucket_of(const void *lock)
{
	uint64_t h = (uint64_t)(uintptr_t)lock * UINT64_C(0x9e3779b97f4a7c15);

	return &buckets[h >> 52];
}
_Static_assert(BUCKETS == 1u << (64 - 52), "hash of a bucket");

static struct cp_holder *entry_at(uint32_t number)
{
	struct cp_holders *g =
		number / PER_GROUP < GROUPS ? cp_load_acquire(&groups[number / PER_GROUP]) : NULL;

	return g ? &g->entries[number % PER_GROUP] : NULL;
}

/* Stacks as deep as they may be at the time; a later run's deeper ones are cut. */
static struct cp_holders *map_group(uint32_t n)
{
	unsigned depth = cp_load_relaxed(&cp_capture_settings.max_depth);
	size_t record = CP_RECORD_WORDS(depth) * 8;
	struct cp_holders *g = cp_sys_map(sizeof(*g) + PER_GROUP * record);

	for (uint32_t i = 0; g && i < PER_GROUP; i++) {
		struct cp_holder *h = &g->entries[i];

		h->state = GENERATION;
		h->number = n * PER_GROUP + i;
		h->depth = depth;
		h->record = (struct cp_record *)((char *)(g + 1) + i * record);
	}
	return g;
}

static struct cp_holders *new_group(uint32_t n)
{
	struct cp_holders *g = map_group(n), *none = NULL;

	if (!g)
		return NULL;
	g->used = 1;
	if (cp_cas_acqrel(&groups[n], &none, g))
		return g;
	cp_sys_unmap(g, sizeof(*g) + PER_GROUP * CP_RECORD_WORDS(g->entries[0].depth) * 8);
	return NULL;
}

static struct cp_holders *claim_group(void)
{
	for (uint32_t n = 0; n < GROUPS; n++) {
		struct cp_holders *g = cp_load_acquire(&groups[n]);
		uint32_t unused = 0;

		if (g && !cp_load_relaxed(&g->used) && cp_cas_acqrel(&g->used, &unused, 1))
			return g;
		if (g)
			continue;
		g = new_group(n);
		if (g)
			return g;
	}
	return NULL;
}

static uint64_t freed(uint64_t state)
{
	return (state & GENERATION_MASK) + GENERATION;
}

/* Nobody came; false: somebody has, or is just adding. */
static bool cancel(struct cp_holder *h)
{
	uint64_t state = cp_load_acquire(&h->state);

	while (!(state & (ADDING_MASK | DELIVERED | TAKEN)))
		if (cp_cas_acqrel(&h->state, &state, freed(state)))
			return true;
	return false;
}

static bool take(struct cp_holder *h)
{
	uint64_t state = cp_load_acquire(&h->state);

	return (state & (STACK | DELIVERED | TAKEN | ADDING_MASK)) == (STACK | DELIVERED) &&
	       cp_cas_acqrel(&h->state, &state, state | TAKEN);
}

void cp_holder_free(struct cp_holder *h)
{
	/* Release: its next use, and who opens it, come after we have read it. */
	cp_store_release(&h->state, freed(cp_load_relaxed(&h->state)));
}

struct cp_holder *cp_holder_open(struct cp_thread *t, const void *lock, uint64_t now,
				 uint64_t weight)
{
	struct cp_holders *g = t->holders ? t->holders : (t->holders = claim_group());
	struct cp_holder *h = g ? &g->entries[g->next++ % PER_GROUP] : NULL;
	uint64_t state;

	/* Complete ones were taken in time; one that a waiter is adding to right now stays. */
	if (!h || ((cp_load_acquire(&h->state) & OPEN) && !cancel(h)))
		return NULL;
	h->lock = lock;
	h->time = now;
	h->weight = weight;
	h->waiters = h->delay = 0;
	h->thread = t->index;
	state = cp_load_relaxed(&h->state) & GENERATION_MASK;
	/* Release: a waiter that sees it open sees whose it is. */
	cp_store_release(&h->state, state | OPEN);
	cp_store_release(bucket_of(lock), state | (h->number + 1));
	return h;
}

static struct cp_holder *find(const void *lock, uint64_t word)
{
	struct cp_holder *h = word ? entry_at((uint32_t)(word & NUMBER_MASK) - 1) : NULL;

	/* What it says may be of another generation: who goes on checks that. */
	return h && cp_load_relaxed(&h->lock) == lock ? h : NULL;
}

void cp_holder_hide(const void *lock)
{
	uint64_t *bucket = bucket_of(lock), word = cp_load_relaxed(bucket);

	if (find(lock, word))
		cp_cas_acqrel(bucket, &word, 0);
}

void cp_holder_close(struct cp_holder *h, bool stack)
{
	if (!stack) {
		h->record->depth = 0;
		if (cancel(h))
			return;
	}
	/* Release: who takes it reads the record. */
	cp_or_seqcst(&h->state, STACK);
}

/* One more is adding, if the entry is still the one that WORD named. */
static bool enter(struct cp_holder *h, uint64_t word)
{
	uint64_t state = cp_load_acquire(&h->state);

	while ((state & GENERATION_MASK) == (word & GENERATION_MASK) && (state & OPEN) &&
	       !(state & TAKEN) && (state & ADDING_MASK) != ADDING_MASK)
		if (cp_cas_acqrel(&h->state, &state, state + ADDING))
			return true;
	return false;
}

void cp_holder_deliver(const void *lock, uint64_t began, uint64_t delay, bool shared)
{
	uint64_t *bucket = bucket_of(lock), word = cp_load_acquire(bucket);
	struct cp_holder *h = find(lock, word);
	uint64_t state;

	if (!h || cp_load_relaxed(&h->time) < began)
		return;
	if (!shared && !cp_cas_acqrel(bucket, &word, 0))
		return;
	if (!enter(h, word))
		return;
	cp_add_relaxed(&h->waiters, 1);
	cp_add_relaxed(&h->delay, delay);
	/* Out, and delivered, in one step. Release: who takes it sees the sums. */
	state = cp_load_relaxed(&h->state);
	while (!cp_cas_acqrel(&h->state, &state, (state - ADDING) | DELIVERED))
		;
}

static void complete(struct cp_holder *h)
{
	h->record->mode = CP_MODE_HOLDERS;
	h->record->count = h->waiters * h->weight;
	h->record->weight = h->delay * h->weight;
	h->record->tag = (uint64_t)(uintptr_t)h->lock;
}

struct cp_holder *cp_holder_take_own(struct cp_thread *t, bool all)
{
	struct cp_holders *g = t->holders;

	for (uint32_t i = 0; g && i < (all ? PER_GROUP : 1); i++) {
		struct cp_holder *h = &g->entries[(g->next + i) % PER_GROUP];

		if (take(h)) {
			complete(h);
			return h;
		}
	}
	return NULL;
}

struct cp_holder *cp_holder_take_any(uint32_t *next)
{
	while (*next < GROUPS * PER_GROUP) {
		struct cp_holder *h = entry_at((*next)++);

		if (!h)
			return NULL;
		if (take(h)) {
			complete(h);
			return h;
		}
	}
	return NULL;
}

void cp_holder_thread_end(struct cp_thread *t)
{
	struct cp_holders *g = t->holders;

	if (!g)
		return;
	for (uint32_t i = 0; i < PER_GROUP; i++)
		cancel(&g->entries[i]);
	t->holders = NULL;
	/* Release: the next owner sees them free. */
	cp_store_release(&g->used, 0);
}

void cp_holder_drop_complete(void)
{
	struct cp_holder *h;
	uint32_t next = 0;

	while ((h = cp_holder_take_any(&next)))
		cp_holder_free(h);
}

void cp_holder_fork_child(struct cp_thread *keep)
{
	for (uint32_t i = 0; i < BUCKETS; i++)
		cp_store_relaxed(&buckets[i], 0);
	for (uint32_t n = 0; n < GROUPS && groups[n]; n++) {
		for (uint32_t i = 0; i < PER_GROUP; i++)
			cp_holder_free(&groups[n]->entries[i]);
		if (!keep || keep->holders != groups[n])
			cp_store_release(&groups[n]->used, 0);
	}
}
