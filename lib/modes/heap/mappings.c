/* SPDX-License-Identifier: BSD-3-Clause */
/* The pieces of mappings, sorted by address; see heap.h. */
#include "modes/heap/heap.h"

#include "modes/heap/signal/heap_signal.h"
#include "base/futex_lock.h"

/* The kernel allows a process 65,530 mappings by default. */
#define PIECES_MAX ((size_t)1 << 17)

/* The mapping made by one call. It counts as an object until its last piece is unmapped. */
struct origin {
	uint32_t entry;	 /* id of the depot's entry */
	uint32_t pieces; /* 0: free; then ENTRY is the number of the next free origin plus 1 */
};

struct piece {
	uintptr_t start, end;
	uint64_t serial; /* grows with every addition */
	uint32_t origin;
};

uint32_t cp_mappings_on;

static struct cp_futex_lock lock;
static struct cp_vec pieces = { .size = sizeof(struct piece) };
static struct cp_vec origins = { .size = sizeof(struct origin) };
static uint32_t free_origin; /* number of the first free origin, plus 1; 0 = none */
static uint64_t serial, lost;

static struct piece *piece_at(size_t i)
{
	return CP_VEC_AT(&pieces, struct piece, i);
}

static struct origin *origin_at(uint32_t i)
{
	return CP_VEC_AT(&origins, struct origin, i);
}

static void forget_all(void)
{
	pieces.count = origins.count = 0;
	free_origin = 0;
	cp_store_relaxed(&lost, 0);
}

void cp_mappings_start(void)
{
	cp_futex_lock_acquire(&lock);
	forget_all();
	cp_store_release(&cp_mappings_on, 1);
	cp_futex_lock_release(&lock);
}

void cp_mappings_stop(void)
{
	cp_store_release(&cp_mappings_on, 0);
}

void cp_mappings_fork_child(bool on)
{
	cp_futex_lock_reset(&lock);
	/* Another thread of the parent may have been changing the tables during the fork, so they
	 * are abandoned. */
	pieces = (struct cp_vec){ .size = sizeof(struct piece) };
	origins = (struct cp_vec){ .size = sizeof(struct origin) };
	forget_all();
	cp_store_release(&cp_mappings_on, on);
}

uint64_t cp_mappings_now(void)
{
	return cp_load_seqcst(&serial) + 1;
}

uint64_t cp_mappings_lost(void)
{
	return cp_load_relaxed(&lost);
}

/* Returns the index of the first piece that ends after ADDRESS. */
static size_t find_piece(uintptr_t address)
{
	size_t low = 0, high = pieces.count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (piece_at(middle)->end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool insert_piece(size_t at, const struct piece *p)
{
	if (pieces.count >= PIECES_MAX || !cp_vec_add(&pieces)) {
		cp_add_relaxed(&lost, 1);
		return false;
	}
	memmove(piece_at(at) + 1, piece_at(at), (pieces.count - 1 - at) * sizeof(*p));
	*piece_at(at) = *p;
	return true;
}

/* Account for BYTES of ORIGIN that are unmapped, and for REMOVED of its pieces. */
static void give_back(uint32_t number, size_t bytes, unsigned removed)
{
	struct origin *o = origin_at(number);
	struct cp_stack_depot_entry *e = cp_stack_depot_at(o->entry);

	o->pieces -= removed;
	cp_stack_depot_freed(e, o->pieces ? 0 : CP_POISSON_ONE, bytes);
	if (o->pieces)
		return;
	o->entry = free_origin;
	free_origin = number + 1;
}

/* Cut [START, END) out of piece I. Returns how many pieces are left of it. */
static unsigned cut_piece(size_t i, uintptr_t start, uintptr_t end)
{
	struct piece *p = piece_at(i), rest = *p;

	if (start <= p->start && end >= p->end) {
		give_back(p->origin, p->end - p->start, 1);
		memmove(p, p + 1, (pieces.count - 1 - i) * sizeof(*p));
		pieces.count--;
		return 0;
	}
	if (start > p->start && end < p->end) {
		rest.start = end;
		p->end = start;
		if (insert_piece(i + 1, &rest))
			origin_at(rest.origin)->pieces++;
		else /* a piece that can't be recorded counts as no longer in use */
			give_back(rest.origin, rest.end - rest.start, 0);
		give_back(rest.origin, end - start, 0);
		return 2;
	}
	if (start <= p->start)
		p->start = end;
	else
		p->end = start;
	give_back(p->origin, (rest.end - rest.start) - (p->end - p->start), 0);
	return 1;
}

static void cut_all(uintptr_t start, uintptr_t end, uint64_t now)
{
	size_t i = find_piece(start);

	while (i < pieces.count && piece_at(i)->start < end)
		i += piece_at(i)->serial < now ? cut_piece(i, start, end) : 1;
}

void cp_mappings_remove(uintptr_t start, size_t size, uint64_t now)
{
	cp_futex_lock_acquire(&lock);
	cut_all(start, start + size, now);
	cp_futex_lock_release(&lock);
}

static uint32_t new_origin(uint32_t entry)
{
	uint32_t number = free_origin - 1;

	if (free_origin)
		free_origin = origin_at(number)->entry;
	else if (cp_vec_add(&origins))
		number = (uint32_t)(origins.count - 1);
	else
		return UINT32_MAX;
	*origin_at(number) = (struct origin){ .entry = entry, .pieces = 1 };
	return number;
}

static void add_locked(uintptr_t start, uintptr_t end, struct cp_stack_depot_entry *e)
{
	struct piece p = { start, end, cp_add_seqcst(&serial, 1) + 1, 0 };

	cut_all(start, end, UINT64_MAX);
	p.origin = new_origin(e->id);
	if (p.origin == UINT32_MAX) {
		cp_add_relaxed(&lost, 1);
		return;
	}
	cp_stack_depot_allocated(e, CP_POISSON_ONE, end - start);
	if (!insert_piece(find_piece(start), &p))
		give_back(p.origin, end - start, 1);
}

__attribute__((noinline)) void cp_mappings_add(uintptr_t start, size_t size, void *caller)
{
	struct cp_stack_depot_entry *e = cp_heap_event_mapping(caller);

	cp_futex_lock_acquire(&lock);
	if (e)
		add_locked(start, start + size, e);
	else
		cp_add_relaxed(&lost, 1);
	cp_futex_lock_release(&lock);
}
