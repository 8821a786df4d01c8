/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of locks. A name is the variable that the lock is or lies in ("pool+0x28"); the module and
 * the offset in it, where the module has no symbol for the lock; or the address, for a lock on the
 * heap or a stack.
 *
 * For lock.c, under the collector's lock. An address keeps its name until the next start.
 */
#ifndef CP_LOCK_NAMES_H
#define CP_LOCK_NAMES_H

#include <stdint.h>

#include "profile/aggregate.h"

/* Name the tags of A's rows from FIRST on that have no name yet. A tag stays an address if its name
 * can't be found or memory is exhausted. */
void cp_lock_names_update(const struct cp_aggregate *a, size_t first);
/* Return the name of ADDRESS; NULL if it has none. */
const char *cp_lock_names_of(uint64_t address);
void cp_lock_names_release(void);
/* Abandon the names in a fork child; they are the parent's, perhaps half changed. */
void cp_lock_names_abandon(void);

#endif
