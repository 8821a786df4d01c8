/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of live blocks: sampled and not freed yet; address → size and depot entry.
 *
 * Lock-free, async-signal-safe, in own pages. A slot takes 16 bytes. The table consists of a few
 * generations, each larger than the one before. When an address finds no free slot, another
 * generation is added; nothing ever moves. In a generation, an address is in one of six buckets of
 * one cache line each, nearly always in the first. For each bucket, counters tell how many
 * addresses belong there but are in another bucket. So a look-up reads a bounded number of cache
 * lines, mostly one per generation, and a removed slot is simply empty.
 *
 * insert: called by the thread that got the address from the allocator, before the program has the
 * address. It claims a slot, writes it, and releases its address. remove: called by the thread that
 * frees the block, before the allocator has it back. So one thread at a time handles an address,
 * and only claiming needs a locked instruction.
 */
#ifndef CP_LIVE_H
#define CP_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cp_live_block {
	uint64_t size; /* below 2^40 */
	uint32_t id;   /* of its depot entry, below 2^24, not 0 */
	/* Kept only after cp_live_keep_births(true); otherwise ignored, and 0 in what is returned.
	 */
	uint64_t born; /* cp_ticks() at the allocation, or as lifetimes.h has it; 0 = not known */
};

#define CP_LIVE_SIZE_MAX (UINT64_C(1) << 40)

/* Set the number of slots of the first generation, a power of two. No effect after the first
 * insert. */
void cp_live_configure(size_t slots);

/* Decide whether BORN is kept with each block that is inserted from now on. While it is kept, the
 * fast path of live_hot.h finds no place and no block, so that every call comes here. Call when a
 * run starts. */
void cp_live_keep_births(bool keep);

/* Begin to fetch the place of ADDRESS, which will be inserted soon. */
void cp_live_prefetch(uint64_t address);
/* Insert ADDRESS. Returns false if there is no memory or the table is full. If OLD->id is not 0,
 * the address was already in the table: the free of *OLD was not seen, and *OLD was removed in any
 * case. */
bool cp_live_insert(uint64_t address, const struct cp_live_block *b, struct cp_live_block *old);
/* Remove ADDRESS and set *B. Returns false if the address isn't in the table. */
bool cp_live_remove(uint64_t address, struct cp_live_block *b);

/* The same without removing the block. Only for the block's owner, which must not free it
 * meanwhile. */
bool cp_live_peek(uint64_t address, struct cp_live_block *b);

/* Returns the bytes that the table maps, whether touched or not. */
uint64_t cp_live_mapped(void);

/* Call VISIT for each block in the table. Other threads may insert and remove blocks meanwhile. */
void cp_live_each(void (*visit)(uint64_t address, const struct cp_live_block *b, void *arg),
		  void *arg);

#endif
