/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the depot entry of a sampled allocation's stack; see heap_signal.h. */

#include "modes/heap/signal/live_hot.h"
#include "base/sys.h"

/* While a module is going away, stacks go into separate entries that no thread owns: a thread that
 * has loaded another module at the same addresses must not find the old module's entries before
 * they are retired. */
#define APART 0x80u

_Static_assert(CP_HEAP_OWNERS < CP_HEAP_NOBODYS && CP_HEAP_SHARDS <= CP_HEAP_NOBODYS &&
		       CP_HEAP_NOBODYS < APART,
	       "a shard's number tells whose it is");

/* Maximum number of libcprof's own frames on top of a walk. */
#define OWN_FRAMES 4u
#define OWN_FRAMES_MOST 12u
/* Frames of the last walk, counted from the outermost. */
#define FETCHED_MOST 128u

static void block_signals(uint64_t *old)
{
	const uint64_t all = CP_SIGSET_ALL;

	cp_sys_sigmask(SIG_SETMASK, &all, old);
}

static void unblock_signals(const uint64_t *old)
{
	cp_sys_sigmask(SIG_SETMASK, old, NULL);
}

static unsigned walk_stack(struct cp_unwind_input *in, uint64_t *pcs, unsigned max,
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
	return n;
}

/* No handler of the program may run in between: if it jumped away, the gate would wait for ever. */
static unsigned walk_undisturbed(struct cp_unwind_input *in, uint64_t *pcs, unsigned max,
				 enum cp_unwind_end *end)
{
	uint64_t mask;
	unsigned n;

	block_signals(&mask);
	n = walk_stack(in, pcs, max, end);
	unblock_signals(&mask);
	return n;
}

static void count_end(enum cp_unwind_end end)
{
	if (end == CP_UNWIND_TRUNCATED)
		cp_count_mode(CPROF_HEAP, CP_COUNT_TRUNCATED, 1);
	else if (end == CP_UNWIND_INCOMPLETE)
		cp_count_mode(CPROF_HEAP, CP_COUNT_INCOMPLETE, 1);
}

uintptr_t cp_heap_stack_own_low, cp_heap_stack_own_high;

static bool is_own(uint64_t pc)
{
	return pc - cp_heap_stack_own_low < cp_heap_stack_own_high - cp_heap_stack_own_low;
}

/* The census calls from various depths, so all of libcprof's frames are counted. */
static unsigned all_own_frames(const uint64_t *pcs, unsigned depth)
{
	unsigned n = 0;

	while (n + 1 < depth && n < OWN_FRAMES_MOST && is_own(pcs[n]))
		n++;
	return n;
}

/* Returns the number of libcprof's own frames at the leaf, up to the one that returns to CALLER. 0:
 * as many as there are. */
static unsigned own_frames(const uint64_t *pcs, unsigned depth, uintptr_t caller)
{
	if (!caller)
		return all_own_frames(pcs, depth);
	for (unsigned i = 0; i < depth && i < OWN_FRAMES; i++)
		if (pcs[i] == caller - 1)
			return i;
	return 0;
}

/* Nothing is kept from one rare sample for the next: it would be out of every CPU cache by then. A
 * block on a page of the census may be the one that a loop allocates again and again. */
static bool is_rare(uint64_t interval)
{
	return interval >= CP_HEAP_FILTER_INTERVAL && interval != CP_STACK_DEPOT_CENSUS;
}

static bool is_apart(const struct cp_stack_depot_key *key)
{
	return key->shard & APART;
}

/* May cached rules be used? They must belong to the modules that are mapped now. */
static bool uses_rules(const struct cp_stack_depot_key *key)
{
	return cp_capture_settings.unwinder->walk == cp_unwind_dwarf_walk && !is_apart(key);
}

/* Returns the entry of the stack that the last walk found; its outermost DEPTH frames are the
 * program's. */
static struct cp_stack_depot_entry *entry_of_memo(struct cp_tail_cache *m, unsigned depth,
						  struct cp_stack_depot_key *key)
{
	struct cp_stack_depot_entry *e = m->entry_depth == depth ? m->entry : NULL;

	if (e && e->interval == key->interval && e->labels == key->labels)
		return e;
	key->pcs = cp_tail_cache_pcs(m, depth);
	key->hash = cp_tail_cache_hash(m, depth);
	key->depth = depth;
	key->end = CP_UNWIND_COMPLETE;
	e = cp_stack_depot_find(key);
	/* A cached stack without an entry would stay when its modules go away, so drop it. */
	if (!e)
		m->count = 0;
	m->entry = e;
	m->entry_depth = depth;
	return e;
}

