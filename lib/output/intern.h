/* SPDX-License-Identifier: BSD-3-Clause */
/* Interned text: each distinct string once, numbered in order of first use.
 *
 * The profile writer uses this for the string table, on one thread at a time. Memory comes from its
 * own pages. (Not called strings.h, which would shadow libc's <strings.h>.)
 */
#ifndef CP_INTERN_H
#define CP_INTERN_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"

struct cp_intern_entry {
	const char *text; /* in the arena, followed by NUL */
	uint32_t length;
	uint32_t hash;
};

/* A zeroed struct is an empty table. Invariant: slot_count is 0 or a power of two, and at most
 * three quarters of the slots are taken. */
struct cp_intern {
	struct cp_arena texts;
	struct cp_vec entries; /* struct cp_intern_entry; index = id */
	uint32_t *slots;       /* id + 1, 0 = free; linear probing */
	size_t slot_count;
};

/* Set *ID to the id (0..) of the N bytes at S, which are copied if they are new. Returns 0 or
 * -ENOMEM. */
int cp_intern_add(struct cp_intern *t, const char *s, size_t n, uint64_t *id);
void cp_intern_release(struct cp_intern *t);

#endif
