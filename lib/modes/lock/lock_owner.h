/* SPDX-License-Identifier: BSD-3-Clause */
/* Who has a lock, as libc writes it into the lock.
 *
 * The lock's memory is copied by the kernel, so an address that is gone, or was never a lock's, is
 * no fault. Works whether or not the lock mode is on. Any context.
 */
#ifndef CP_LOCK_OWNER_H
#define CP_LOCK_OWNER_H

#include <stdint.h>

struct cp_lock_owner {
	int tid;	  /* of the thread that has the lock to itself; 0 = none, or unknown */
	unsigned readers; /* threads that share a read-write lock */
};

/* Return the owner of the mutex at LOCK. The thread wrote its id when it had got the mutex, and
 * takes it out before it unlocks. So the id is true as long as that thread does nothing else. */
struct cp_lock_owner cp_lock_owner_of_mutex(uint64_t lock);
/* The same for the read-write lock at LOCK; the writer is the owner. */
struct cp_lock_owner cp_lock_owner_of_rwlock(uint64_t lock);

#endif
