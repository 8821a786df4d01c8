/* SPDX-License-Identifier: BSD-3-Clause */
/* The exact oracle on real programs: single steps, a shadow stack, and the walks compared with it.
 *
 * An agent that is preloaded into the program wraps main and steps it; after each instruction the
 * shadow stack (shadow.c) is brought up to date and compared with the walks from that very context
 * (compare.c); differences are sorted into classes (differences.c), and the sums are printed at the
 * end. x86_64 (agent_x86_64.c): one thread is stepped, main or another, by EFLAGS.TF; everything
 * runs in SIGTRAP's handler, on a stack of its own. aarch64 (agent_aarch64.c): main, by a tracer.
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
typedef int oracle_main(int, char **, char **);

extern struct oracle_agent {
	oracle_main *program_main;
	struct cp_unwind_input in;
	uint64_t steps, steps_max;
	char *report_path;
	pid_t pid; /* 0: nothing is stepped, or the report is written */
} oracle_agent;

void oracle_finish(const char *why);
void oracle_know_stack(void);
uint64_t oracle_number(const char *variable, uint64_t otherwise);

/* ---- agent_x86_64.c, agent_aarch64.c ---- */
/* Read the architecture's settings from the environment. */
void oracle_settings(void);
oracle_main oracle_stepped_main;

/* ---- agent_x86_64.c, for signals.c ---- */
bool oracle_is_on(void);
/* Stop stepping this thread (true), or go on. False: it was not being stepped. */
bool oracle_pause(bool pause);
/* A signal's handler returns to PC, which is stepped then. */
void oracle_resume_at(uint64_t pc, uint64_t sp);

/* ---- signals.c: libc's own sigaction ---- */
void oracle_sigaction(int sig, const struct sigaction *act);

/* ---- shadow.c ---- */
struct oracle_call {
	uint64_t slot, ra; /* x86_64: where the return address is; aarch64: sp at the call */
	uint64_t callee;   /* 0 = not learned from */
	bool exact;	   /* not a return address: interrupted code, or a signal's trampoline */
	bool lifted;	   /* the stack pointer was above slot, and the frame has not been left */
};

void oracle_shadow_begin(const struct oracle_walk *outer);
void oracle_shadow_push(const struct oracle_call *call);
/* The stack pointer is SP now: frames below it were left. */
void oracle_shadow_pop(uint64_t sp);
/* A return led to PC: if it left the frames that were there when the stepping began, was that
 * where the walk at the beginning said? */
void oracle_shadow_returned(uint64_t pc);
bool oracle_shadow_report(FILE *out);
/* The call I from the innermost (0); NULL after the last. */
struct oracle_call *oracle_shadow_call(unsigned i);
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

/* ---- skip.c (x86_64): calls that run at full speed ---- */
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
