/* The wall clock: where every thread is, running or waiting, at regular times.
 *
 *     tick → which threads are due                           wall.c
 *     visit → did it run since? what is it doing now?        wall_visit.c, wall_stack.c
 *     running → a timer, and the stack from its signal       wall_timer.c, sigsafe/wall_event.c
 *     no stack from it, or late                              wall_answer.c
 *     time between visits → states → rows                    wall_time.c
 *     the mode's file                                        wall_mode.c
 *
 * Time is cut into ticks, the same for all threads; they are counted in 64 bits, for 32 are used up
 * in 25 days. A visit stands at a random place in its tick, and what a thread is then found doing
 * stands for the whole of it (or of more of them: see plan() in wall_visit.c). All of it is the
 * pacer's, on the collector's thread or whoever else has the collector's lock.
 */
#ifndef CP_WALL_H
#define CP_WALL_H

#include <stdbool.h>
#include <stdint.h>

#include "run.h"
#include "sigsafe/thread.h"

/* What happened since the start of the run; for the comments. */
struct cp_wall_counts {
	uint64_t visits;     /* of threads */
	uint64_t unmoved;    /* had not run since the visit before */
	uint64_t walked;     /* were waiting, on a stack that was walked */
	uint64_t running;    /* were running */
	uint64_t hidden;     /* could not be looked at: /proc is not there */
	uint64_t late;	     /* ticks that were missed: a dump took long */
	uint64_t timeless;   /* timers that could not be made */
	uint64_t given;	     /* ns that went to rows */
	uint64_t unsampled;  /* ns of threads that were seen nowhere, and have no start either */
	uint64_t unmet;	     /* ns of threads that were seen nowhere yet, at the last dump */
	uint64_t unvisited;  /* ns of threads that were never met, given to their start */
	uint64_t unanswered; /* ns of running threads without a sample, given to another stack */
};

struct cp_wall {
	unsigned frequency;
	uint64_t period_ns;
	uint64_t tick_ns; /* half a period: time is cut into these */
	uint32_t step;	  /* ticks between visits: 1, or 2 */
	uint64_t kernel_tick_ns;
	uint64_t began;	    /* begin of period 0 */
	uint64_t stopped;   /* 0 = it is running */
	uint64_t random;    /* state of the generator */
	uint64_t uncounted; /* ns in rows, less than a period: short threads are counted together */
	uint32_t openings;  /* of the gate, at the last reading of the modules */
	uint64_t next_reading; /* of the modules, for an address in none: not before */
	uint32_t stretch;      /* ticks between visits of a thread that doesn't run */
	uint32_t length;       /* ticks that the next visits are for */
	uint64_t end;	       /* of those */
	struct cp_vec due;     /* uint64_t: the next visit of each record's thread, CP_WALL_DUE */
	uint32_t cursor;       /* where the next tick goes on */
	uint32_t begins;       /* those of cp_wall_begins whose threads were looked for */
	int64_t budget;	       /* ns of CPU time that may be spent */
	uint64_t earned;       /* the tick up to which it was */
	bool blind;	       /* stacks can't be walked from outside */
	struct cp_wall_counts counts;
};
extern struct cp_wall cp_wall;

extern uint32_t cp_wall_begins; /* of threads: counted when their records are complete */

/* When a thread is due: a tick, and whether any of the CP_WALL_REST ticks that this one is among
 * will do. 0: it was not met yet. */
#define CP_WALL_DUE(tick, lazy) ((uint64_t)(tick) << 1 | (lazy))
#define CP_WALL_LAZY 1u
/* Where all threads are lazy the pacer itself wakes up only once in so many ticks, which costs more
 * than some visits. A multiple of every step. */
#define CP_WALL_REST 8u

/* The first tick from TICK on at which visits begin. */
static inline uint64_t cp_wall_aligned(uint64_t tick)
{
	return (tick + cp_wall.step - 1) / cp_wall.step * cp_wall.step;
}

/* xorshift64: places in a tick need no better one. */
static inline uint64_t cp_wall_draw(void)
{
	cp_wall.random ^= cp_wall.random << 13;
	cp_wall.random ^= cp_wall.random >> 7;
	cp_wall.random ^= cp_wall.random << 17;
	return cp_wall.random;
}

/* Before the start, in ordinary context. */
void cp_wall_prepare(void);
int cp_wall_start(struct cp_run *r, unsigned frequency);
void cp_wall_stop(void);
/* When the next tick is due; any context. */
uint64_t cp_wall_due(void);
/* true: threads have ended, and want a drain. */
bool cp_wall_tick(struct cp_run *r);
void cp_wall_fork_child(struct cp_run *r, struct cp_thread *keep);

/* wall_visit.c: look at T in period TICK; its next visit is to be at *DUE. true: it cost more than
 * a glance. */
bool cp_wall_visit(struct cp_run *r, struct cp_thread *t, uint64_t tick, uint64_t *due);
/* What T's handler has left in its ring. */
void cp_wall_take(struct cp_run *r, struct cp_thread *t);
void cp_wall_record(struct cp_run *r, struct cp_thread *t, const struct cp_record *record);

/* wall_time.c: T was in its last state until UNTIL. */
void cp_wall_give(struct cp_run *r, struct cp_thread *t, uint64_t until);
/* What T's STATE is owed goes to the last stack in it, if there is one. */
void cp_wall_pay(struct cp_run *r, struct cp_thread *t, enum cp_wall_state state);
/* The row of this stack is T's for STATE from now on; it was seen in SPAN (0: none). */
void cp_wall_set_stack(struct cp_run *r, struct cp_thread *t, enum cp_wall_state state,
		       struct cp_raw_stack *s, uint32_t span);
/* The same of a record. */
void cp_wall_set_row(struct cp_run *r, struct cp_thread *t, enum cp_wall_state state,
		     const struct cp_record *record);

/* wall_answer.c: what T is doing, for those who look at its stack from outside. */
struct cp_wall_seen cp_wall_seen_now(const struct cp_thread *t);
/* T was found running, SEEN so, and is asked for its stack. */
void cp_wall_ask(struct cp_thread *t, struct cp_wall_seen seen, uint64_t now);
/* What was ANSWERed is for time that is not yet in a row, or it goes to a stack of that time. */
void cp_wall_answered(struct cp_run *r, struct cp_thread *t, const struct cp_record *answer);
/* At a visit, when T's time up to it was given to its states. */
void cp_wall_still_unanswered(struct cp_run *r, struct cp_thread *t, struct cp_wall_seen seen,
			      uint64_t now);
/* All of T's time until UNTIL stands in rows afterwards, if there is any row for it. */
void cp_wall_settle(struct cp_run *r, struct cp_thread *t, uint64_t until);
/* ns that have no row. */
uint64_t cp_wall_unpaid(const struct cp_thread *t);
/* The same for good: T has ended. */
void cp_wall_gone(struct cp_run *r, struct cp_thread *t);

/* wall_timer.c: a sample of T as soon as the kernel's tick finds it running. false: no timer. */
bool cp_wall_arm(struct cp_thread *t);
void cp_wall_thread_begin(struct cp_thread *t);
void cp_wall_thread_end(struct cp_thread *t);
void cp_wall_disarm_all(void);
void cp_wall_timers_fork_child(void);

#endif