/* Each step of a walk waits for a rule. Rules are scattered, and out of the CPU's cache when
 * samples are rare. Most frames were in the previous stack, too, so their rules are all prefetched
 * at once. */
static __attribute__((noinline)) void fetch_rules(const struct cp_unwind_buffer *scratch)
{
	for (unsigned i = 0; i < scratch->walked && i < FETCHED_MOST; i++) {
		uint64_t key = cp_rules_key(scratch->pcs[scratch->walked - 1 - i]);

		__asm__ volatile("" ::"r"(cp_load_relaxed(cp_rules_slot(cp_rules_hash(key)))));
	}
}

/* Walk into SCRATCH->pcs, by the cached rules alone if KEY's samples are rare and they suffice.
 * Returns the number of frames. */
static unsigned walk_rare(struct cp_unwind_buffer *scratch, struct cp_unwind_input *in,
			  unsigned max, const struct cp_stack_depot_key *key,
			  enum cp_unwind_end *end)
{
	unsigned depth = 0;

	if (is_rare(key->interval) && uses_rules(key)) {
		fetch_rules(scratch);
		depth = cp_unwind_dwarf_by_rules(in, scratch->pcs, max, end);
	}
	if (!depth)
		depth = walk_undisturbed(in, scratch->pcs, max, end);
	scratch->walked = depth;
	return depth;
}

static struct cp_stack_depot_entry *entry_of_walk(struct cp_unwind_buffer *scratch,
						  struct cp_unwind_input *in, unsigned max,
						  uintptr_t caller, struct cp_stack_depot_key *key)
{
	enum cp_unwind_end end = CP_UNWIND_INCOMPLETE;
	unsigned depth = walk_rare(scratch, in, max, key, &end), own;

	count_end(end);
	own = own_frames(scratch->pcs, depth, caller);
	key->pcs = scratch->pcs + own;
	key->depth = depth - own;
	key->hash = cp_tail_cache_hash_of(key->pcs, key->depth);
	key->end = (uint8_t)end;
	return cp_stack_depot_find(key);
}

static uint32_t labels_now(void)
{
	const struct cp_thread *t = cp_self.thread;
	uint32_t set;

	if (cp_likely(!t || !t->labels))
		return CP_LABELSET_NONE;
	set = cp_labels_current(t->labels);
	if (set != CP_LABELSET_LOST)
		return set;
	cp_count_mode(CPROF_HEAP, CP_COUNT_LOST_LABELS, 1);
	return CP_LABELSET_NONE;
}

/* Entries that the previous owner kept in the buffer may belong to another stack, or have labels.
 */
static void enter_short_way(struct cp_unwind_buffer *s)
{
	if (cp_likely(cp_self.heap.own == s) || !cp_load_acquire(&cp_live_newest))
		return;
	for (unsigned i = 0; i < CP_REPLAYS; i++)
		s->replays[i].entry = NULL;
	cp_self.heap.own = s;
}

/* Take the thread's own buffer. Fails in a handler that interrupted a sample. If a handler jumped
 * out of a sample, the buffer is lost to this thread. */
static struct cp_unwind_buffer *take_own(struct cp_stack_depot_key *key)
{
	const struct cp_thread *t = cp_self.thread;
	bool rare = is_rare(key->interval);
	struct cp_unwind_buffer *s;

	if (!(rare ? t && t->index < CP_UNWIND_BUFFER_OWNED : cp_heap_stack_owns(t)) ||
	    cp_self.heap.busy)
		return NULL;
	s = cp_unwind_buffer_own(t->index);
	if (!s)
		return NULL;
	cp_self.heap.busy = 1;
	cp_signal_fence();
	if (rare)
		return s;
	key->shard = cp_self.heap.shard = (uint8_t)(t->index + 1);
	if (key->interval == 1 && !t->labels)
		enter_short_way(s);
	return s;
}

static void give_own(void)
{
	cp_signal_fence();
	cp_self.heap.busy = 0;
}

/* A tail cache keeps no rules of modules that went away, and no entries of another epoch. */
static uint64_t memo_epoch(void)
{
	return (uint64_t)cp_stack_depot_epoch() << 32 | cp_gate_openings();
}

