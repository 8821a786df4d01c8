/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of locks. A name is the variable that the lock is or lies in ("pool+0x28"); the module and
 * the offset in it, where the module has no symbol for the lock; or the address, for a lock on the
 * heap or a stack.
 *
 * For lock.c, lock_wakers.c and session/threads_now.c, under the collector's lock. An address keeps
 * its name until the release.
 */
#ifndef CP_LOCK_NAMES_H
#define CP_LOCK_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/index.h"
#include "base/vec.h"
#include "profile/aggregate.h"

/* A zeroed struct has no names. A fork child abandons its parent's, perhaps half changed, by
 * zeroing the struct. */
struct cp_lock_names {
	struct cp_arena arena;
	struct cp_vec items;   /* the addresses */
	struct cp_vec extents; /* where the modules' data is */
	struct cp_index index; /* of the items */
	size_t done;	       /* number of items that were looked up */
};

/* The names of the lock mode and its companions. */
extern struct cp_lock_names cp_lock_names_of_mode;

/* Note ADDRESS, whose name is wanted. WITHIN: it may be anywhere in the lock, which is then named
 * without an offset if it is a variable of its own. */
void cp_lock_names_note(struct cp_lock_names *n, uint64_t address, bool within);
/* Find the names of all noted addresses that have none yet. An address stays without a name if its
 * name can't be found or memory is exhausted. */
void cp_lock_names_find(struct cp_lock_names *n, const struct cp_modules *modules);
/* Both, for the tags of A's rows from FIRST on. */
void cp_lock_names_update(struct cp_lock_names *n, const struct cp_aggregate *a, size_t first);
/* Return the name of ADDRESS; NULL if it has none. */
const char *cp_lock_names_of(const struct cp_lock_names *n, uint64_t address);
void cp_lock_names_release(struct cp_lock_names *n);

#endif
