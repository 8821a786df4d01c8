/* SPDX-License-Identifier: BSD-3-Clause */
/* clang-format off */
/* Which threads wait, by buckets of what they wait for, and which of their waits are drawn as
 * samples; wakes.h tells what for.
 *
 * A bucket's word counts the waits that are open. A thread that wakes reads the word, so that a
 * wake that nobody waits for costs no more than this.
 *
 * | data                  | written by                                | safe by                   |
 * |-----------------------|-------------------------------------------|---------------------------|
 * | a bucket's word       | waiting threads, the recount              | one atomic word           |
 * | a bucket's DRAWN      | the same                                  | one atomic word           |
 * | a thread's open wait  | the thread, its handlers                  | one atomic exchange       |
 *
 * A wait that is left by a cancellation or a jump stays open. The thread's next wait, or its end,
 * closes it; until then wakes of that bucket take a few ns longer. A handler may also jump away
 * while a wait is opened or closed, between the bucket's word and the thread's record. Then the word
 * counts a wait that no thread has, until the recount finds it.
 */
/* clang-format on */
#ifndef CP_WAITERS_H
#define CP_WAITERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "sample/thread.h"

#define CP_WAITERS_BITS 10
#define CP_WAITERS_BUCKETS (1u << CP_WAITERS_BITS)

struct cp_wakes_entries;

struct cp_waiters_bucket {
	/* The epoch of the newest wait; how many waits began in it, and how many before: 32, 16 and
	 * 16 bits. The lower half is 0 if nobody waits. */
	uint64_t word;
	/* For wakes.c. NEWEST: monotonic ns of the newest entry; 0: there was none. */
	uint64_t newest;
	struct cp_wakes_entries *entries;
	uint32_t drawn; /* drawn waits that are open */
	uint16_t draws; /* waits drawn in this window */
	uint8_t shift;	/* one wait in 2^SHIFT is drawn */
	uint8_t window; /* the window's number, its low bits */
};
extern struct cp_waiters_bucket cp_waiters_buckets[CP_WAITERS_BUCKETS];

static inline struct cp_waiters_bucket *cp_waiters_bucket_of(uint64_t key)
{
	return &cp_waiters_buckets[(key * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - CP_WAITERS_BITS)];
}

/* Return true if somebody may wait in B. */
static inline bool cp_waiters_awaited(const struct cp_waiters_bucket *b)
{
	return (uint32_t)cp_load_relaxed(&b->word) != 0;
}

/* Open a wait of T, the calling thread, in bucket B. BUDGET: draws per second and bucket, roughly.
 * Returns the weight of the wait as a sample; 0: it isn't drawn. Closes the wait that T had open.
 * Any context. */
uint32_t cp_waiters_open(struct cp_thread *t, struct cp_waiters_bucket *b, uint32_t budget);
/* Close the open wait of T, the calling thread or one that has ended; nothing if it has none. */
void cp_waiters_close(struct cp_thread *t);
/* Return true if one of the waits in B may become a sample: it was drawn, or lasts for a while. */
bool cp_waiters_are_needed(const struct cp_waiters_bucket *b);

/* Empty the buckets that count waits although no thread has one open there. Looks at most once a
 * second, and empties what didn't change between two looks. Under the collector's lock. */
void cp_waiters_recount(void);
/* In a fork child, on its only thread, with the record KEEP or NULL: nobody waits. Returns false if
 * nobody has ever waited. */
bool cp_waiters_fork_child(struct cp_thread *keep);

#endif
