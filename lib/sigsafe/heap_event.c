/* Inside malloc and free; see heap_event.h. */
#include "sigsafe/heap_event.h"

#include "sigsafe/arch.h"
#include "sigsafe/counters.h"
#include "sigsafe/depot.h"
#include "sigsafe/heap_stack.h"
#include "sigsafe/poisson.h"
#include "sigsafe/timing.h"

struct cp_heap_totals cp_heap_totals;

static uint64_t draw(struct cp_heap_self *h)
{
	h->interval = cp_load_relaxed(&cp_heap_totals.interval);
	if (h->interval <= 1)
		return 0;
	/* Not all are samples any more: heap_exact.h. */
	h->own = NULL;
	if (!h->random)
		h->random = cp_poisson_seed(cp_heap_totals.seed,
					    cp_add_relaxed(&cp_heap_totals.threads, 1));
	return cp_poisson_draw(&h->random, h->interval);
}

/* Blocks of runs that look at every address aren't in the filter. */
static bool is_filtered(uint64_t interval)
{
	return interval >= CP_HEAP_TAG_INTERVAL;
}

/* Drawn in an earlier run, and nothing for this one: that takes all; or free looks at tagged blocks
 * alone, and would not know this one. Else it is as good a sample as any, with its own weight. */
static bool is_of_another_kind(uint64_t interval)
{
	uint64_t now = cp_load_relaxed(&cp_heap_totals.interval);

	return now <= 1 ? interval > 1 : is_filtered(now) && !is_filtered(interval);
}

bool cp_heap_event_begin(struct cp_heap_sample *s, size_t size, void *caller)
{
	struct cp_heap_self *h = &cp_self.heap;

	if (h->probing) {
		h->probing = 2;
		return false;
	}
	if (cp_heap_hot.state != CP_HEAP_ON || h->guard)
		return false;
	/* A thread's first interval is drawn before its first allocation is looked at. */
	if (!h->interval || is_of_another_kind(h->interval)) {
		h->left = draw(h);
		if (size < h->left) {
			h->left -= size;
			return false;
		}
	}
	*s = (struct cp_heap_sample){ h->interval, size, (uintptr_t)caller, NULL };
	h->left = draw(h);
	if (cp_self.thread && cp_load_relaxed(&cp_self.thread->paused)) {
		cp_count_mode(CP_MODE_HEAP, CP_COUNT_LOST_PAUSED, 1);
		return false;
	}
	return true;
}

/* BYTES over the next multiple of STEP that was not reached yet? One thread finds so. */
static bool is_due(uint64_t *next, uint64_t step, uint64_t bytes)
{
	uint64_t seen = cp_load_relaxed(next);

	return bytes >= seen && seen != UINT64_MAX &&
	       cp_cas_acqrel(next, &seen, bytes - bytes % step + step);
}

static void look_at_totals(uint64_t allocated, uint64_t freed)
{
	struct cp_heap_totals *t = &cp_heap_totals;
	uint64_t live = allocated > freed ? allocated - freed : 0;
	uint64_t peak = cp_load_relaxed(&t->peak);
	bool due;

	if (live > peak + peak / 10 && cp_cas_acqrel(&t->peak, &peak, live))
		cp_depot_mark_peak();
	if (!cp_likely(t->dump))
		return;
	due = is_due(&t->next_allocated, t->allocated_step, allocated);
	/* Each moves on, also where another one is due. */
	due = is_due(&t->next_freed, t->freed_step, freed) || due;
	due = is_due(&t->next_in_use, t->in_use_step, live) || due;
	if (due)
		t->dump();
}

void cp_heap_event_forget(void)
{
	struct cp_heap_self *h = &cp_self.heap;

	h->allocated = h->freed = 0;
	h->room_before = h->room;
}

void cp_heap_event_flush(void)
{
	struct cp_heap_self *h = &cp_self.heap;
	uint64_t more = h->allocated + h->room_before - h->room, allocated, freed;

	allocated = cp_add_relaxed(&cp_heap_totals.allocated, more) + more;
	freed = cp_add_relaxed(&cp_heap_totals.freed, h->freed) + h->freed;
	cp_heap_event_forget();
	look_at_totals(allocated, freed);
}

static inline void freed(struct cp_depot_entry *e, uint64_t size)
{
	uint64_t objects, bytes;

	cp_poisson_stands_for(size, e->interval, &objects, &bytes);
	if (cp_heap_stack_is_own(e))
		cp_depot_freed_own(e, objects, bytes);
	else
		cp_depot_freed(e, objects, bytes);
	/* What was allocated before this run is not in its totals; after a stop there are none. */
	if (cp_likely(cp_load_relaxed(&e->seen.epoch) >=
			      cp_load_relaxed(&cp_heap_totals.first_epoch) &&
		      cp_heap_hot.state == CP_HEAP_ON))
		cp_heap_event_sum_up(0, bytes);
}

void cp_heap_event_taken(uintptr_t a, struct cp_depot_entry *e, uint64_t size)
{
	if (is_filtered(e->interval))
		cp_heap_filter_remove(a);
	freed(e, size);
}

void cp_heap_event_untracked_freed(const struct cp_live_block *b)
{
	freed(cp_depot_at(b->id), b->size);
}

/* The entry of A's block; NULL: it isn't there. Also after a stop: what would stay is another
 * block's by the next start. */
static inline struct cp_depot_entry *untrack(uintptr_t a, struct cp_live_block *b)
{
	struct cp_depot_entry *e;

	if (!a || !cp_live_remove(a, b))
		return NULL;
	e = cp_depot_at(b->id);
	if (is_filtered(e->interval))
		cp_heap_filter_remove(a);
	return e;
}