/* *DEPTH: the number of frames of the stack, if the stack is in the tail cache. */
static struct cp_stack_depot_entry *find_new(struct cp_unwind_buffer *scratch,
					     struct cp_unwind_input *in, uintptr_t caller,
					     struct cp_stack_depot_key *key, unsigned *depth)
{
	unsigned max = cp_load_relaxed(&cp_capture_settings.max_depth), n = 0;
	struct cp_tail_cache *m = &scratch->memo;

	in->room = &scratch->room;
	if (!is_rare(key->interval) && uses_rules(key))
		n = cp_tail_cache_walk(m, in, memo_epoch(), max);
	if (!n)
		return entry_of_walk(scratch, in, max, caller, key);
	*depth = n - own_frames(cp_tail_cache_pcs(m, n), n, caller);
	return entry_of_memo(m, *depth, key);
}

static bool is_of(struct cp_stack_depot_entry *e, const struct cp_stack_depot_key *key)
{
	return e && cp_stack_depot_is_found(e) && e->interval == key->interval &&
	       e->labels == key->labels && e->shard == key->shard;
}

/* If the caller's registers are known, the stack is kept from the caller on, for all functions that
 * it calls. */
static inline struct cp_stack_depot_entry *find_entry(struct cp_unwind_buffer *scratch,
						      struct cp_unwind_input *in,
						      const struct cp_heap_sample *s,
						      struct cp_stack_depot_key *key)
{
	const struct cp_call *call = s->call;
	struct cp_stack_depot_entry *e;
	unsigned depth = 0;
	struct cp_stack_cache *r;

	/* While a module is going away, a cached walk may lead through that module. */
	if (is_rare(key->interval) || is_apart(key))
		return find_new(scratch, in, s->caller, key, &depth);
	/* NOLINTNEXTLINE: cp_regs_here's instructions have filled it */
	r = cp_stack_cache_at(scratch->replays, call ? call->sp : in->regs.r[CP_REG_SP], s->caller);
	e = call ? cp_stack_cache_find_call(r, in, call) : cp_stack_cache_find(r, in);
	if (cp_likely(is_of(e, key)))
		return e;
	e = find_new(scratch, in, s->caller, key, &depth);
	if (!e || !depth)
		return e;
	if (call)
		cp_stack_cache_keep_call(r, &scratch->memo, in, call, depth, e);
	else
		cp_stack_cache_keep(r, &scratch->memo, in, e);
	return e;
}

/* Pool of unwind buffers. */

/* This many threads can be taking a sample at the same time. */
#define MOST 1024u

static struct cp_unwind_buffer *all[MOST];
struct cp_unwind_buffer *cp_unwind_buffer_owned[CP_UNWIND_BUFFER_OWNED];

static bool is_mine(struct cp_unwind_buffer *s)
{
	/* Acquire: pairs with give; all writes of the previous owner are visible. */
	return !cp_load_relaxed(&s->taken) && !cp_exchange_acqrel(&s->taken, 1);
}

static struct cp_unwind_buffer *make_buffer(struct cp_unwind_buffer **place)
{
	struct cp_unwind_buffer *s = cp_sys_map(sizeof(*s)), *none = NULL;

	if (!s)
		return NULL;
	s->taken = 1;
	if (cp_cas_acqrel(place, &none, s))
		return s;
	cp_sys_unmap(s, sizeof(*s));
	return NULL;
}

struct cp_unwind_buffer *cp_heap_stack_take_buffer(uint16_t *last)
{
	struct cp_unwind_buffer *s = cp_load_acquire(&all[*last % MOST]);

	if (__builtin_expect(s && is_mine(s), 1))
		return s;
	for (unsigned i = 0; i < MOST; i++) {
		s = cp_load_acquire(&all[i]);
		if (s ? !is_mine(s) : !(s = make_buffer(&all[i])))
			continue;
		*last = (uint16_t)i;
		return s;
	}
	return NULL;
}

void cp_heap_stack_give_buffer(struct cp_unwind_buffer *s)
{
	cp_store_release(&s->taken, 0);
}

struct cp_unwind_buffer *cp_heap_stack_make_own_buffer(unsigned index)
{
	return make_buffer(&cp_unwind_buffer_owned[index]);
}

/* If a handler jumped out, the buffer would be lost as well, so signals are blocked. When every
 * allocation is sampled, these system calls would be most of the cost, so there the loss is
 * accepted. */
static __attribute__((noinline)) struct cp_stack_depot_entry *
find_with_any(struct cp_unwind_input *in, const struct cp_heap_sample *s,
	      struct cp_stack_depot_key *key)
{
	bool rare = is_rare(key->interval);
	struct cp_stack_depot_entry *e = NULL;
	struct cp_unwind_buffer *scratch;
	uint64_t mask;

