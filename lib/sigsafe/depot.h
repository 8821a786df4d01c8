/* Stacks that stay: each different one is kept once, with counters of what was allocated there
 * and freed again. Heap mode needs no ring: a sample is found here and counted, and the
 * collector reads the counters.
 *
 * Append-only, in our own pages, bounded; lock-free; async-signal-safe. An entry never moves
 * nor goes away. Entries of an older epoch are no longer found: each run (and fork child) begins
 * with counters of its own. Nor are those that lead through a module that went away: the same
 * addresses may be another's.
 *
 * | call  | by                     | orders                                                    |
 * |-------|------------------------|-----------------------------------------------------------|
 * | find  | any thread, in malloc  | release of the bucket's head: the entry is whole when seen |
 * | allocated, freed | any thread, in malloc | relaxed: independent sums; a block is freed after it
 * was allocated | | take_fresh | who holds the collector's lock | acquire of the list's head |
 * | retire | dlclose | release of the epoch: who sees it sees what went. Who may run another module
 * there waits for it first (gate.h) |
 */
#ifndef CP_DEPOT_H
#define CP_DEPOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sigsafe/atomic.h"

struct cp_depot_amount {
	uint64_t objects; /* in CP_POISSON_ONE */
	uint64_t bytes;
};

/* What every sample compares, as one word; written one by one. */
struct cp_depot_now {
	union {
		uint64_t word;
		struct {
			uint32_t epoch, peak_number;
		};
	};
};

#define CP_DEPOT_NOT_EXACT UINT8_MAX /* no shard's number */

struct cp_depot_entry {
	uint64_t hash;	/* 0: retired */
	uint32_t id;	/* of itself */
	uint32_t next;	/* id of the next in its bucket; 0 = none */
	uint32_t fresh; /* id of the next that the collector hasn't seen; 0 = none */
	uint16_t depth; /* program counters that follow */
	uint8_t end;	/* enum cp_unwind_end */
	uint8_t shard;
	uint8_t exact; /* SHARD, where INTERVAL is 1; else CP_DEPOT_NOT_EXACT */
	uint8_t pad[3];
	uint32_t row; /* the collector's: in the aggregate of its mode, plus 1 */
	/* The last epoch in which it was known to be found, and the number of PEAK. */
	struct cp_depot_now seen;
	uint64_t interval; /* mean bytes between samples, when its samples were taken */
	/* An entry may have an owner: the only thread that finds it, by its shard. */
	struct cp_depot_amount allocated, freed; /* freed: by the owner */
	struct cp_depot_amount freed_elsewhere;
	struct cp_depot_amount peak; /* in use at that peak */
	uint32_t labels;	     /* number of the thread's set: labelset.h */
	uint64_t pcs[];
};

struct cp_depot_key {
	const uint64_t *pcs;
	uint64_t hash;	/* of the pcs, by any function that is always the same */
	unsigned depth; /* >= 1 */
	uint8_t end;
	uint8_t shard; /* threads that count apart, so that they don't share cache lines */
	uint32_t labels;
	uint64_t interval;
};

/* An INTERVAL that says: not the heap's, but a mapping that the program made. */
#define CP_DEPOT_MAPPING 0

/* Ids fit into this many bits: they count units of 32 bytes, chunk number above, place in the chunk
 * below. */
#define CP_DEPOT_ID_BITS 24
#define CP_DEPOT_UNIT 32u
#define CP_DEPOT_UNITS (1u << 15)
/* 512 MiB: a million different stacks of 50 frames. */
#define CP_DEPOT_CHUNKS (1u << (CP_DEPOT_ID_BITS - 15))

/* What every sample reads. */
struct cp_depot_hot {
	char *chunks[CP_DEPOT_CHUNKS];
	struct cp_depot_now now;
};
extern struct cp_depot_hot cp_depot_hot __attribute__((visibility("hidden")));

/* The entry of K in this epoch, added when it is new; NULL: out of memory, or over the bound. */
struct cp_depot_entry *cp_depot_find(const struct cp_depot_key *k);

