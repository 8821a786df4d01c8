/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of lib/modes/heap/signal/, by the file that implements them. */
#ifndef CP_MODES_HEAP_SIGNAL_STACK_CACHE_H
#define CP_MODES_HEAP_SIGNAL_STACK_CACHE_H

#include "unwind/signal/rules.h"

/* tail_cache.c
 *
 * The last stack that was walked with an unwind buffer, kept to shorten the next walk. When every
 * allocation is sampled, a stack mostly ends as the previous stack did.
 *
 * Frames are kept with the registers that rules read (rules.h), outermost first. When a walk
 * reaches a frame with exactly the registers of a kept frame, it needs no further look-up of rules.
 * It is enough to check that every kept frame's rule, applied to the memory as it is now, gives the
 * next kept frame. These checks don't wait for each other, unlike the steps of a walk. The result
 * is always the same as that of the full walk.
 *
 * Only stacks of plain frames are kept; a frame without a cached rule is left to the unwinder. One
 * thread at a time uses a tail cache. No lock; no module memory is read.
 */

#define CP_TAIL_CACHE_DEPTH 512u

struct cp_stack_depot_entry;

struct cp_tail_cache {
	uint64_t epoch;	      /* if the epoch differs, the kept frames are dropped */
	uint32_t count;	      /* frames kept */
	uint32_t entry_depth; /* how many of the kept frames, from the outermost, form ENTRY's stack
			       */
	struct cp_stack_depot_entry *entry;		  /* NULL: unknown */
	struct cp_rule_frame frames[CP_TAIL_CACHE_DEPTH]; /* outermost first */
	uint32_t rules[CP_TAIL_CACHE_DEPTH];
	uint64_t hashes[CP_TAIL_CACHE_DEPTH]; /* hash of the stack up to this frame */
	uint64_t pcs[CP_TAIL_CACHE_DEPTH]; /* leaf first, the outermost at the end of the array */
	struct cp_rule_frame
		new_frames[CP_TAIL_CACHE_DEPTH]; /* frames of the current walk, leaf first */
	uint32_t new_rules[CP_TAIL_CACHE_DEPTH];
};

/* Walk from IN as cp_unwinder.walk does, and store the pcs in M->pcs. Returns the number of frames,
 * complete to the stack's start, or 0 if the walk isn't possible: then call the unwinder. MAX as in
 * cp_unwinder.walk. */
unsigned cp_tail_cache_walk(struct cp_tail_cache *m, const struct cp_unwind_input *in,
			    uint64_t epoch, unsigned max);

/* Return the pcs (leaf first) and the hash of the outermost DEPTH frames of the last walk. */
static inline const uint64_t *cp_tail_cache_pcs(const struct cp_tail_cache *m, unsigned depth)
{
	return m->pcs + CP_TAIL_CACHE_DEPTH - depth;
}

static inline uint64_t cp_tail_cache_hash(const struct cp_tail_cache *m, unsigned depth)
{
	return m->hashes[depth - 1];
}

/* Returns the same hash for any stack. */
uint64_t cp_tail_cache_hash_of(const uint64_t *pcs, unsigned depth);

/* stack_cache.c
 *
 * A cache of stack walks. When every allocation is sampled, most allocations come from a stack that
 * allocated a moment ago, and the walk needn't be made again.
 *
 * The result of a walk depends on the registers at its start, on the rules of its program counters,
 * and on the stack words that these rules read. So a walk is kept as the list of those words. As
 * long as every word has the same value, the stack is the same. Words on which nothing depends
 * (saved registers that no rule counts from) aren't listed, so one or two words per frame remain.
 *
 * The cache is filled from a walk of tail_cache.c, and only with stacks of plain frames within the
 * thread's own stack. One thread at a time uses a cache. The caller must make sure that no module
 * went away meanwhile.
 */

#define CP_STACK_CACHE_WORDS 1019u /* 16 KiB in all, of which short stacks touch one page */
#define CP_REPLAYS 16u

struct cp_stack_cache {
	struct cp_stack_depot_entry *entry; /* result of the walk; NULL: this place is empty */
	struct cp_rule_frame from;
	uint64_t low, high; /* the words lie in [low, high) */
	uint16_t count;
	uint16_t needed; /* registers of FROM, besides pc and sp, that the walk depends on */
	uint32_t vain;	 /* how often a walk that was kept here didn't match later */
	struct cp_rule_word
		words[CP_STACK_CACHE_WORDS + 1]; /* COUNT words, then one that never matches */
};
_Static_assert(sizeof(struct cp_stack_cache) <= 16384, "as large as is said");

/* Returns the place in R[CP_REPLAYS] for a stack that begins with SP and CALLER. Return addresses
 * may be any number; stack pointers are multiples of 16. */
