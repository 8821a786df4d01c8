/* Buffers for a stack while it is unwound outside of a signal handler: too large for the stack of
 * the thread that calls malloc, and needed by threads that have no record of ours, too.
 *
 * Lock-free, async-signal-safe: a handler that allocates in the middle of a walk takes another one.
 */
#ifndef CP_SCRATCH_H
#define CP_SCRATCH_H

#include <stddef.h>
#include <stdint.h>

#include "sigsafe/atomic.h"
#include "sigsafe/memo.h"
#include "sigsafe/replay.h"
#include "sigsafe/stackmem.h"

#define CP_SCRATCH_DEPTH 4097

struct cp_scratch {
	uint32_t taken;
	uint32_t walked; /* frames of the last walk in PCS */
	uint32_t pad[14];
	struct cp_memo memo;
	struct cp_replay replays[CP_REPLAYS];
	uint64_t pcs[CP_SCRATCH_DEPTH];
	struct cp_stackmem_room room;
};

/* One that nobody uses; NULL: out of memory, or a thousand in use. *LAST is the number of the
 * one that the caller had last, tried first. */
struct cp_scratch *cp_scratch_take(uint16_t *last);
void cp_scratch_give(struct cp_scratch *s);

/* Number INDEX of CP_SCRATCH_OWNED more, not of the pool: the caller sees to it that one thread at
 * a time has it. NULL: out of memory. */
#define CP_SCRATCH_OWNED 256u
extern struct cp_scratch *cp_scratch_owned[CP_SCRATCH_OWNED] __attribute__((visibility("hidden")));
struct cp_scratch *cp_scratch_make_own(unsigned index);
static inline struct cp_scratch *cp_scratch_own(unsigned index)
{
	struct cp_scratch *s = cp_load_acquire(&cp_scratch_owned[index]);

	return __builtin_expect(s != NULL, 1) ? s : cp_scratch_make_own(index);
}

#endif
