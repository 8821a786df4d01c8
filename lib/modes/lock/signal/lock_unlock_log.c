/* SPDX-License-Identifier: BSD-3-Clause */
/* The last unlocks of locks; see lock_unlock_log.h. */
#include "modes/lock/signal/lock_unlock_log.h"

#include <string.h>

/* Most unlocks for which a lock is followed if the recorded unlocks don't come. Threads that sleep
 * for the lock are woken in turn, so each of that many threads unlocks it once. */
#define FOLLOWED 128u
/* Unlocks that are followed after the last recorded one: waiting threads see by the next unlock
 * that the recorded one wasn't the last. */
#define FOLLOWED_BEHIND 1u
/* A lock that wasn't seen for this long may be gone; another lock of its hash then takes its place.
 */
#define FORGOTTEN_MS 1000u

struct cp_lock_unlock_log cp_lock_follows[CP_LOCK_FOLLOWS];

void cp_lock_unlock_log_instead(const void *lock, uint64_t now, uint64_t ms)
{
	struct cp_lock_unlock_log *f = cp_lock_unlock_log_of(lock);

	if (cp_load_relaxed(&f->left) || now - cp_load_relaxed(&f->seen) < FORGOTTEN_MS * ms)
		return;
	cp_store_relaxed(&f->time, 0);
	cp_store_relaxed(&f->seen, now);
	cp_store_relaxed(&f->lock, lock);
}

void cp_lock_unlock_log_begin(const void *lock, uint64_t now)
{
	struct cp_lock_unlock_log *f = cp_lock_unlock_log_of(lock);
	uint32_t awaited = cp_lock_is_followed(lock) ? cp_load_relaxed(&f->awaited) : 0;

	cp_store_relaxed(&f->time, now);
	cp_store_relaxed(&f->lock, lock);
	cp_store_relaxed(&f->awaited, awaited + 1);
	cp_store_relaxed(&f->left, FOLLOWED);
}

void cp_lock_unlock_log_came(const void *lock)
{
	struct cp_lock_unlock_log *f = cp_lock_unlock_log_of(lock);
	uint32_t awaited = cp_load_relaxed(&f->awaited);

	if (awaited > 1) {
		cp_store_relaxed(&f->awaited, awaited - 1);
		return;
	}
	cp_store_relaxed(&f->awaited, 0);
	cp_store_relaxed(&f->left, FOLLOWED_BEHIND);
}

void cp_lock_unlock_log_behind(const void *lock)
{
	struct cp_lock_unlock_log *f = cp_lock_unlock_log_of(lock);

	if (cp_load_relaxed(&f->left) || cp_load_relaxed(&f->lock) != lock)
		return;
	cp_store_relaxed(&f->awaited, 0);
	cp_store_relaxed(&f->left, FOLLOWED_BEHIND);
}

uint64_t cp_lock_unlock_log_leave(const void *lock, uint64_t now)
{
	struct cp_lock_unlock_log *f = cp_lock_unlock_log_of(lock);
	uint64_t before = cp_lock_unlock_log_last(lock);
	uint32_t left = cp_load_relaxed(&f->left);

	if (left)
		cp_store_relaxed(&f->left, left - 1);
	cp_store_relaxed(&f->time, now);
	cp_store_relaxed(&f->lock, lock);
	return before;
}

void cp_lock_unlock_log_forget(void)
{
	memset(cp_lock_follows, 0, sizeof(cp_lock_follows));
}
