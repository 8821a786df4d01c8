/* SPDX-License-Identifier: BSD-3-Clause */
/* How long blocks live, and who frees them (CPROF_HEAP_VIEWS=lifetimes).
 *
 * The table of live blocks keeps a birth for each block: the time in units of 8 us, and the thread.
 * When a sampled block is freed, its depot entry is that of both stacks, and of the class below.
 * Called inside malloc and free; lock_clock.h has the clock.
 */
#ifndef CP_LIFETIMES_H
#define CP_LIFETIMES_H

#include <stdbool.h>
#include <stdint.h>

#include "modes/heap/signal/live.h"
#include "modes/heap/signal/stack_depot.h"

#define CP_LIFETIMES_TID_BITS 22   /* the kernel's most */
#define CP_LIFETIMES_TIME_SHIFT 13 /* ns in a unit of time */

enum cp_lifetimes_thread {
	CP_LIFETIMES_UNKNOWN,
	CP_LIFETIMES_SAME,
	CP_LIFETIMES_OTHER,
	CP_LIFETIMES_ALIVE, /* not freed yet: the age so far */
};

/* A class of lifetimes: a power of two ns that they have reached, and who freed the block. Never
 * 0. */
static inline uint32_t cp_lifetimes_class(uint64_t ns, enum cp_lifetimes_thread by)
{
	uint32_t power = ns >> CP_LIFETIMES_TIME_SHIFT ? 63 - (uint32_t)__builtin_clzl(ns) : 0;

	return UINT32_C(1) << 8 | (uint32_t)by << 6 | power;
}

static inline int64_t cp_lifetimes_ns(uint64_t class)
{
	return class & 63 ? (int64_t)1 << (class & 63) : 0;
}

static inline enum cp_lifetimes_thread cp_lifetimes_by(uint64_t class)
{
	return (enum cp_lifetimes_thread)(class >> 6 & 3);
}

/* Returns the birth of a block that the calling thread allocates now. */
uint64_t cp_lifetimes_birth(void);
/* Returns the ns at which a block with this birth was allocated: the middle of its unit, so that
 * lifetimes are right on average. */
static inline uint64_t cp_lifetimes_born_ns(uint64_t birth)
{
	return (birth >> CP_LIFETIMES_TID_BITS << CP_LIFETIMES_TIME_SHIFT) +
	       (UINT64_C(1) << (CP_LIFETIMES_TIME_SHIFT - 1));
}
/* Block B of entry E is being freed by the calling thread. */
void cp_lifetimes_freed(const struct cp_stack_depot_entry *e, const struct cp_live_block *b);

#endif
