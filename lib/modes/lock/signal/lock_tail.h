/* SPDX-License-Identifier: BSD-3-Clause */
/* clang-format off */
/* The frame that a stack of an unlock lacks: a function that ends with the unlock may jump to it (a
 * tail call), and then the function is no longer on the stack. Compilers do that at -O2 to every
 * lock_guard at the end of a function.
 *
 * The unlock returns to the caller of that function. The call instruction before that address tells
 * which frame is missing:
 *
 * | called                      | the frame that is missing            |
 * |-----------------------------|--------------------------------------|
 * | the unlock                  | none                                 |
 * | another function            | this function: its first address     |
 * | unknown: through a register | unknown: the stack stays as it is    |
 */
/* clang-format on */
#ifndef CP_LOCK_TAIL_H
#define CP_LOCK_TAIL_H

#include "sample/ring.h"

struct cp_lock_unlock_call {
	const void *function; /* the interposed unlock function; NULL: nothing is missing */
	const void *caller;   /* its return address */
};

/* Add the missing frame to RECORD, the stack of a CALL that unlocked a lock. RECORD has room for
 * DEPTH frames. */
void cp_lock_tail_add(const struct cp_lock_unlock_call *call, struct cp_record *record,
		      unsigned depth);

#endif
