/* The masks of the program's handlers, where the kernel's differs from what the program has set.
 *
 * - A handler on an alternate stack, which may have room for one frame only, runs with SIGPROF
 *   blocked: no sample there.
 * - One that blocks CP_HELD_WITNESS but not SIGPROF runs without that: its mask would otherwise say
 *   that the program blocks SIGPROF (sigsafe/held.h).
 */
#ifndef CP_HANDLER_MASK_H
#define CP_HANDLER_MASK_H

#include <signal.h>
#include <stdbool.h>

/* One call of sigaction. */
struct cp_handler_mask {
	struct sigaction changed;
	bool adds_prof, takes_witness;
	bool had_prof_added, had_witness_taken;
};

/* ACT has a handler of the program's. */
bool cp_handler_mask_is_handler(const struct sigaction *act);

/* What the kernel gets for ACT (or null), of SIG, 1 to 64: ACT itself, or m->changed; with OURS
 * false, in a process that isn't the session's, ACT itself. Async-signal-safe. */
const struct sigaction *cp_handler_mask_begin(struct cp_handler_mask *m, int sig,
					      const struct sigaction *act, bool ours);
/* The call has succeeded: OLD (or null) as the program has set it; KEEPS: what was set is to be
 * known from now on. Async-signal-safe. */
void cp_handler_mask_end(const struct cp_handler_mask *m, int sig, bool keeps,
			 struct sigaction *old);

/* SIGPROF has been added to some handler's mask by now. */
bool cp_handler_mask_any_prof(void);

#endif
