/* SPDX-License-Identifier: BSD-3-Clause */
/* clang-format off */
/* Lock holders: the unlocks that let a waiter go, kept until the delay that they caused is known.
 *
 * A wait is divided among unlocks. An unlock that came during the wait gets the part from the
 * wait's begin, or from the unlock before, to this unlock. The time until the waiter runs belongs
 * to the last unlock. So a thread that held the lock for long gets the delay of all threads that
 * waited for that long, including those that had to let other, short holders go first. The wait
 * counts for each unlock by its part.
 *
 * The unlocking thread publishes an entry under the lock's address before the real unlock, and puts
 * its stack into the entry afterwards, when the lock is free. A thread that gets the lock after a
 * wait finds the entries of the unlocks that came meanwhile, and adds to each the delay that it
 * caused.
 *
 * An entry's state is one word, changed by one atomic operation at a time: a generation, the number
 * of waiters that are adding right now, and flags.
 *
 * | from                  | to               | by                                               |
 * |-----------------------|------------------|--------------------------------------------------|
 * | free                  | TAKEN            | the owner, or its handler: no one else has it    |
 * | TAKEN                 | OPEN             | the same; lock, times and weight are set         |
 * | OPEN                  | one more adding  | a waiter, of the generation that it found        |
 * | adding                | one less         | the same, its delay is added                     |
 * | OPEN                  | STACK            | the owner: the record holds the stack            |
 * | OPEN STACK            | READ             | the collector, or an ending owner: takes out     |
 * | READ                  | OPEN STACK       | the same                                         |
 * | OPEN, no adding, READ | free, next gen.  | the owner: needs the place, takes out the rest   |
 *
 * A thread's entries are one mapped group, which passes to another thread when the thread ends;
 * waiters of its unlocks may arrive after that.
 */
/* clang-format on */
#ifndef CP_LOCK_HOLDER_H
#define CP_LOCK_HOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include "sample/ring.h"
#include "sample/thread.h"

struct cp_holder {
	uint64_t state;
	const void *lock;
	uint64_t since, time;  /* monotonic ns: the unlock before this one, or 0; this unlock */
	uint64_t weight;       /* number of unlocks that the entry represents */
	uint64_t waits, delay; /* added and not yet taken out; waits in units of 1/CP_HOLDER_WAIT */
	uint32_t number;       /* number of the entry */
	uint32_t thread;       /* index of the owner's record, or CP_HOLDER_ENDED */
	uint32_t depth;	       /* frames that fit into the record */
	char name[CP_THREAD_NAME]; /* name of a thread that has ended */
	struct cp_record *record;  /* in the same mapping */
};
#define CP_HOLDER_ENDED UINT32_MAX
#define CP_HOLDER_WAIT 65536u /* one whole wait */

/* Prepare a place for T's next entry, probably for LOCK, and fetch it into the cache, if there is a
 * free place. Owner. */
void cp_lock_holder_prepare(struct cp_thread *t, const void *lock);
bool cp_lock_holder_is_prepared(const struct cp_thread *t);
/* Open and publish an entry of T for an unlock of LOCK at NOW, which has left its time
 * (lock_unlock_log.h) and represents WEIGHT unlocks. Returns NULL if no place or no memory is free.
 * Owner. */
struct cp_holder *cp_lock_holder_open(struct cp_thread *t, const void *lock, uint64_t since,
				      uint64_t now, uint64_t weight);
/* Close H. STACK: H's record holds the stack. Otherwise the stack is missing or nothing was
 * unlocked, and H becomes free. Owner. */
void cp_lock_holder_close(struct cp_holder *h, bool stack);

/* Add the parts of wait W to the entries of the unlocks that caused it. Call when W is over, or
 * shortly after. Any thread. */
void cp_lock_holder_deliver(const struct cp_lock_wait *w);

/* Free the place that T needs next. Returns the entry whose record holds what was added and not
 * taken out, until T opens another; NULL if nothing was added. Owner. */
struct cp_holder *cp_lock_holder_make_room(struct cp_thread *t);
/* Take out the delay that was added to entry *NEXT or a later one before END; *NEXT moves after
 * that entry. Returns the entry, which the caller must give back; NULL if nothing was added. */
struct cp_holder *cp_lock_holder_read(uint32_t *next, uint32_t end);
void cp_lock_holder_give_back(struct cp_holder *h);
/* Set *FIRST and *END to the numbers of T's entries, for cp_lock_holder_read. */
void cp_lock_holder_range(const struct cp_thread *t, uint32_t *first, uint32_t *end);

/* Give back T's entries: T, called NAME, ends. Owner. */
void cp_lock_holder_thread_end(struct cp_thread *t, const char *name);
/* Discard all that was added until now, which belongs to an earlier run. */
void cp_lock_holder_forget(void);
/* Free all entries in a fork child, on its only thread. */
void cp_lock_holder_fork_child(void);

#endif
