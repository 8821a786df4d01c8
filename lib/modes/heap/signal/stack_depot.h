/* SPDX-License-Identifier: BSD-3-Clause */
/* clang-format off */
/* The stack depot keeps each distinct stack once, with counters of the memory that was allocated
 * there and freed again. The heap mode needs no ring: a sample finds its entry here and counts,
 * and the collector reads the counters.
 *
 * The frames of all stacks are a tree of groups: a group's parent is its callers, so that stacks
 * share the outer frames that they have in common. An entry leads to its stack's innermost group.
 *
 * Append-only, in own pages, bounded; lock-free; async-signal-safe. An entry never moves and never
 * goes away. Entries of an older epoch are no longer found: each run (and each fork child) begins
 * with new counters. Entries that lead through a module that went away are no longer found either,
 * because the same addresses may belong to another module later.
 *
 * | call       | by                             | memory order                                   |
 * |------------|--------------------------------|------------------------------------------------|
 * | find       | any thread, in malloc          | release of the bucket's head, and of the link  |
 * |            |                                | to a group: what is seen is complete           |
 * | allocated, | any thread, in malloc          | relaxed: independent sums; a block is freed    |
 * | freed      |                                | after it was allocated                         |
 * | take_fresh | holder of the collector's lock | acquire of the list's head                     |
 * | retire     | dlclose                        | release of the epoch: a thread that sees it also|
 * |            |                                | sees what went away. Code of another module can|
 * |            |                                | run there only after waiting for it (sample.h)   |
 */
/* clang-format on */
#ifndef CP_STACK_DEPOT_H
#define CP_STACK_DEPOT_H

#include <stddef.h>

#include "base/atomic.h"

struct cp_stack_depot_amount {
	uint64_t objects; /* in CP_POISSON_ONE */
	uint64_t bytes;
};

/* Every sample compares both values as one word; they are written separately. */
struct cp_stack_depot_now {
	union {
		uint64_t word;
		struct {
			uint32_t epoch, peak_number;
		};
	};
};

#define CP_STACK_DEPOT_NOT_EXACT UINT8_MAX /* not the number of any shard */

struct cp_stack_depot_entry {
	uint64_t hash;	 /* 0: retired */
	uint32_t frames; /* the innermost group */
	uint32_t id;	 /* the entry's own id */
	uint32_t next;	 /* id of the next entry in its bucket; 0 = last */
	uint32_t fresh;	 /* id of the next entry that the collector hasn't seen; 0 = last */
	uint16_t depth;	 /* number of program counters */
	uint8_t end;	 /* enum cp_unwind_end */
	uint8_t shard;
	uint8_t exact; /* SHARD if INTERVAL is 1; else CP_STACK_DEPOT_NOT_EXACT */
	uint8_t pad[3];
	uint32_t row;	 /* for the collector: row in its mode's aggregate, plus 1 */
	uint32_t labels; /* number of the thread's label set; see thread.h */
	/* The last epoch in which the entry was found valid, and the number of PEAK. */
	struct cp_stack_depot_now seen;
	uint64_t interval; /* mean bytes between samples, when its samples were taken */
	/* An entry may have an owner: the only thread that finds it, because of its shard. */
	struct cp_stack_depot_amount allocated, freed; /* FREED is written by the owner */
	struct cp_stack_depot_amount freed_elsewhere;
	struct cp_stack_depot_amount peak; /* amount in use at the peak whose number is in SEEN */
};

struct cp_stack_depot_key {
	const uint64_t *pcs;
	/* Hash of the pcs, by any good function of 64 bits that always gives the same result.
	 * Stacks with the same hash are the same. */
	uint64_t hash;
	unsigned depth; /* >= 1 */
	uint8_t end;
	uint8_t shard; /* threads with different shards count separately, so that they don't share
			  cache lines */
	uint32_t labels;
	uint64_t interval;
};

/* The INTERVAL of an entry for a mapping that the program made. */
#define CP_STACK_DEPOT_MAPPING 0

/* With this bit, the entry is of blocks that were freed: INTERVAL is that of the allocation, the
 * stack is the free's, a mark, and the allocation's, and LABELS says how long the blocks lived
 * (heap_signal.h). */
#define CP_STACK_DEPOT_FREED (UINT64_C(1) << 62)
#define CP_STACK_DEPOT_MARK (UINT64_C(1) << 63 | 1)

/* The INTERVAL of an entry for a block on a page of the census (census.h). */
#define CP_STACK_DEPOT_CENSUS (UINT64_C(1) << 61)

/* The most frames of a stack. */
#define CP_STACK_DEPOT_DEPTH 4097u

/* Ids fit into 24 bits. They number entries, by chunks of 896 KiB, up to 448 MiB. */
#define CP_STACK_DEPOT_PER_CHUNK (1u << 13)
#define CP_STACK_DEPOT_CHUNKS (1u << 9)

/* Data that every sample reads. Two variables, because NOW does not begin as zeros: in one with it
 * the chunks would take 4 KiB of the library's file. */
extern void *cp_stack_depot_chunks[CP_STACK_DEPOT_CHUNKS] __attribute__((visibility("hidden")));
extern struct cp_stack_depot_now cp_stack_depot_now __attribute__((visibility("hidden")));

