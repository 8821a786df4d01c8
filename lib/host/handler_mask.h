/* SPDX-License-Identifier: BSD-3-Clause */
/* The masks of the program's handlers, where the kernel's mask differs from the one that the
 * program set.
 *
 * - A handler on an alternate stack has SIGPROF blocked if an alternate stack of the program is so
 *   small that it has room for one frame only. On other alternate stacks the profiler makes room
 *   for samples when the handler is called (chained.h).
 * - A handler that blocks CP_DEFERRED_MARKER but not SIGPROF runs without the marker blocked. The
 *   mask would otherwise say that the program blocks SIGPROF (host/signal/deferred.h).
 */
#ifndef CP_HANDLER_MASK_H
#define CP_HANDLER_MASK_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* The state of one call of sigaction. */
struct cp_handler_mask {
	struct sigaction changed;
	bool adds_prof, removes_marker;
	bool had_prof_added, had_marker_removed;
};

/* Return true if ACT has a handler of the program, not SIG_DFL or SIG_IGN. */
bool cp_handler_mask_is_handler(const struct sigaction *act);

/* Return the disposition that the kernel gets for SIG (1 to 64): ACT itself (may be NULL), or
 * m->changed. If OURS is false (the process is not the session's, or SIGPROF is not the
 * profiler's), return ACT. Async-signal-safe.
 */
const struct sigaction *cp_handler_mask_begin(struct cp_handler_mask *m, int sig,
					      const struct sigaction *act, bool ours);
/* Call when sigaction has succeeded. Changes OLD (or NULL) to what the program had set. KEEPS:
 * remember what was set. Async-signal-safe. */
void cp_handler_mask_end(const struct cp_handler_mask *m, int sig, bool keeps,
			 struct sigaction *old);

/* Block SIGPROF in ACT, the handler of SIG, which now goes into the kernel. Async-signal-safe. */
void cp_handler_mask_block_prof(int sig, struct sigaction *act);

/* Return true if the profiler has ever blocked SIGPROF in a handler. */
bool cp_handler_mask_any_prof(void);

/* Return true if a handler may run with SIGPROF blocked in the kernel, because of its own mask or
 * the profiler's. Otherwise SIGPROF is never blocked there. */
bool cp_handler_mask_any_hides(void);
/* Note that there is such a handler. */
void cp_handler_mask_hidden(void);

#endif
