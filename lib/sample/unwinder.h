/* SPDX-License-Identifier: BSD-3-Clause */
/* The interface of every unwinder to the capture step, and the guarantees that an unwinder may
 * rely on.
 *
 * walk() runs in a signal handler or in malloc. It takes no lock, does not allocate, calls only
 * libc functions on the folder's allow-list, and makes no read that could fault. It reads the
 * stack only through cp_stackmem_*, and module memory only while the input says that modules are
 * stable.
 */
#ifndef CP_UNWIND_H
#define CP_UNWIND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arch.h"

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
	bool own_tls;			/* no other thread has this thread's TLS (errno) */
	/* Not NULL: the stack is another thread's, and only its pc and sp are known. */
	struct cp_stackcopy *copy;
	/* A buffer for memory outside the thread's own stack (stackmem.h). NULL: each word costs a
	 * system call. */
	struct cp_stackmem_room *room;
};

struct cp_unwinder {
	const char *name; /* CPROF_UNWIND selects it by this name */

	/* Called once outside handlers, before the first walk. Returns 0, or a negative errno if
	 * the unwinder can't work here (a library or a port is missing). NULL = nothing to do. */
	int (*prepare)(void);

	/* Stores at most MAX (>= 1) program counters at PCS, innermost first, in the form that a
	 * profile needs: the leaf exact, callers as return address - 1, a frame that a signal
	 * interrupted exact. Returns their number (>= 1: the leaf is always stored) and sets
	 * *END. */
	unsigned (*walk)(const struct cp_unwind_input *in, uint64_t *pcs, unsigned max,
			 enum cp_unwind_end *end);

	/* Called after a module went away, with no walk in flight. Drops cached data. NULL =
	 * nothing to do. */
	void (*modules_changed)(void);
};

extern const struct cp_unwinder cp_unwinder_fp;
extern const struct cp_unwinder cp_unwinder_libunwind;
extern const struct cp_unwinder cp_unwinder_dwarf;

#endif