static __attribute__((noinline)) void unseen_free(uintptr_t a, const struct cp_live_block *old)
{
	cp_count_mode(CP_MODE_HEAP, CP_COUNT_UNSEEN_FREES, 1);
	if (is_filtered(cp_depot_at(old->id)->interval))
		cp_heap_filter_remove(a);
	cp_heap_event_untracked_freed(old);
}

/* Where it fails, P stays in the filter: it may be larger than the program will say. */
static inline bool track(void *p, const struct cp_live_block *b, const struct cp_depot_entry *e)
{
	uintptr_t a = (uintptr_t)p;
	struct cp_live_block old;
	bool put;

	if (is_filtered(e->interval))
		cp_heap_filter_add(a);
	put = cp_live_insert(a, b, &old);
	if (cp_unlikely(old.id))
		unseen_free(a, &old);
	return put;
}

static bool lost(const struct cp_heap_sample *s, void *p, const struct cp_depot_entry *e)
{
	if (e)
		return !track(p, &(struct cp_live_block){ s->size, e->id }, e);
	if (is_filtered(s->interval))
		cp_heap_filter_add((uintptr_t)p);
	return true;
}

static inline void record(const struct cp_heap_sample *s, void *p, struct cp_unwind_input *in)
{
	struct cp_depot_entry *e = cp_heap_stack_find(s, in);
	uint64_t objects, bytes;

	/* Counted as allocated only if its free can be counted, too. */
	if (lost(s, p, e)) {
		cp_count_mode(CP_MODE_HEAP, CP_COUNT_LOST_MEMORY, 1);
		return;
	}
	cp_poisson_stands_for(s->size, s->interval, &objects, &bytes);
	if (cp_heap_stack_is_own(e))
		cp_depot_allocated_own(e, objects, bytes);
	else
		cp_depot_allocated(e, objects, bytes);
	cp_heap_event_sum_up(bytes, 0);
	/* One counter for all threads is for what is rare; where all is taken, the depot's do. */
	if (s->interval > 1)
		cp_count_mode(CP_MODE_HEAP, CP_COUNT_SAMPLES, 1);
}

/* Counters for all threads are for what is rare: where samples are frequent, one in so many. */
static bool is_timed(const struct cp_heap_sample *s)
{
	struct cp_heap_self *h = &cp_self.heap;

	if (s->interval < CP_HEAP_TAG_INTERVAL && h->untimed) {
		h->untimed--;
		return false;
	}
	h->untimed = CP_HEAP_TIMED - 1;
	return true;
}

__attribute__((noinline)) void *cp_heap_event_commit(const struct cp_heap_sample *s, void *p)
{
	struct cp_unwind_input in;
	uint64_t began;
	bool timed;

	if (!p)
		return NULL;
	cp_live_prefetch((uintptr_t)p);
	timed = is_timed(s);
	began = timed ? cp_timing_begin() : 0;
	cp_regs_here(&in.regs);
	record(s, p, &in);
	if (timed)
		cp_timing_end(CP_MODE_HEAP, began);
	return p;
}

void *cp_heap_event_commit_all(void *p, size_t size, void *caller)
{
	const struct cp_heap_sample s = { 1, size, (uintptr_t)caller, NULL };

	if (cp_self.thread && cp_load_relaxed(&cp_self.thread->paused)) {
		cp_count_mode(CP_MODE_HEAP, CP_COUNT_LOST_PAUSED, 1);
		return p;
	}
	return cp_heap_event_commit(&s, p);
}

void cp_heap_event_record(void *p, size_t size, const struct cp_call *call,
			  struct cp_unwind_input *in)
{
	record(&(struct cp_heap_sample){ 1, size, call->pc, call }, p, in);
}

__attribute__((noinline)) struct cp_depot_entry *cp_heap_event_mapping(void *caller)
{
	struct cp_heap_sample s = { .interval = CP_DEPOT_MAPPING, .caller = (uintptr_t)caller };
	struct cp_unwind_input in;

	if (cp_heap_hot.state != CP_HEAP_ON)
		return NULL;
	cp_regs_here(&in.regs);
	return cp_heap_stack_find(&s, &in);
}

size_t cp_heap_event_usable(const void *p, size_t usable)
{
	struct cp_live_block b;
	size_t told;

	if (!p || !cp_heap_hot_tagged() || !cp_live_peek((uintptr_t)p, &b))
		return usable;
	/* One of an earlier run that tagged none: as the allocator gave it, or freed since. */
	if (cp_depot_at(b.id)->interval < CP_HEAP_TAG_INTERVAL)
		return usable;
	told = cp_heap_event_told(b.size);
	return told < usable ? told : usable;
}

bool cp_heap_event_untrack(void *p, struct cp_live_block *b)
{
	return untrack((uintptr_t)p, b) != NULL;
}

bool cp_heap_event_free(void *p)
{
	struct cp_live_block b;
	struct cp_depot_entry *e = untrack((uintptr_t)p, &b);

	if (!e)
		return false;
	freed(e, b.size);
	return true;
}

bool cp_heap_event_free_sized(void *p)
{
	return cp_heap_event_free(p) || cp_heap_hot_tagged();
}

void cp_heap_event_retrack(void *p, const struct cp_live_block *b)
{
	if (!track(p, b, cp_depot_at(b->id)))
		cp_heap_event_untracked_freed(b);
}
