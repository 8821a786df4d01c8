/* Samples on their way from a thread to the collector: one ring a thread, single
 * producer (that thread, in its handler), single consumer (who holds the collector's
 * lock).
 *
 * Layout in 8-byte words: a record is a header and its program counters, never split:
 * when it doesn't fit before the end, a skip mark fills the rest. HEAD and TAIL only
 * grow; HEAD - TAIL <= words.
 *
 * | call    | by       | orders                                                  |
 * |---------|----------|---------------------------------------------------------|
 * | reserve | producer | acquire of TAIL: the consumer is done with those words  |
 * | commit  | producer | release of HEAD: the record is whole before it is seen  |
 * | mark, next | consumer | acquire of HEAD                                      |
 * | release | consumer | release of TAIL                                         |
 */
#ifndef CP_RING_H
#define CP_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sigsafe/mode.h"
#include "sigsafe/stackmem.h"

struct cp_record {
	uint32_t words;	 /* whole record, this header included; see cp_ring_next for skips */
	uint16_t depth;	 /* program counters that follow */
	uint8_t mode;	 /* enum cp_mode, or CP_RECORD_SKIP */
	uint8_t end;	 /* enum cp_unwind_end */
	uint64_t count;	 /* events that it stands for */
	uint64_t weight; /* and how much of what the mode measures, in the mode's unit */
	uint64_t tag;	 /* what else tells rows of this mode apart; 0 = nothing */
	uint32_t labels; /* the thread's, a number of labelset.h */
	uint32_t span;	 /* the one it was taken in, where slow ones are looked for (slow.h) */
	uint64_t pcs[];	 /* leaf first, in the form cp_unwinder.walk stores them */
};

#define CP_RECORD_SKIP 255u

struct cp_ring {
	uint64_t head;	   /* words ever written */
	uint64_t size;	   /* words of DATA, a power of two */
	uint64_t bytes;	   /* mapped, this header and the stack included */
	uint64_t last;	   /* where the newest record is, in words */
	uint64_t last_end; /* HEAD behind it; 0 = none was committed */
	uint64_t pad1[3];  /* the consumer's counters on a cache line of their own */
	uint64_t tail;
	uint64_t forgotten; /* records up to here are none of the producer's any more */
	uint64_t marked;    /* HEAD at the last mark; the consumer's */
	uint64_t pad2[5];
	uint64_t data[];
};

#define CP_RECORD_WORDS(depth) (sizeof(struct cp_record) / 8 + (depth))

/* Sets the size of rings for stacks of MAX_DEPTH frames. Before the first sample. */
void cp_ring_configure(unsigned max_depth);

/* The newest record, which is whole until the next reserve and commit; NULL if none was ever
 * committed, or it is forgotten. It may be deeper than what is reserved now. Producer. */
const struct cp_record *cp_ring_last(const struct cp_ring *r);

/* An empty ring from the pool, or newly mapped; NULL without memory. Lock-free. */
struct cp_ring *cp_ring_take(void);
/* Back to the pool (or unmapped when that is full). NULL is fine. */
void cp_ring_give(struct cp_ring *r);
/* In a fork child: unmap a ring whose content belongs to the parent. NULL is fine. */
void cp_ring_discard(struct cp_ring *r);

/* Behind the data: a stack for what fills a record, because the thread's own, or its alternate
 * one, may be small. CP_RING_STACK bytes below the top returned here; the producer's. */
#define CP_RING_STACK ((size_t)16 << 10)
static inline void *cp_ring_stack(struct cp_ring *r)
{
	return (char *)r + r->bytes;
}

/* Below that: pages that are touched only if they are used. */
static inline struct cp_stackmem_room *cp_ring_room(struct cp_ring *r)
{
	return (struct cp_stackmem_room *)((char *)cp_ring_stack(r) - CP_RING_STACK) - 1;
}

/* MAX_DEPTH, or what a ring from an earlier run with shallower stacks can take. */
unsigned cp_ring_depth(const struct cp_ring *r, unsigned max_depth);
/* Room for a record of MAX_DEPTH frames, or NULL when the ring is full. */
struct cp_record *cp_ring_reserve(struct cp_ring *r, unsigned max_depth);
/* The reserved record, with its DEPTH filled in, becomes visible. true when the
 * ring has become half full by it: time to wake the collector. */
bool cp_ring_commit(struct cp_ring *r, struct cp_record *record);

/* The oldest record, or NULL; stays the consumer's until cp_ring_release. */
struct cp_record *cp_ring_next(struct cp_ring *r);
/* Remember what the ring holds now; and the oldest of those records that is still there, or NULL. A
 * ring that was taken since holds none. */
void cp_ring_mark(struct cp_ring *r);
struct cp_record *cp_ring_next_marked(struct cp_ring *r);
/* The oldest record from the word *AT on (0 at first), which moves behind it; NULL at the end.
 * They stay to be taken. */
const struct cp_record *cp_ring_look(const struct cp_ring *r, uint64_t *at);
void cp_ring_release(struct cp_ring *r, const struct cp_record *record);
/* What was released until now is of an earlier run: cp_ring_last won't give it. Consumer. */
void cp_ring_forget(struct cp_ring *r);

#endif
