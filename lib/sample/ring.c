/* SPDX-License-Identifier: BSD-3-Clause */
/* Per-thread sample rings and their pool; see ring.h. */
#include "sample/ring.h"

#include <string.h>

#include "base/atomic.h"
#include "base/sys.h"

/* 32 KiB hold a third of a second of a busy thread at 99 Hz and 100 frames. A ring holds at least
 * eight of the largest records, so that skips waste little. */
#define RING_MIN ((size_t)32 << 10)
#define RECORDS_MIN 8

/* Size of the header in front of the data, whose size is a power of two. */
#define HEADER ((size_t)4096)

/* Rings kept for later threads: an ended thread's ring waits for a drain, and where many threads
 * end, mapping and unmapping would take longer than all else. A plain array of slots, taken with an
 * exchange: without a list there is no ABA problem. Slots below POOLED are in use, as a rule; it
 * only says where to look first. */
#define POOL 1024u

static struct cp_ring *pool[POOL];
static uint32_t pooled;
static size_t ring_bytes = RING_MIN; /* size of the data */

void cp_ring_configure(unsigned max_depth)
{
	size_t need = RECORDS_MIN * CP_RECORD_WORDS(max_depth) * 8;

	ring_bytes = RING_MIN;
	while (ring_bytes < need)
		ring_bytes *= 2;
}

static size_t mapped_bytes(void)
{
	return HEADER + ring_bytes + sizeof(struct cp_stackmem_room) + CP_RING_STACK;
}

static struct cp_ring **slot_at(uint32_t i)
{
	return &pool[i % POOL];
}

static struct cp_ring *map_ring(void)
{
	struct cp_ring *r = cp_sys_map(mapped_bytes());

	if (!r)
		return NULL;
	r->size = ring_bytes / 8;
	r->bytes = mapped_bytes();
	return r;
}

struct cp_ring *cp_ring_take(void)
{
	uint32_t n = cp_load_relaxed(&pooled);

	for (uint32_t i = 1; i <= POOL && cp_load_relaxed(&pooled); i++) {
		struct cp_ring **slot = slot_at(n - i), *r;

		if (!cp_load_relaxed(slot))
			continue;
		/* Acquire: pairs with cp_ring_give, so the ring is seen emptied. */
		r = cp_exchange_acqrel(slot, NULL);
		if (!r)
			continue;
		cp_add_relaxed(&pooled, -1);
		if (r->bytes == mapped_bytes())
			return r;
		cp_ring_discard(r);
	}
	return map_ring();
}

void cp_ring_give(struct cp_ring *r)
{
	uint32_t n = cp_load_relaxed(&pooled);

	if (!r)
		return;
	r->head = r->tail = r->last_end = r->forgotten = r->marked = 0;
	for (uint32_t i = 0; i < POOL && cp_load_relaxed(&pooled) < POOL; i++) {
		struct cp_ring *none = NULL;

		if (!cp_load_relaxed(slot_at(n + i)) && cp_cas_acqrel(slot_at(n + i), &none, r)) {
			cp_add_relaxed(&pooled, 1);
			return;
		}
	}
	cp_ring_discard(r);
}

void cp_ring_discard(struct cp_ring *r)
{
	if (r)
		cp_sys_unmap(r, r->bytes);
}

unsigned cp_ring_depth(const struct cp_ring *r, unsigned max_depth)
{
	uint64_t fits = r->size / RECORDS_MIN - CP_RECORD_WORDS(0);

	return fits < max_depth ? (unsigned)fits : max_depth;
}

struct cp_record *cp_ring_reserve(struct cp_ring *r, unsigned max_depth)
{
	uint64_t need = CP_RECORD_WORDS(max_depth);
	uint64_t head = r->head, tail = cp_load_acquire(&r->tail);
	uint64_t at = head & (r->size - 1), left = r->size - at;
	struct cp_record *skip;

