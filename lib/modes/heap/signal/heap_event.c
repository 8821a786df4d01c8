/* SPDX-License-Identifier: BSD-3-Clause */
/* The code that runs inside malloc and free; see heap_signal.h. */
#include "modes/heap/signal/heap_signal.h"

#include "base/start_data.h"
#include "sample/diary.h"
#include "sample/lock_clock.h"

struct cp_heap_totals cp_heap_totals CP_START_DATA;

static uint64_t draw_point(struct cp_heap_self *h)
{
	h->interval = cp_load_relaxed(&cp_heap_totals.interval);
	if (h->interval <= 1)
		return 0;
	/* Not every allocation is a sample any more, so leave the fast path of heap_exact.h. */
	h->own = NULL;
	if (!h->random)
		h->random = cp_poisson_seed(cp_heap_totals.seed,
					    cp_add_relaxed(&cp_heap_totals.threads, 1));
	return cp_poisson_draw(&h->random, h->interval);
}

/* Blocks of runs that look up every address aren't in the filter. */
static bool is_filtered(uint64_t interval)
{
	return interval >= CP_HEAP_FILTER_INTERVAL;
}

/* Is the interval from an earlier run and useless for this run? That is so if this run samples
 * every allocation, or if free looks up only the filter and would not recognize this sample.
 * Otherwise the sample is as good as any other, with its own weight. */
static bool is_of_another_kind(uint64_t interval)
{
	uint64_t now = cp_load_relaxed(&cp_heap_totals.interval);

	return now <= 1 ? interval > 1
			: cp_heap_hot.look == CP_HEAP_LOOK_FILTER && !is_filtered(interval);
}

static bool is_paused(void)
{
	if (!cp_self.thread || !cp_load_relaxed(&cp_self.thread->paused))
		return false;
	cp_count_mode(CPROF_HEAP, CP_COUNT_LOST_PAUSED, 1);
	return true;
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
	/* A thread draws its first interval before the first allocation is tested. */
	if (!h->interval || is_of_another_kind(h->interval)) {
		cp_heap_hot_set_left(h, draw_point(h));
		if (size < h->left) {
			h->left -= size;
			return false;
		}
	}
	*s = (struct cp_heap_sample){ h->interval, size, (uintptr_t)caller, NULL };
	cp_heap_hot_set_left(h, draw_point(h));
	h->counted += size;
	return !is_paused();
}

/* Has BYTES passed the next multiple of STEP? Returns true to one thread only. */
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
		cp_stack_depot_mark_peak();
	if (!cp_likely(t->dump))
		return;
	due = is_due(&t->next_allocated, t->allocated_step, allocated);
	/* Each limit moves on, even if another one is due. */
	due = is_due(&t->next_freed, t->freed_step, freed) || due;
	due = is_due(&t->next_in_use, t->in_use_step, live) || due;
	if (!due)
		return;
	cp_add_relaxed(&t->dumps, 1);
	t->dump();
}