static inline struct cp_depot_entry *cp_depot_at(uint32_t id)
{
	/* Relaxed: who has an id got it by an acquire that followed the chunk's publication. */
	char *c = cp_load_relaxed(&cp_depot_hot.chunks[id / CP_DEPOT_UNITS]);

	return (struct cp_depot_entry *)(void *)(c + (size_t)(id % CP_DEPOT_UNITS) * CP_DEPOT_UNIT);
}

/* Each begins with something that went away; numbers only grow. */
static inline uint32_t cp_depot_epoch(void)
{
	return cp_load_acquire(&cp_depot_hot.now.epoch);
}
/* Those with a pc in [LOW, HIGH) are found no longer; they stay otherwise. None is looked at before
 * it is asked for next. */
void cp_depot_retire(uint64_t low, uint64_t high);
/* None is found any longer. */
void cp_depot_next_epoch(void);

/* The same as is_found, of one that was found in an epoch before: looks at what went since. */
bool cp_depot_is_found_still(struct cp_depot_entry *e);
static inline bool cp_depot_is_found(struct cp_depot_entry *e)
{
	return __builtin_expect(cp_load_relaxed(&e->seen.epoch) == cp_depot_epoch(), 1) ||
	       cp_depot_is_found_still(e);
}
/* It is found, and what it has is of after the last mark. */
static inline bool cp_depot_is_current(const struct cp_depot_entry *e)
{
	return cp_load_relaxed(&e->seen.word) == cp_load_acquire(&cp_depot_hot.now.word);
}

/* What is in use from here on is compared with this mark: the state of every entry as of now is
 * kept in its PEAK, copied when the entry changes next. Any context. */
void cp_depot_mark_peak(void);

void cp_depot_allocated(struct cp_depot_entry *e, uint64_t objects, uint64_t bytes);
void cp_depot_freed(struct cp_depot_entry *e, uint64_t objects, uint64_t bytes);

void cp_depot_keep_peak_now(struct cp_depot_entry *e);
static inline void cp_depot_keep_peak(struct cp_depot_entry *e)
{
	if (__builtin_expect(cp_load_relaxed(&cp_depot_hot.now.peak_number) !=
				     cp_load_relaxed(&e->seen.peak_number),
			     0))
		cp_depot_keep_peak_now(e);
}

static inline void cp_depot_add_own(struct cp_depot_amount *to, uint64_t objects, uint64_t bytes)
{
	cp_add_owned(&to->objects, objects);
	cp_add_owned(&to->bytes, bytes);
}

/* The same by the entry's owner. */
static inline void cp_depot_allocated_own(struct cp_depot_entry *e, uint64_t objects,
					  uint64_t bytes)
{
	cp_depot_keep_peak(e);
	cp_depot_add_own(&e->allocated, objects, bytes);
}

static inline void cp_depot_freed_own(struct cp_depot_entry *e, uint64_t objects, uint64_t bytes)
{
	cp_depot_keep_peak(e);
	cp_depot_add_own(&e->freed, objects, bytes);
}

/* In use now, and at the peak. */
struct cp_depot_amount cp_depot_in_use(const struct cp_depot_entry *e);
struct cp_depot_amount cp_depot_at_peak(const struct cp_depot_entry *e);

/* Called in malloc when CP_DEPOT_MANY entries were added that the collector hasn't seen; NULL =
 * nobody. Set before the first event. */
#define CP_DEPOT_MANY (1u << 12)
extern void (*cp_depot_wake)(void);

/* Under the collector's lock: bring those that were added since the last call to the others. */
void cp_depot_take_fresh(void);
bool cp_depot_has_fresh(void);
/* Call VISIT for those of any epoch that were brought after SINCE, newest first; 0: for all. The
 * id of the newest one, a SINCE to come. */
uint32_t cp_depot_each(uint32_t since, void (*visit)(struct cp_depot_entry *e, void *arg),
		       void *arg);

/* Bytes of ours that it takes. */
uint64_t cp_depot_mapped(void);

#endif
