/* The blocks that were sampled and are not freed yet: address → size and where it came from.
 *
 * Lock-free, async-signal-safe, in our own pages. A slot takes 16 bytes. The table is a few
 * generations, each larger than the one before: when an address finds no place, another generation
 * is added, and nothing ever moves. An address is in one of four buckets, of a cache line each, in
 * a generation, nearly always in the first of them: a count for each bucket tells of those that
 * belong there and are in another. So a look-up reads a bounded number of cache lines, mostly one a
 * generation, and a removed slot is simply empty.
 *
 * insert: by who got the address from the allocator, before the program has it: claims a slot,
 * writes it, releases its address. remove: by who frees it, before the allocator has it back. So an
 * address is one thread's at a time, and only claiming needs a locked instruction.
 */
#ifndef CP_LIVE_H
#define CP_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cp_live_block {
	uint64_t size; /* below 2^40 */
	uint32_t id;   /* of its depot entry, below 2^24, not 0 */
};

#define CP_LIVE_SIZE_MAX (UINT64_C(1) << 40)

/* Slots of the first generation, a power of two: before the first insert, or without effect. */
void cp_live_configure(size_t slots);

/* ADDRESS will be put in soon: begin to fetch its place. */
void cp_live_prefetch(uint64_t address);
/* false: out of memory, or over the bound. OLD->id is not 0 when the address was there: the free
 * of *OLD wasn't seen; it is there no longer, in any case. */
bool cp_live_insert(uint64_t address, const struct cp_live_block *b, struct cp_live_block *old);
/* false: it isn't there. */
bool cp_live_remove(uint64_t address, struct cp_live_block *b);

/* The same without removing it: for the block's owner, who doesn't free it meanwhile. */
bool cp_live_peek(uint64_t address, struct cp_live_block *b);

/* Bytes of ours that it takes, were all of it touched. */
uint64_t cp_live_mapped(void);

/* Calls VISIT for each block that is there; others come and go meanwhile. */
void cp_live_each(void (*visit)(uint64_t address, const struct cp_live_block *b, void *arg),
		  void *arg);

#endif