void cp_heap_event_forget(void)
{
	struct cp_heap_self *h = &cp_self.heap;

	h->allocated = h->freed = 0;
	h->counted += h->room_before - h->room;
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

static inline void freed(struct cp_stack_depot_entry *e, uint64_t size)
{
	uint64_t objects, bytes;

	cp_poisson_stands_for(size, e->interval, &objects, &bytes);
	if (cp_heap_stack_is_own(e))
		cp_stack_depot_freed_own(e, objects, bytes);
	else
		cp_stack_depot_freed(e, objects, bytes);
	/* Memory allocated before this run is not in its totals; after a stop there are no totals.
	 */
	if (cp_likely(cp_load_relaxed(&e->seen.epoch) >=
			      cp_load_relaxed(&cp_heap_totals.first_epoch) &&
		      cp_heap_hot.state == CP_HEAP_ON))
		cp_heap_event_sum_up(0, bytes);
}

void cp_heap_event_removed(uintptr_t a, struct cp_stack_depot_entry *e, uint64_t size)
{
	if (is_filtered(e->interval))
		cp_heap_hot_filter_remove(a);
	freed(e, size);
}

/* Frees of sampled blocks. */

#define TID_MASK ((UINT64_C(1) << CP_LIFETIMES_TID_BITS) - 1)

/* Return the calling thread's id, or 0 without a record. */
static uint64_t own_tid(void)
{
	return cp_self.thread ? (uint64_t)cp_self.thread->tid & TID_MASK : 0;
}

/* Returns the birth of a block that the calling thread allocates now. */
static uint64_t lifetimes_birth(void)
{
	uint64_t now = cp_lock_now() >> CP_LIFETIMES_TIME_SHIFT;

	return now << CP_LIFETIMES_TID_BITS | own_tid();
}

/* Writes the birth or the death of block B, of entry E, into the diary for the time index. */
static bool note_block(enum cp_diary_kind kind, const struct cp_stack_depot_entry *e,
		       const struct cp_live_block *b)
{
	uint64_t born = cp_lifetimes_born_ns(b->born);

	return cp_diary_add(
		&(struct cp_diary_entry){ .kind = (uint8_t)kind,
					  .begin_ns = born,
					  .end_ns = kind == CP_DIARY_BIRTH ? born : cp_lock_now(),
					  .size = b->size,
					  .what = e->id });
}

/* Where every allocation is recorded, there is no time index. */
static bool has_times(const struct cp_stack_depot_entry *e)
{
	return cp_capture_settings.times && e->interval > 1 && e->interval < CP_STACK_DEPOT_CENSUS;
}

static enum cp_lifetimes_thread by_whom(uint64_t birth)
{
	uint64_t maker = birth & TID_MASK, own = own_tid();

	if (!maker || !own)
		return CP_LIFETIMES_UNKNOWN;
	return maker == own ? CP_LIFETIMES_SAME : CP_LIFETIMES_OTHER;
}

/* Block B of entry E is being freed by the calling thread. */
static void lifetimes_freed(const struct cp_stack_depot_entry *e, const struct cp_live_block *b)
{
	uint64_t now = cp_lock_now(), born = cp_lifetimes_born_ns(b->born);
	uint32_t class = cp_lifetimes_class(now > born ? now - born : 0, by_whom(b->born));
	struct cp_stack_depot_entry *of = cp_heap_stack_find_freed(e, class);
	uint64_t objects, bytes;

	if (!of) {
		cp_count_mode(CPROF_HEAP_LIFETIMES, CP_COUNT_LOST_MEMORY, 1);
		return;
	}
	cp_poisson_stands_for(b->size, e->interval, &objects, &bytes);
	cp_stack_depot_allocated(of, objects, bytes);
}

static void freed_block(struct cp_stack_depot_entry *e, const struct cp_live_block *b)
{
	freed(e, b->size);
	if (b->born && has_times(e))
		note_block(CP_DIARY_DEATH, e, b);
	if (cp_unlikely(cp_load_relaxed(&cp_heap_totals.lifetimes)) && b->born)
		lifetimes_freed(e, b);
}

void cp_heap_event_untracked_freed(const struct cp_live_block *b)
{
	freed_block(cp_stack_depot_at(b->id), b);
}

/* Take A's block out of the table. Returns its entry, or NULL if A isn't in the table. Also called
 * after a stop, because a leftover address could belong to another block by the next start. */
static inline struct cp_stack_depot_entry *untrack(uintptr_t a, struct cp_live_block *b)
{
	struct cp_stack_depot_entry *e;

	if (!a || !cp_live_remove(a, b))
		return NULL;
	e = cp_stack_depot_at(b->id);
	if (is_filtered(e->interval))
		cp_heap_hot_filter_remove(a);
	if (e->interval > 1)
		cp_usdt_free(a);
	return e;
}

static __attribute__((noinline)) void unseen_free(uintptr_t a, const struct cp_live_block *old)
{
	cp_count_mode(CPROF_HEAP, CP_COUNT_UNSEEN_FREES, 1);
	if (is_filtered(cp_stack_depot_at(old->id)->interval))
		cp_heap_hot_filter_remove(a);
	freed_block(cp_stack_depot_at(old->id), old);
}

static inline bool track(void *p, const struct cp_live_block *b,
			 const struct cp_stack_depot_entry *e)
{
	uintptr_t a = (uintptr_t)p;
	struct cp_live_block old;
	bool put;

	if (is_filtered(e->interval))
		cp_heap_hot_filter_add(a);
	put = cp_live_insert(a, b, &old);
	if (cp_unlikely(old.id))
		unseen_free(a, &old);
	if (cp_unlikely(!put) && is_filtered(e->interval))
		cp_heap_hot_filter_remove(a);
	return put;
}

/* A block whose birth is lost has no death, either. */
static struct cp_live_block new_block(const struct cp_heap_sample *s,
				      const struct cp_stack_depot_entry *e)
{
	struct cp_live_block b = { s->size, e->id, 0 };

	if (cp_load_relaxed(&cp_heap_totals.births))
		b.born = lifetimes_birth();
	if (b.born && has_times(e) && !note_block(CP_DIARY_BIRTH, e, &b))
		b.born = 0;
	return b;
}

static inline void record_sample(const struct cp_heap_sample *s, void *p,
				 struct cp_unwind_input *in)
{
	struct cp_stack_depot_entry *e = cp_heap_stack_find(s, in);
	struct cp_live_block b = { 0 };
	uint64_t objects, bytes;

	if (e)
		b = new_block(s, e);
	/* Count the allocation only if its free can be counted, too. */
	if (!e || !track(p, &b, e)) {
		cp_count_mode(CPROF_HEAP, CP_COUNT_LOST_MEMORY, 1);
		return;
	}
	cp_poisson_stands_for(s->size, s->interval, &objects, &bytes);
	if (cp_heap_stack_is_own(e))
		cp_stack_depot_allocated_own(e, objects, bytes);
	else
		cp_stack_depot_allocated(e, objects, bytes);
	cp_heap_event_sum_up(bytes, 0);
	/* A counter shared by all threads suits rare events only. When every allocation is sampled,
	 * the depot's counters give the number. */
	if (s->interval > 1) {
		cp_count_mode(CPROF_HEAP, CP_COUNT_SAMPLES, 1);
		cp_usdt_alloc((uintptr_t)p, s->size, bytes);
	}
}

/* Counters shared by all threads suit rare events only: of frequent samples, one in CP_HEAP_TIMED
 * is timed. */
static bool is_timed(const struct cp_heap_sample *s)
{
	struct cp_heap_self *h = &cp_self.heap;

	if (s->interval < CP_HEAP_FILTER_INTERVAL && h->untimed) {
		h->untimed--;
		return false;
	}
	h->untimed = CP_HEAP_TIMED - 1;
	return true;
}

__attribute__((noinline)) void *cp_heap_event_commit(const struct cp_heap_sample *s, void *p)
{
	struct cp_unwind_input in;
	uint64_t began, dumps;
	bool timed;

	if (!p)
		return NULL;
	cp_live_prefetch((uintptr_t)p);
	timed = is_timed(s);
	dumps = cp_load_relaxed(&cp_heap_totals.dumps);
	began = timed ? cp_timing_begin() : 0;
	cp_regs_here(&in.regs);
	record_sample(s, p, &in);
	/* A dump in between is not part of a sample; its time is in the collector's cost. */
	if (timed && cp_load_relaxed(&cp_heap_totals.dumps) == dumps)
		cp_timing_end(CPROF_HEAP, began);
	return p;
}

void *cp_heap_event_commit_all(void *p, size_t size, void *caller)
{
	const struct cp_heap_sample s = { 1, size, (uintptr_t)caller, NULL };

	return is_paused() ? p : cp_heap_event_commit(&s, p);
}

void cp_heap_event_commit_other(void *p, size_t size, uint64_t interval, void *caller)
{
	const struct cp_heap_sample s = { interval, size, (uintptr_t)caller, NULL };

	if (cp_heap_hot.state == CP_HEAP_ON && !cp_self.heap.guard && !is_paused())
		cp_heap_event_commit(&s, p);
}

void cp_heap_event_record(void *p, size_t size, const struct cp_call *call,
			  struct cp_unwind_input *in)
{
	record_sample(&(struct cp_heap_sample){ 1, size, call->pc, call }, p, in);
}

__attribute__((noinline)) struct cp_stack_depot_entry *cp_heap_event_mapping(void *caller)
{
	struct cp_heap_sample s = { .interval = CP_STACK_DEPOT_MAPPING,
				    .caller = (uintptr_t)caller };
	struct cp_unwind_input in;

	if (cp_heap_hot.state != CP_HEAP_ON)
		return NULL;
	cp_regs_here(&in.regs);
	return cp_heap_stack_find(&s, &in);
}

bool cp_heap_event_untrack(void *p, struct cp_live_block *b)
{
	return untrack((uintptr_t)p, b) != NULL;
}

bool cp_heap_event_free(void *p)
{
	struct cp_live_block b;
	struct cp_stack_depot_entry *e = untrack((uintptr_t)p, &b);

	if (!e)
		return false;
	freed_block(e, &b);
	return true;
}

/* Users of the probes already know the block as freed. The probe can't come after the allocator's
 * call, when the block may belong to another thread. */
void cp_heap_event_retrack(void *p, const struct cp_live_block *b)
{
	const struct cp_stack_depot_entry *e = cp_stack_depot_at(b->id);
	uint64_t objects, bytes;

	if (!track(p, b, e)) {
		cp_heap_event_untracked_freed(b);
		return;
	}
	cp_poisson_stands_for(b->size, e->interval, &objects, &bytes);
	if (e->interval > 1)
		cp_usdt_alloc((uintptr_t)p, b->size, bytes);
}