static inline struct cp_stack_cache *cp_stack_cache_at(struct cp_stack_cache *r, uint64_t sp,
						       uint64_t caller)
{
	return &r[(sp / 16 + caller) % CP_REPLAYS];
}

CP_STACKMEM_RAW static inline bool cp_stack_cache_holds(const struct cp_stack_cache *r)
{
	const struct cp_rule_word *w = r->words;

	while (*(const cp_stackmem_word *)w->at == w->value)
		w++;
	return w == r->words + r->count;
}

static inline bool cp_stack_cache_begins_so(const struct cp_stack_cache *r,
					    const struct cp_regs *regs)
{
	return r->from.sp == regs->r[CP_REG_SP] && r->from.pc == regs->r[CP_REG_PC];
}

/* Would the walk from REGS repeat the walk that R holds? R must have an entry and must have been
 * filled by a thread with the same stack. */
static inline bool cp_stack_cache_is_of(const struct cp_stack_cache *r, const struct cp_regs *regs)
{
	return cp_stack_cache_begins_so(r, regs) && cp_rule_has_needed(&r->from, regs, r->needed) &&
	       cp_stack_cache_holds(r);
}

/* Returns the entry if the walk from IN would lead to it again; else NULL. */
static inline struct cp_stack_depot_entry *cp_stack_cache_find(struct cp_stack_cache *r,
							       const struct cp_unwind_input *in)
{
	if (!r->entry || r->low < in->stack_low || r->high > in->stack_high ||
	    !cp_stack_cache_is_of(r, &in->regs))
		return NULL;
	r->vain = 0;
	return r->entry;
}

/* The same if only a call is known: the walk begins at the caller. */
static inline bool cp_stack_cache_is_of_call(const struct cp_stack_cache *r,
					     const struct cp_call *call)
{
	return r->from.sp == call->sp && r->from.pc == call->pc &&
	       cp_rule_has_needed_of(&r->from, call, r->needed) && cp_stack_cache_holds(r);
}

static inline struct cp_stack_depot_entry *
cp_stack_cache_find_call(struct cp_stack_cache *r, const struct cp_unwind_input *in,
			 const struct cp_call *call)
{
	if (!r->entry || r->low < in->stack_low || r->high > in->stack_high ||
	    !cp_stack_cache_is_of_call(r, call))
		return NULL;
	r->vain = 0;
	return r->entry;
}

/* Keep M's last walk, which started from IN and led to E, if it is likely to be repeated. */
void cp_stack_cache_keep(struct cp_stack_cache *r, const struct cp_tail_cache *m,
			 const struct cp_unwind_input *in, struct cp_stack_depot_entry *e);
/* Keep the outermost DEPTH frames of M's last walk, which begin with CALL's frame. */
void cp_stack_cache_keep_call(struct cp_stack_cache *r, const struct cp_tail_cache *m,
			      const struct cp_unwind_input *in, const struct cp_call *call,
			      unsigned depth, struct cp_stack_depot_entry *e);

/* heap_stack.c
 *
 * Buffers for unwinding a stack outside of a signal handler. A buffer is too large for the stack of
 * a thread that calls malloc. Threads that have no cp_thread record need one, too.
 *
 * Lock-free, async-signal-safe: a handler that allocates during a walk takes another buffer.
 */

#define CP_UNWIND_BUFFER_DEPTH 4097

struct cp_unwind_buffer {
	uint32_t taken;
	uint32_t walked; /* number of frames of the last walk in PCS */
	uint32_t pad[14];
	struct cp_tail_cache memo;
	struct cp_stack_cache replays[CP_REPLAYS];
	uint64_t pcs[CP_UNWIND_BUFFER_DEPTH];
	struct cp_stackmem_room room;
};

/* Returns a buffer that no thread uses, or NULL if there is no memory or a thousand are in use.
 * *LAST is the number of the buffer that the caller had last, which is tried first. */
struct cp_unwind_buffer *cp_heap_stack_take_buffer(uint16_t *last);
void cp_heap_stack_give_buffer(struct cp_unwind_buffer *s);

/* Returns buffer INDEX of CP_UNWIND_BUFFER_OWNED further buffers, which are not in the pool. The
 * caller must make sure that one thread at a time uses it. Returns NULL if there is no memory. */
#define CP_UNWIND_BUFFER_OWNED 256u
extern struct cp_unwind_buffer *cp_unwind_buffer_owned[CP_UNWIND_BUFFER_OWNED]
	__attribute__((visibility("hidden")));
struct cp_unwind_buffer *cp_heap_stack_make_own_buffer(unsigned index);
static inline struct cp_unwind_buffer *cp_unwind_buffer_own(unsigned index)
{
	struct cp_unwind_buffer *s = cp_load_acquire(&cp_unwind_buffer_owned[index]);

	return __builtin_expect(s != NULL, 1) ? s : cp_heap_stack_make_own_buffer(index);
}

#endif
