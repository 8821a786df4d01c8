/* Inside malloc and free; see heap_event.h. */
#include "sigsafe/heap_event.h"

#include "sigsafe/arch.h"
#include "sigsafe/capture.h"
#include "sigsafe/counters.h"
#include "sigsafe/depot.h"
#include "sigsafe/gate.h"
#include "sigsafe/labels.h"
#include "sigsafe/labelset.h"
#include "sigsafe/poisson.h"
#include "sigsafe/scratch.h"
#include "sigsafe/sys.h"
#include "sigsafe/timing.h"
#include "sigsafe/unwind_walks.h"

/* A thread adds to the shared totals in batches of this many bytes; they serve the peak and the
 * dumps by amount, which need no more precision. */
#define BATCH (UINT64_C(64) << 10)

/* Threads that count apart when samples are frequent. */
#define SHARDS 8u

/* Frames of our own on top of a walk, at most. */
#define OWN_FRAMES 4u

/* Of frequent samples one in so many is timed. */
#define TIMED 64u

struct cp_heap_totals cp_heap_totals;

static uint64_t draw(struct cp_heap_self *h)
{
	h->interval = cp_load_relaxed(&cp_heap_totals.interval);
	if (h->interval <= 1)
		return 0;
	if (!h->random)
		h->random = cp_poisson_seed(cp_heap_totals.seed,
					    cp_add_relaxed(&cp_heap_totals.threads, 1));
	return cp_poisson_draw(&h->random, h->interval);
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
	if (!h->interval) {
		h->left = draw(h);
		if (size < h->left) {
			h->left -= size;
			return false;
		}
	}
	*s = (struct cp_heap_sample){ h->interval, size, (uintptr_t)caller };
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

void cp_heap_event_flush(void)
{
	struct cp_heap_self *h = &cp_self.heap;
	uint64_t allocated = cp_add_relaxed(&cp_heap_totals.allocated, h->allocated) + h->allocated;
	uint64_t freed = cp_add_relaxed(&cp_heap_totals.freed, h->freed) + h->freed;

	h->allocated = h->freed = 0;
	look_at_totals(allocated, freed);
}

static void sum_up(uint64_t allocated, uint64_t freed)
{
	struct cp_heap_self *h = &cp_self.heap;

	h->allocated += allocated;
	h->freed += freed;
	if (h->allocated + h->freed >= BATCH)
		cp_heap_event_flush();
}

static void block_signals(uint64_t *old)
{
	const uint64_t all = CP_SIGSET_ALL;

	cp_sys_sigmask(SIG_SETMASK, &all, old);
}

static void unblock_signals(const uint64_t *old)
{
	cp_sys_sigmask(SIG_SETMASK, old, NULL);
}

static unsigned walk(struct cp_unwind_input *in, uint64_t *pcs, unsigned max,
		     enum cp_unwind_end *end)
{
	uint8_t before = cp_self.in_capture;
	unsigned phase, n;

	phase = cp_gate_enter(&in->stable_modules);
	cp_self.in_capture = true;
	cp_signal_fence();
	n = cp_capture_settings.unwinder->walk(in, pcs, max, end);
	cp_signal_fence();
	cp_self.in_capture = before;
	cp_gate_leave(phase);
	if (*end == CP_UNWIND_TRUNCATED)
		cp_count_mode(CP_MODE_HEAP, CP_COUNT_TRUNCATED, 1);
	else if (*end == CP_UNWIND_INCOMPLETE)
		cp_count_mode(CP_MODE_HEAP, CP_COUNT_INCOMPLETE, 1);
	return n;
}

/* No handler of the program's may come in between: it could jump away, and the gate would be
 * waited for for ever. */
static unsigned walk_undisturbed(struct cp_unwind_input *in, uint64_t *pcs, unsigned max,
				 enum cp_unwind_end *end)
{
	uint64_t mask;
	unsigned n;

	block_signals(&mask);
	n = walk(in, pcs, max, end);
	unblock_signals(&mask);
	return n;
}

/* Our own frames at the leaf, up to the one that CALLER returns to. */
static unsigned own_frames(const uint64_t *pcs, unsigned depth, uintptr_t caller)
{
	for (unsigned i = 0; i < depth && i < OWN_FRAMES; i++)
		if (pcs[i] == caller - 1)
			return i;
	return 0;
}

/* Signals are blocked for all of a sample; where all is sampled, system calls would be most of the
 * cost. */
static bool is_rare(uint64_t interval)
{
	return interval >= CP_HEAP_TAG_INTERVAL;
}

/* The stack that SCRATCH's last walk found, DEPTH frames of it the program's. */
static struct cp_depot_entry *entry_of_memo(struct cp_memo *m, unsigned depth,
					    struct cp_depot_key *key)
{
	struct cp_depot_entry *e = m->entry_depth == depth ? m->entry : NULL;

	if (e && e->interval == key->interval && e->labels == key->labels)
		return e;
	key->pcs = cp_memo_pcs(m, depth);
	key->hash = cp_memo_hash(m, depth);
	key->depth = depth;
	key->end = CP_UNWIND_COMPLETE;
	e = cp_depot_find(key);
	m->entry = e;
	m->entry_depth = depth;
	return e;
}

static struct cp_depot_entry *entry_of_walk(struct cp_scratch *scratch, struct cp_unwind_input *in,
					    unsigned max, uintptr_t caller,
					    struct cp_depot_key *key)
{
	enum cp_unwind_end end = CP_UNWIND_INCOMPLETE;
	unsigned depth = is_rare(key->interval) ? walk(in, scratch->pcs, max, &end)
						: walk_undisturbed(in, scratch->pcs, max, &end);
	unsigned own = own_frames(scratch->pcs, depth, caller);

	key->pcs = scratch->pcs + own;
	key->depth = depth - own;
	key->hash = cp_memo_hash_of(key->pcs, key->depth);
	key->end = (uint8_t)end;
	return cp_depot_find(key);
}

static uint32_t labels_now(void)
{
	const struct cp_thread *t = cp_self.thread;
	uint32_t set = t ? cp_labels_current(t->labels) : CP_LABELSET_NONE;

	if (set != CP_LABELSET_LOST)
		return set;
	cp_count_mode(CP_MODE_HEAP, CP_COUNT_LOST_LABELS, 1);
	return CP_LABELSET_NONE;
}

static struct cp_depot_entry *find(const struct cp_heap_sample *s, const struct cp_regs *regs)
{
	struct cp_scratch *scratch = cp_scratch_take(&cp_self.heap.scratch);
	unsigned max = cp_load_relaxed(&cp_capture_settings.max_depth), depth = 0;
	struct cp_depot_key key = { .interval = s->interval, .labels = labels_now() };
	const struct cp_thread *t = cp_self.thread;
	struct cp_unwind_input in = { .regs = *regs,
				      .stack_low = t ? t->stack_low : 0,
				      .stack_high = t ? t->stack_high : 0,
				      .own_tls = true };
	struct cp_depot_entry *e;

	if (!scratch)
		return NULL;
	if (!is_rare(s->interval)) {
		key.shard = cp_self.heap.scratch % SHARDS;
		if (cp_capture_settings.unwinder->walk == cp_unwind_dwarf_walk && cp_gate_is_open())
			depth = cp_memo_walk(&scratch->memo, &in, cp_depot_epoch(), max);
	}
	if (depth)
		e = entry_of_memo(
			&scratch->memo,
			depth - own_frames(cp_memo_pcs(&scratch->memo, depth), depth, s->caller),
			&key);
	else
		e = entry_of_walk(scratch, &in, max, s->caller, &key);
	cp_scratch_give(scratch);
	return e;
}

/* Left by a jump out of a handler, the buffer would be lost as well; but that is one. */
static struct cp_depot_entry *find_stack(const struct cp_heap_sample *s, const struct cp_regs *regs)
{
	bool rare = is_rare(s->interval);
	struct cp_depot_entry *e;
	uint64_t mask;

	if (rare)
		block_signals(&mask);
	e = find(s, regs);
	if (rare)
		unblock_signals(&mask);
	return e;
}

void cp_heap_event_untracked_freed(const struct cp_live_block *b)
{
	struct cp_depot_entry *e = cp_depot_at(b->id);
	uint64_t objects, bytes;

	cp_poisson_stands_for(b->size, e->interval, &objects, &bytes);
	cp_depot_freed(e, objects, bytes);
	/* What was allocated before this run is not in its totals; after a stop there are none. */
	if (cp_likely(e->epoch >= cp_load_relaxed(&cp_heap_totals.first_epoch) &&
		      cp_heap_hot.state == CP_HEAP_ON))
		sum_up(0, bytes);
}

/* Blocks of runs that look at every address aren't in the filter. */
static bool is_filtered(uint64_t interval)
{
	return interval >= CP_HEAP_TAG_INTERVAL;
}

static bool untrack(uintptr_t a, struct cp_live_block *b)
{
	if (!cp_live_remove(a, b))
		return false;
	if (is_filtered(cp_depot_at(b->id)->interval))
		cp_heap_filter_remove(a);
	return true;
}

/* Where it fails, P stays in the filter: it may be larger than the program will say. */
static bool track(void *p, const struct cp_live_block *b)
{
	uintptr_t a = (uintptr_t)p;
	struct cp_live_block old;
	bool put;

	if (is_filtered(cp_depot_at(b->id)->interval))
		cp_heap_filter_add(a);
	put = cp_live_insert(a, b, &old);
	if (old.id) {
		cp_count_mode(CP_MODE_HEAP, CP_COUNT_UNSEEN_FREES, 1);
		if (is_filtered(cp_depot_at(old.id)->interval))
			cp_heap_filter_remove(a);
		cp_heap_event_untracked_freed(&old);
	}
	return put;
}

static bool lost(const struct cp_heap_sample *s, void *p, const struct cp_depot_entry *e)
{
	if (e)
		return !track(p, &(struct cp_live_block){ s->size, e->id });
	if (is_filtered(s->interval))
		cp_heap_filter_add((uintptr_t)p);
	return true;
}

static void record(const struct cp_heap_sample *s, void *p, const struct cp_regs *regs)
{
	struct cp_depot_entry *e = find_stack(s, regs);
	uint64_t objects, bytes;

	/* Counted as allocated only if its free can be counted, too. */
	if (lost(s, p, e)) {
		cp_count_mode(CP_MODE_HEAP, CP_COUNT_LOST_MEMORY, 1);
		return;
	}
	cp_poisson_stands_for(s->size, s->interval, &objects, &bytes);
	cp_depot_allocated(e, objects, bytes);
	sum_up(bytes, 0);
	/* One counter for all threads is for what is rare; where all is taken, the depot's do. */
	if (s->interval > 1)
		cp_count_mode(CP_MODE_HEAP, CP_COUNT_SAMPLES, 1);
}

/* Counters for all threads are for what is rare: where samples are frequent, one in so many. */
static bool is_timed(const struct cp_heap_sample *s)
{
	struct cp_heap_self *h = &cp_self.heap;

	if (s->interval < CP_HEAP_TAG_INTERVAL && ++h->untimed < TIMED)
		return false;
	h->untimed = 0;
	return true;
}

__attribute__((noinline)) void *cp_heap_event_commit(const struct cp_heap_sample *s, void *p)
{
	struct cp_regs regs;
	uint64_t began;
	bool timed;

	if (!p)
		return NULL;
	timed = is_timed(s);
	began = timed ? cp_timing_begin() : 0;
	cp_regs_here(&regs);
	record(s, p, &regs);
	if (timed)
		cp_timing_end(CP_MODE_HEAP, began);
	return p;
}

__attribute__((noinline)) struct cp_depot_entry *cp_heap_event_mapping(void *caller)
{
	struct cp_heap_sample s = { .interval = CP_DEPOT_MAPPING, .caller = (uintptr_t)caller };
	struct cp_regs regs;

	if (cp_heap_hot.state != CP_HEAP_ON)
		return NULL;
	cp_regs_here(&regs);
	return find_stack(&s, &regs);
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
	told = (b.size + 15) & ~(size_t)15;
	return told < usable ? told : usable;
}

bool cp_heap_event_untrack(void *p, struct cp_live_block *b)
{
	/* Also after a stop: what would stay is another block's by the next start. */
	return p && untrack((uintptr_t)p, b);
}

bool cp_heap_event_free(void *p)
{
	struct cp_live_block b;

	if (!cp_heap_event_untrack(p, &b))
		return false;
	cp_heap_event_untracked_freed(&b);
	return true;
}

bool cp_heap_event_free_sized(void *p)
{
	return cp_heap_event_free(p) || cp_heap_hot_tagged();
}

void cp_heap_event_retrack(void *p, const struct cp_live_block *b)
{
	if (!track(p, b))
		cp_heap_event_untracked_freed(b);
}