	if (left >= need)
		return head + need - tail > r->size ? NULL : (struct cp_record *)&r->data[at];
	if (head + left + need - tail > r->size)
		return NULL;
	skip = (struct cp_record *)&r->data[at];
	skip->mode = CP_RECORD_SKIP;
	skip->words = (uint32_t)left;
	cp_store_release(&r->head, head + left);
	return (struct cp_record *)&r->data[0];
}

double cp_ring_free(const struct cp_ring *r, unsigned max_depth)
{
	uint64_t need = CP_RECORD_WORDS(cp_ring_depth(r, max_depth)), quarter = r->size / 4;
	uint64_t left = r->size - (r->head & (r->size - 1));
	uint64_t used = r->head - cp_load_acquire(&r->tail) + need + (left < need ? left : 0);

	return used + quarter <= r->size ? 1
	       : used >= r->size	 ? 0
					 : (double)(r->size - used) / (double)quarter;
}

bool cp_ring_commit(struct cp_ring *r, struct cp_record *record)
{
	uint64_t head = r->head, used = head - cp_load_relaxed(&r->tail);
	uint32_t words = (uint32_t)CP_RECORD_WORDS(record->depth);

	record->words = words;
	/* Release: pairs with cp_ring_copy_last. */
	cp_store_release(&r->last, (uint64_t)((uint64_t *)record - r->data));
	r->last_end = head + words;
	cp_store_release(&r->head, head + words);
	return used < r->size / 2 && used + words >= r->size / 2;
}

const struct cp_record *cp_ring_last(const struct cp_ring *r)
{
	return r->last_end > cp_load_relaxed(&r->forgotten)
		       ? (const struct cp_record *)&r->data[cp_load_acquire(&r->last)]
		       : NULL;
}

bool cp_ring_copy_last(const struct cp_ring *r, struct cp_record *to)
{
	const struct cp_record *last;
	uint64_t end;
	unsigned depth;

	do {
		end = cp_load_acquire(&r->last_end);
		last = cp_ring_last(r);
		if (!last)
			return false;
		depth = cp_load_relaxed(&last->depth);
		depth = depth < CP_RECORD_DEPTH_MOST ? depth : CP_RECORD_DEPTH_MOST;
		memcpy(to, last, CP_RECORD_WORDS(depth) * sizeof(uint64_t));
		cp_fence_acquire();
		/* Another record has come: this one may be overwritten. */
	} while (cp_load_relaxed(&r->last_end) != end);
	return true;
}

/* Returns the oldest record before END, or NULL. END is the start of a record. */
static struct cp_record *next_before(struct cp_ring *r, uint64_t end)
{
	while (r->tail != end) {
		struct cp_record *record = (struct cp_record *)&r->data[r->tail & (r->size - 1)];

		if (record->mode != CP_RECORD_SKIP)
			return record;
		cp_ring_release(r, record);
	}
	return NULL;
}

struct cp_record *cp_ring_next(struct cp_ring *r)
{
	return next_before(r, cp_load_acquire(&r->head));
}

void cp_ring_mark(struct cp_ring *r)
{
	r->marked = cp_load_acquire(&r->head);
}

struct cp_record *cp_ring_next_marked(struct cp_ring *r)
{
	/* If TAIL is past MARKED, the mark is an earlier drain's, and all its records are taken. */
	return r->tail < r->marked ? next_before(r, r->marked) : NULL;
}

const struct cp_record *cp_ring_look(const struct cp_ring *r, uint64_t *at)
{
	uint64_t head = cp_load_acquire(&r->head);

	/* The records were taken meanwhile, or the ring belonged to another thread before. */
	if (*at < r->tail || *at > head)
		*at = r->tail;
	while (*at != head) {
		const struct cp_record *record =
			(const struct cp_record *)&r->data[*at & (r->size - 1)];

		*at += record->words;
		if (record->mode != CP_RECORD_SKIP)
			return record;
	}
	return NULL;
}

void cp_ring_release(struct cp_ring *r, const struct cp_record *record)
{
	cp_store_release(&r->tail, r->tail + record->words);
}

void cp_ring_forget(struct cp_ring *r)
{
	cp_store_relaxed(&r->forgotten, r->tail);
}
