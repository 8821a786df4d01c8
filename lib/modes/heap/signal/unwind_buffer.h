/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers for unwinding a stack outside of a signal handler. A buffer is too large for the stack of
 * a thread that calls malloc. Threads that have no cp_thread record need one, too.
 *
 * Lock-free, async-signal-safe: a handler that allocates during a walk takes another buffer.
 */
#ifndef CP_UNWIND_BUFFER_H
#define CP_UNWIND_BUFFER_H

#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "modes/heap/signal/tail_cache.h"
#include "modes/heap/signal/stack_cache.h"
#include "sample/stackmem.h"

#define CP_UNWIND_BUFFER_DEPTH 4097

struct cp_unwind_buffer {
	uint32_t taken;
	uint32_t walked; /* number of frames of the last walk in PCS */
	uint32_t pad[14];
	struct cp_tail_cache memo;
	struct cp_stack_cache replays[CP_REPLAYS];
	uint64_t pcs[CP_UNWIND_BUFFER_DEPTH];
	struct cp_stackmem_room room;
};

/* Returns a buffer that no thread uses, or NULL if there is no memory or a thousand are in use.
 * *LAST is the number of the buffer that the caller had last, which is tried first. */
struct cp_unwind_buffer *cp_unwind_buffer_take(uint16_t *last);
void cp_unwind_buffer_give(struct cp_unwind_buffer *s);

/* Returns buffer INDEX of CP_UNWIND_BUFFER_OWNED further buffers, which are not in the pool. The
 * caller must make sure that one thread at a time uses it. Returns NULL if there is no memory. */
#define CP_UNWIND_BUFFER_OWNED 256u
extern struct cp_unwind_buffer *cp_unwind_buffer_owned[CP_UNWIND_BUFFER_OWNED]
	__attribute__((visibility("hidden")));
struct cp_unwind_buffer *cp_unwind_buffer_make_own(unsigned index);
static inline struct cp_unwind_buffer *cp_unwind_buffer_own(unsigned index)
{
	struct cp_unwind_buffer *s = cp_load_acquire(&cp_unwind_buffer_owned[index]);

	return __builtin_expect(s != NULL, 1) ? s : cp_unwind_buffer_make_own(index);
}

#endif
