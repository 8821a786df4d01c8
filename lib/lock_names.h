/* What a lock is called: the variable that it is or lies in, "pool+0x28"; where its module has no
 * symbol for it, the module and the place in it; on the heap or a stack, its address.
 *
 * For lock.c, under the collector's lock. An address keeps its name until the next start.
 */
#ifndef CP_LOCK_NAMES_H
#define CP_LOCK_NAMES_H

#include <stdint.h>

#include "aggregate.h"

/* Name the tags of A's rows from FIRST on that have no name yet. What can't be found out, or for
 * want of memory isn't, stays an address. */
void cp_lock_names_update(const struct cp_aggregate *a, size_t first);
/* NULL: the address is all there is. */
const char *cp_lock_names_of(uint64_t address);
void cp_lock_names_release(void);
/* In a fork child: what is there is the parent's, perhaps half changed. */
void cp_lock_names_abandon(void);

#endif
