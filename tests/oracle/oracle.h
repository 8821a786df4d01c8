/* SPDX-License-Identifier: BSD-3-Clause */
/* The exact oracle on real programs: single steps, a shadow stack, and the walks compared with it.
 *
 * An agent that is preloaded into the program (agent.c) wraps main and steps it (EFLAGS.TF); after
 * each instruction the shadow stack (shadow.c) is brought up to date and compared with the walks
 * from that very context (compare.c); differences are sorted into classes (differences.c), and the
 * sums are printed at the end. One thread is stepped, main or another. Everything runs in SIGTRAP's
 * handler, on a stack of its own. x86_64 only.
 */
#ifndef ORACLE_H
#define ORACLE_H

#include "system.h"

#include "sample/sample.h"

#define ORACLE_DEPTH 4096

struct oracle_walk {
	uint64_t pcs[ORACLE_DEPTH];
	unsigned n;
	enum cp_unwind_end end;
};

/* ---- agent.c ---- */
bool oracle_is_on(void);
/* Stop stepping this thread (true), or go on. False: it was not being stepped. */
bool oracle_pause(bool pause);
/* A signal's handler returns to PC, which is stepped then. */
void oracle_resume_at(uint64_t pc, uint64_t sp);

/* ---- signals.c: libc's own sigaction ---- */
void oracle_sigaction(int sig, const struct sigaction *act);

/* ---- shadow.c ---- */
struct oracle_call {
	uint64_t slot, ra; /* where the return address is */
	uint64_t callee;   /* 0 = not learned from */
	bool exact;	   /* not a return address: interrupted code, or a signal's trampoline */
	bool lifted;	   /* the stack pointer was above slot, and the frame has not been left */
};

void oracle_shadow_begin(const struct oracle_walk *outer);
void oracle_shadow_push(const struct oracle_call *call);
/* The stack pointer is SP now: frames below it were left. */
void oracle_shadow_pop(uint64_t sp);
/* The instruction at FROM has moved it from LAST to SP. */
void oracle_shadow_moved(uint64_t from, uint64_t last, uint64_t sp);
/* Was the instruction at FROM, which led to PC, a call? Then *RA is what it pushed at SP. */
bool oracle_shadow_is_call(uint64_t from, uint64_t sp, uint64_t *ra);
/* The instruction at FROM led to PC: if it returned from the frames that were there when the
 * stepping began, was that where the walk at the beginning said? */
void oracle_shadow_returned(uint64_t from, uint64_t pc);
bool oracle_shadow_report(FILE *out);
/* The call I from the innermost (0); NULL after the last. */
const struct oracle_call *oracle_shadow_call(unsigned i);
/* Frame I of the walk (from 1) as it must be; 0 after the last. */
uint64_t oracle_shadow_right(unsigned i);

/* ---- compare.c ---- */
void oracle_compare_start(void);
/* ROOT is where whole stacks end. */
void oracle_compare_begin(uint64_t root);
void oracle_compare(const struct cp_unwind_input *in);
/* Code was unmapped: everything cached about it must be forgotten. */
void oracle_compare_forget(void);
bool oracle_compare_report(FILE *out);
extern unsigned oracle_libunwind_every;

/* ---- differences.c: why a walk differs at frame AT (from 1), in which module. ---- */
/* The program itself is changing its stack; no walk can be right. NULL: it is not. */
const char *oracle_excuse(const struct oracle_walk *w, unsigned at);
void oracle_difference(const struct oracle_walk *w, unsigned at, bool own);
/* Returns how many have no explanation. */
unsigned long oracle_difference_report(FILE *out);
void oracle_show(FILE *out, uint64_t pc);

/* ---- skip.c: calls that run at full speed ---- */
/* A call to PC was made from the stepped code: is it to be skipped? */
bool oracle_skip_wanted(uint64_t pc);
void oracle_skip_returned(uint64_t pc);
/* Breakpoints at the return addresses of the innermost calls. */
void oracle_skip_plant(void);
/* A breakpoint before PC was hit with SP. Is it where we go on (then they are all gone)? ELSE: one
 * was hit in another frame; it is lifted for one step. */
enum oracle_hit {
	ORACLE_HIT_NONE,
	ORACLE_HIT_BACK,
	ORACLE_HIT_OTHER
} oracle_skip_hit(uint64_t pc, uint64_t sp);
void oracle_skip_replant(void);
/* Another thread has come to the breakpoint before PC, if it is or was one of the oracle's: it is
 * removed. */
bool oracle_skip_lift(uint64_t pc);
void oracle_skip_clear(void);
extern unsigned oracle_skip_rate;
extern uint64_t oracle_skip_seed;

#endif
