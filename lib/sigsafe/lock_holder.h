/* Who made others wait: unlocks that let a waiter go, until it is known what delay they caused.
 *
 * Of a wait, each part belongs to the unlock that ended it: the part from its begin, or from the
 * unlock before, to this unlock; what passes until the waiter runs belongs to the last one. So
 * who held the lock for long has the delay of all who waited for that long, also of those
 * that others, who held it shortly, had to go before. The wait counts for each by its part.
 *
 * The thread that unlocks publishes an entry under the lock's address, before the real unlock, and
 * puts its stack into it afterwards, when the lock is free. Who gets the lock after a wait finds
 * the entries of the unlocks that came meanwhile, and adds to each what it caused.
 *
 * An entry's state is one word, changed by one atomic operation at a time: a generation, the
 * number of waiters that are adding right now, and flags.
 *
 * | from                  | to               | by                                               |
 * |-----------------------|------------------|--------------------------------------------------|
 * | free                  | TAKEN            | the owner, or its handler: nobody else has it    |
 * | TAKEN                 | OPEN             | the same; lock, times and weight are set         |
 * | OPEN                  | one more adding  | a waiter, of the generation that it found        |
 * | adding                | one less         | the same, its delay is added                     |
 * | OPEN                  | STACK            | the owner: the record holds the stack            |
 * | OPEN STACK            | READ             | the collector, or an ending owner: takes out     |
 * | READ                  | OPEN STACK       | the same                                         |
 * | OPEN, no adding, READ | free, next gen.  | the owner: needs the place, takes out the rest   |
 *
 * A thread's entries are one mapped group, which goes to another thread when it ends; waiters of
 * its unlocks may come later than that.
 */
#ifndef CP_LOCK_HOLDER_H
#define CP_LOCK_HOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include "sigsafe/ring.h"
#include "sigsafe/thread.h"

struct cp_holder {
	uint64_t state;
	const void *lock;
	uint64_t since, time;	   /* monotonic ns: the unlock before, or 0; this one */
	uint64_t weight;	   /* unlocks that it stands for */
	uint64_t waits, delay;	   /* added, and not taken out yet; waits in CP_HOLDER_WAIT */
	uint32_t number;	   /* of the entry */
	uint32_t thread;	   /* index of the owner's record, or CP_HOLDER_ENDED */
	uint32_t depth;		   /* frames that fit into the record */
	char name[CP_THREAD_NAME]; /* what a thread was called that has ended */
	struct cp_record *record;  /* in the same mapping */
};
#define CP_HOLDER_ENDED UINT32_MAX
#define CP_HOLDER_WAIT 65536u /* a whole one */

/* A place for T's next entry, probably for LOCK, is made and is in the cache; if there is one.
 * Owner. */
void cp_holder_prepare(struct cp_thread *t, const void *lock);
bool cp_holder_is_prepared(const struct cp_thread *t);
/* An entry of T's for that unlock, which has left its time (lock_follow.h) and stands for WEIGHT of
 * them, published. NULL: none is free, or no memory. Owner. */
struct cp_holder *cp_holder_open(struct cp_thread *t, const void *lock, uint64_t since,
				 uint64_t now, uint64_t weight);
/* H's record holds the stack; or it doesn't, or nothing was unlocked, and H will be nobody's.
 * Owner. */
void cp_holder_close(struct cp_holder *h, bool stack);

/* W is over; shortly after its end at the latest. Any thread. */
void cp_holder_deliver(const struct cp_lock_wait *w);

/* Free the place that T needs next. What was added and not taken out is in the record of the entry
 * returned, until T opens another; NULL: nothing. Owner. */
struct cp_holder *cp_holder_make_room(struct cp_thread *t);
/* Take out what was added to entry *NEXT or a later one before END; *NEXT moves behind it. NULL:
 * nothing. Give it back. */
struct cp_holder *cp_holder_read(uint32_t *next, uint32_t end);
void cp_holder_give_back(struct cp_holder *h);
/* The entries of T, as numbers for the above. */
void cp_holder_range(const struct cp_thread *t, uint32_t *first, uint32_t *end);

/* T, called NAME, ends. Owner. */
void cp_holder_thread_end(struct cp_thread *t, const char *name);
/* What was added until now is of an earlier run. */
void cp_holder_forget(void);
/* In a fork child, on its only thread: all entries are free. */
void cp_holder_fork_child(void);

#endif