/* Stores E's program counters, leaf first, MOST at most. */
void cp_stack_depot_pcs(const struct cp_stack_depot_entry *e, uint64_t *pcs, unsigned most);

/* Returns the entry of K in this epoch, and adds it if it is new. Returns NULL if there is no
 * memory or the depot is full. */
struct cp_stack_depot_entry *cp_stack_depot_find(const struct cp_stack_depot_key *k);

static inline struct cp_stack_depot_entry *cp_stack_depot_at(uint32_t id)
{
	/* Relaxed: a thread that has an id got it by an acquire that followed the chunk's
	 * publication. */
	struct cp_stack_depot_entry *c =
		cp_load_relaxed(&cp_stack_depot_chunks[id / CP_STACK_DEPOT_PER_CHUNK]);

	return &c[id % CP_STACK_DEPOT_PER_CHUNK];
}

/* Every epoch begins with an entry or module going away. Numbers only grow. */
static inline uint32_t cp_stack_depot_epoch(void)
{
	return cp_load_acquire(&cp_stack_depot_now.epoch);
}
/* Retire entries with a pc in [LOW, HIGH): they are no longer found, but stay in memory. Each entry
 * is checked only when it is looked up next. */
void cp_stack_depot_retire(uint64_t low, uint64_t high);
/* Retire all entries. */
void cp_stack_depot_next_epoch(void);

/* The same as is_found, for an entry that was last found in an earlier epoch: checks it against the
 * ranges that were retired since. */
bool cp_stack_depot_is_found_still(struct cp_stack_depot_entry *e);
static inline bool cp_stack_depot_is_found(struct cp_stack_depot_entry *e)
{
	return __builtin_expect(cp_load_relaxed(&e->seen.epoch) == cp_stack_depot_epoch(), 1) ||
	       cp_stack_depot_is_found_still(e);
}
/* Is the entry valid, and are its counters newer than the last peak mark? */
static inline bool cp_stack_depot_is_current(const struct cp_stack_depot_entry *e)
{
	return cp_load_relaxed(&e->seen.word) == cp_load_acquire(&cp_stack_depot_now.word);
}

/* Mark a peak: every entry's state as of now is its PEAK, which is copied when the entry next
 * changes. Any context. */
void cp_stack_depot_mark_peak(void);

void cp_stack_depot_allocated(struct cp_stack_depot_entry *e, uint64_t objects, uint64_t bytes);
void cp_stack_depot_freed(struct cp_stack_depot_entry *e, uint64_t objects, uint64_t bytes);

void cp_stack_depot_keep_peak_now(struct cp_stack_depot_entry *e);
static inline void cp_stack_depot_keep_peak(struct cp_stack_depot_entry *e)
{
	if (__builtin_expect(cp_load_relaxed(&cp_stack_depot_now.peak_number) !=
				     cp_load_relaxed(&e->seen.peak_number),
			     0))
		cp_stack_depot_keep_peak_now(e);
}

static inline void cp_stack_depot_add_own(struct cp_stack_depot_amount *to, uint64_t objects,
					  uint64_t bytes)
{
	cp_add_local(&to->objects, objects);
	cp_add_local(&to->bytes, bytes);
}

/* The same for the entry's owner. */
static inline void cp_stack_depot_allocated_own(struct cp_stack_depot_entry *e, uint64_t objects,
						uint64_t bytes)
{
	cp_stack_depot_keep_peak(e);
	cp_stack_depot_add_own(&e->allocated, objects, bytes);
}

static inline void cp_stack_depot_freed_own(struct cp_stack_depot_entry *e, uint64_t objects,
					    uint64_t bytes)
{
	cp_stack_depot_keep_peak(e);
	cp_stack_depot_add_own(&e->freed, objects, bytes);
}

/* Return the amount in use now, and at the last marked peak. */
struct cp_stack_depot_amount cp_stack_depot_in_use(const struct cp_stack_depot_entry *e);
struct cp_stack_depot_amount cp_stack_depot_at_peak(const struct cp_stack_depot_entry *e);

/* Called in malloc when CP_STACK_DEPOT_MANY entries were added that the collector hasn't seen; NULL
 * = no call. Set before the first event. */
#define CP_STACK_DEPOT_MANY (1u << 12)
extern void (*cp_stack_depot_wake)(void);

/* Move the entries that were added since the last call to the list that each visits. Call with the
 * collector's lock held. */
void cp_stack_depot_take_fresh(void);
bool cp_stack_depot_has_fresh(void);
/* Forget all entries, in a fork child: they are in older epochs, and each would cost a page. */
void cp_stack_depot_fork_child(void);
/* Call VISIT for entries of any epoch that take_fresh added after SINCE, newest first; 0: all
 * entries. Returns the id of the newest entry, to be passed as SINCE next time. */
uint32_t cp_stack_depot_each(uint32_t since,
			     void (*visit)(struct cp_stack_depot_entry *e, void *arg), void *arg);

/* Returns the bytes that the depot maps. */
uint64_t cp_stack_depot_mapped(void);

#endif
