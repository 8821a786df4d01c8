/* Interned text: each distinct string once, numbered in order of first use.
 *
 * Used by the profile writer for the string table, on one thread at a time; memory is
 * pages of its own. (Not called strings.h: that would shadow libc's <strings.h>.)
 */
#ifndef CP_INTERN_H
#define CP_INTERN_H

#include <stddef.h>
#include <stdint.h>

#include "sigsafe/pages.h"

struct cp_intern_entry {
	const char *text; /* in the arena, NUL behind it */
	uint32_t length;
	uint32_t hash;
};

/* Zeroed struct = empty. Invariant: slot_count is 0 or a power of two, and at most
 * three quarters of the slots are taken. */
struct cp_intern {
	struct cp_arena texts;
	struct cp_vec entries; /* struct cp_intern_entry; index = id */
	uint32_t *slots;       /* id + 1, 0 = free; linear probing */
	size_t slot_count;
};

/* Id (0..) of the N bytes at S, which are copied when new. 0, or -ENOMEM. */
int cp_intern_add(struct cp_intern *t, const char *s, size_t n, uint64_t *id);
void cp_intern_release(struct cp_intern *t);

#endif