	if (rare)
		block_signals(&mask);
	scratch = cp_heap_stack_take_buffer(&cp_self.heap.scratch);
	key->shard |= rare ? 0 : (uint8_t)(cp_self.heap.scratch % CP_HEAP_SHARDS);
	if (scratch) {
		e = find_entry(scratch, in, s, key);
		cp_heap_stack_give_buffer(scratch);
	}
	if (rare)
		unblock_signals(&mask);
	return e;
}

static void fill_input(struct cp_unwind_input *in, bool stable)
{
	const struct cp_thread *t = cp_self.thread;

	in->stack_low = t ? t->stack_low : 0;
	in->stack_high = t ? t->stack_high : 0;
	in->stable_modules = stable;
	in->own_tls = true;
	in->copy = NULL;
}

/* At most half of the frames are those of the free. */
static void put_freed(struct cp_unwind_buffer *scratch, struct cp_unwind_input *in,
		      const struct cp_stack_depot_entry *of, struct cp_stack_depot_key *key)
{
	unsigned most = (CP_UNWIND_BUFFER_DEPTH - 1) / 2, more = of->depth, n;
	unsigned max = cp_load_relaxed(&cp_capture_settings.max_depth);
	enum cp_unwind_end end = CP_UNWIND_INCOMPLETE;

	in->room = &scratch->room;
	n = walk_rare(scratch, in, max < most ? max : most, key, &end);
	scratch->pcs[n++] = CP_STACK_DEPOT_MARK;
	if (more > CP_UNWIND_BUFFER_DEPTH - 1 - n) {
		more = CP_UNWIND_BUFFER_DEPTH - 1 - n;
		key->end = CP_UNWIND_TRUNCATED;
	}
	cp_stack_depot_pcs(of, scratch->pcs + n, more);
	key->pcs = scratch->pcs;
	key->depth = n + more;
	key->hash = cp_tail_cache_hash_of(key->pcs, key->depth);
}

static struct cp_stack_depot_entry *find_freed(struct cp_unwind_buffer *scratch,
					       struct cp_unwind_input *in,
					       const struct cp_stack_depot_entry *of,
					       struct cp_stack_depot_key *key)
{
	put_freed(scratch, in, of, key);
	return cp_stack_depot_find(key);
}

/* The same as find_with_any. */
static __attribute__((noinline)) struct cp_stack_depot_entry *
find_freed_with_any(struct cp_unwind_input *in, const struct cp_stack_depot_entry *of,
		    struct cp_stack_depot_key *key)
{
	struct cp_stack_depot_entry *e = NULL;
	struct cp_unwind_buffer *scratch;
	uint64_t mask;

	block_signals(&mask);
	scratch = cp_heap_stack_take_buffer(&cp_self.heap.scratch);
	if (scratch) {
		e = find_freed(scratch, in, of, key);
		cp_heap_stack_give_buffer(scratch);
	}
	unblock_signals(&mask);
	return e;
}

__attribute__((noinline)) struct cp_stack_depot_entry *
cp_heap_stack_find_freed(const struct cp_stack_depot_entry *of, uint32_t class)
{
	struct cp_stack_depot_key key = { .interval = of->interval | CP_STACK_DEPOT_FREED,
					  .labels = class,
					  .end = of->end,
					  .shard = CP_HEAP_NOBODYS };
	struct cp_unwind_buffer *scratch = take_own(&key);
	struct cp_stack_depot_entry *e;
	struct cp_unwind_input in;

	if (!cp_gate_is_open())
		key.shard |= APART;
	cp_regs_here(&in.regs);
	fill_input(&in, !is_apart(&key));
	if (!cp_likely(scratch))
		return find_freed_with_any(&in, of, &key);
	e = find_freed(scratch, &in, of, &key);
	give_own();
	return e;
}

struct cp_stack_depot_entry *cp_heap_stack_find(const struct cp_heap_sample *s,
						struct cp_unwind_input *in)
{
	struct cp_stack_depot_key key = { .interval = s->interval,
					  .labels = labels_now(),
					  .shard = CP_HEAP_NOBODYS };
	struct cp_unwind_buffer *scratch = take_own(&key);
	struct cp_stack_depot_entry *e;

	if (!cp_gate_is_open())
		key.shard |= APART;
	fill_input(in, !is_apart(&key));
	if (!cp_likely(scratch))
		return find_with_any(in, s, &key);
	e = find_entry(scratch, in, s, &key);
	give_own();
	return e;
}
