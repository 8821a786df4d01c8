/* What every unwinder offers to the capture step, and what it may rely on.
 *
 * walk() runs in a signal handler (or later in malloc): no lock, no allocation,
 * no libc beyond the folder's allow-list, and no read that could fault: the
 * stack only through cp_stackmem_*, module memory only while the input says
 * that modules are stable.
 */
#ifndef CP_UNWIND_H
#define CP_UNWIND_H

#include <stdbool.h>
#include <stdint.h>

#include "sigsafe/arch.h"

/* How the outermost recorded frame relates to the real end of the stack. */
enum cp_unwind_end {
	CP_UNWIND_COMPLETE,   /* the thread's start was reached */
	CP_UNWIND_TRUNCATED,  /* the depth limit cut it */
	CP_UNWIND_INCOMPLETE, /* no rule, an unreadable or an implausible frame */
};

struct cp_stackcopy;
struct cp_stackmem_room;

struct cp_unwind_input {
	struct cp_regs regs;		/* of the interrupted (or calling) frame */
	uint64_t stack_low, stack_high; /* this thread's stack, [low, high); both 0 = not known */
	bool stable_modules;		/* no module can be unmapped until walk returns */
	bool own_tls;			/* libc's TLS (errno) is this thread's own */
	/* Not NULL: the stack of another thread, of which only pc and sp are known. */
	struct cp_stackcopy *copy;
	/* For what isn't on the thread's own stack (stackmem.h); NULL: it costs a system call a
	 * word. */
	struct cp_stackmem_room *room;
};

struct cp_unwinder {
	const char *name; /* as in CPROF_UNWIND */

	/* Outside handlers, once, before the first walk: 0, or a negative errno
	 * when it can't work here (a library or a port is missing). NULL = nothing to do. */
	int (*prepare)(void);

	/* Store at most MAX (>= 1) program counters at PCS, innermost first, in the
	 * form a profile wants: the leaf exact, callers return address - 1, a frame
	 * that a signal interrupted exact. Returns how many (>= 1: the leaf always)
	 * and sets *END. */
	unsigned (*walk)(const struct cp_unwind_input *in, uint64_t *pcs, unsigned max,
			 enum cp_unwind_end *end);

	/* A module went away; no walk is in flight. Forget what is cached. NULL = nothing to do. */
	void (*modules_changed)(void);
};

extern const struct cp_unwinder cp_unwinder_fp;
extern const struct cp_unwinder cp_unwinder_libunwind;
extern const struct cp_unwinder cp_unwinder_dwarf;

#endif
