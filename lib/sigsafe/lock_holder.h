/* Who made others wait: the unlocks that let a waiter go, until it is known what delay they caused.
 *
 * The thread that unlocks publishes an entry under the lock's address, before the real unlock, and
 * puts its stack into it afterwards, when the lock is free. Who gets the lock after a wait finds
 * the entry, and adds its delay. So the whole delay of a wait belongs to the unlock that ended it,
 * also where others held the lock during its first part; and only an unlock that came while it
 * lasted can have ended it. Of a mutex one waiter adds its delay to an unlock; of a read-write lock
 * all the readers do that it let go.
 *
 * An entry's state is one word, changed by one atomic operation at a time: a generation, the
 * number of waiters that are adding right now, and flags.
 *
 * | from                       | to               | by                                        |
 * |----------------------------|------------------|-------------------------------------------|
 * | free                       | OPEN             | the owner; lock, time and weight are set  |
 * | OPEN                       | one more adding  | a waiter, of the generation it found      |
 * | adding                     | DELIVERED        | the same, its delay is added              |
 * | OPEN                       | STACK            | the owner: the record holds the stack     |
 * | STACK DELIVERED, no adding | TAKEN            | the owner or the collector, which reads   |
 * | TAKEN                      | free, next gen.  | the same                                  |
 * | not DELIVERED, no adding   | free, next gen.  | the owner: nobody came, or not unlocked   |
 *
 * A thread's entries are one mapped group, which goes to another thread when it ends.
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
	uint64_t time;	 /* monotonic ns, before the unlock */
	uint64_t weight; /* unlocks that it stands for */
	uint64_t waiters, delay;
	uint32_t number;	  /* of the entry */
	uint32_t thread;	  /* index of the owner's record */
	uint32_t depth;		  /* frames that fit into the record */
	struct cp_record *record; /* in the same mapping */
};

/* An entry of T's for an unlock of LOCK at NOW that stands for WEIGHT of them, published. NULL:
 * none is free, or no memory. Owner, the lock is held. */
struct cp_holder *cp_holder_open(struct cp_thread *t, const void *lock, uint64_t now,
				 uint64_t weight);
/* This unlock of LOCK has no entry, nor has its waiter that of an earlier one. */
void cp_holder_hide(const void *lock);
/* H's record holds the stack; or it doesn't, or nothing was unlocked: then H is free, or, where a
 * waiter was faster, of depth 0. Owner. */
void cp_holder_close(struct cp_holder *h, bool stack);

/* A wait for LOCK that began at BEGAN has ended after DELAY ns. SHARED: others may have got it with
 * the same unlock. Any thread. */
void cp_holder_deliver(const void *lock, uint64_t began, uint64_t delay, bool shared);

/* A complete entry of T's, taken; its record is whole. NULL: there is none. ALL: otherwise only one
 * whose place will be needed next, for more waiters may come. Owner. */
struct cp_holder *cp_holder_take_own(struct cp_thread *t, bool all);
/* The same of any thread, from number *NEXT on, which moves behind it. Collector. */
struct cp_holder *cp_holder_take_any(uint32_t *next);
void cp_holder_free(struct cp_holder *h);

/* T ends. What is complete was taken. Owner, or whoever ends its record. */
void cp_holder_thread_end(struct cp_thread *t);
/* What is complete is of an earlier run. */
void cp_holder_drop_complete(void);
/* In a fork child, where KEEP is the only thread: all entries are free. */
void cp_holder_fork_child(struct cp_thread *keep);

#endif
