/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of lib/modes/wall/, by the file that implements them. */
#ifndef CP_MODES_WALL_WALL_H
#define CP_MODES_WALL_WALL_H

#include "modes/wall/signal/wall_signal.h"
#include "output/output.h"

/* wall.c
 *
 * The wall clock: where every thread is, running or waiting, at regular times.
 *
 *     tick → which threads are due                          wall.c
 *     visit → did it run since? what is it doing now?       wall_visit.c, wall_stack.c
 *     running → a timer, and the stack from its signal      wall_timer.c, signal/wall_event.c
 *     no stack from the timer, or a late one                wall_answer.c
 *     how long it ran, was ready and waited, exactly        wall_exact.c
 *     time between visits → states → rows                   wall_time.c
 *     samples and exact totals of each thread and state     wall_strata.c
 *     the mode's file                                       wall_mode.c
 *
 * Time is divided into ticks, the same for all threads. Ticks are counted in 64 bits; 32 bits are
 * used up in 25 days. A visit has a random place in its tick. The thread's state at the visit
 * counts for the whole tick (or for several ticks: see plan() in wall_visit.c). All of this belongs
 * to the pacer, which runs on the collector's thread or on any thread that has the collector's
 * lock.
 */

/* Counts since the start of the run; they are printed in comments of the profile. */
struct cp_wall_counts {
	uint64_t visits;     /* visits of threads */
	uint64_t unmoved;    /* visits of threads that had not run since the visit before */
	uint64_t walked;     /* visits of waiting threads whose stack was walked */
	uint64_t running;    /* threads that ran */
	uint64_t runnable;   /* threads that were ready to run, but had no processor */
	uint64_t hidden;     /* threads that could not be examined: /proc is missing */
	uint64_t late;	     /* missed ticks: a dump took long */
	uint64_t timeless;   /* timers that could not be made */
	uint64_t given;	     /* ns that were reported as exact totals of rows */
	uint64_t unsampled;  /* ns of threads that were never seen and have no start, and of threads
				that take no signals while they run */
	uint64_t unmet;	     /* ns of threads not yet seen, at the last dump */
	uint64_t unvisited;  /* ns of threads that were never visited, given to their start */
	uint64_t unanswered; /* ns of running threads without a sample, given to another stack */
};

struct cp_wall {
	unsigned frequency;
	uint64_t period_ns;
	uint64_t tick_ns; /* half a period: the length of a tick */
	uint32_t step;	  /* ticks between visits: 1, or 2 */
	uint64_t kernel_tick_ns;
	uint64_t began;	    /* begin of period 0, monotonic ns */
	uint64_t stopped;   /* time of the stop; 0 = running */
	uint64_t random;    /* state of the generator */
	uint64_t uncounted; /* ns in rows that don't make a period yet: times of short threads are
			       counted together */
	uint32_t openings;  /* openings of the dlclose gate, at the last reading of the modules */
	uint64_t next_reading; /* earliest next reading that an address in no module may cause */
	uint32_t stretch;      /* ticks between visits of a thread that doesn't run */
	uint32_t rest; /* ticks of a rest. Where all threads are lazy, the pacer wakes up only once
			* in a rest, because waking up costs more than some visits. A multiple of
			* every step. */
	uint32_t patience;  /* number of second looks left in this tick */
	uint64_t rest_from; /* the first tick at which all visits are planned for such rests */
	uint32_t length;    /* ticks that the next visits count for */
	uint64_t end;	    /* end of those ticks */
	struct cp_vec due;  /* uint64_t: the next visit of each record's thread, CP_WALL_DUE */
	uint32_t cursor;    /* where the next tick continues */
	uint32_t begins;    /* value of cp_wall_begins up to which threads were looked for */
	int64_t budget;	    /* ns of CPU time that may be spent */
	uint64_t earned;    /* the tick up to which the budget was earned */
	bool blind;	    /* stacks can't be walked from outside */
	struct cp_wall_counts counts;
};
extern struct cp_wall cp_wall;

extern uint32_t cp_wall_begins; /* begins of threads, counted when their records are complete */

/* The next tick: monotonic ns, UINT64_MAX without one, or CP_WALL_NOW: visit new threads at once.
 */
extern uint64_t cp_wall_next;
#define CP_WALL_NOW 0
extern uint32_t cp_wall_resting; /* the next tick comes at the end of a rest */

/* When a thread is due: a tick, and a flag that allows any of the ticks of the rest around this
 * one. 0: the thread was not visited yet. */
#define CP_WALL_DUE(tick, lazy) ((uint64_t)(tick) << 1 | (lazy))
#define CP_WALL_LAZY 1u
/* A thread that has not run for so many rests is visited once in a rest, also where there are few
 * threads: the time that a visit counts for is then a small part of the time that the thread has
 * waited. */
#define CP_WALL_IDLE 16u

/* Number of threads that may be looked at twice in a tick; each look takes 0.1 ms. */
#define CP_WALL_PATIENCE 4u

/* Return the first tick from TICK on at which visits begin. */
static inline uint64_t cp_wall_aligned(uint64_t tick)
{
	return (tick + cp_wall.step - 1) / cp_wall.step * cp_wall.step;
}

/* xorshift64: places in a tick need no better generator. */
static inline uint64_t cp_wall_draw(void)
{
	cp_wall.random ^= cp_wall.random << 13;
	cp_wall.random ^= cp_wall.random >> 7;
	cp_wall.random ^= cp_wall.random << 17;
	return cp_wall.random;
}

/* Call before the start, in ordinary context. */
void cp_wall_prepare(void);
int cp_wall_start(struct cp_run *r, unsigned frequency);
void cp_wall_stop(void);
/* Go on with visits at another FREQUENCY. Under the collector's lock. */
void cp_wall_set_frequency(unsigned frequency);
/* wall_timer.c: end the pacer's rest, if it rests, so that a thread that has just begun is visited.
 * Call after counting cp_wall_begins up. */
void cp_wall_timer_end_rest(void);

/* Return when the next tick is due, in monotonic ns. Any context. */
uint64_t cp_wall_due(void);
/* Do the ticks that are due. */
void cp_wall_tick(struct cp_run *r);
void cp_wall_fork_child(struct cp_run *r, struct cp_thread *keep);

/* wall_visit.c: visit T in tick TICK and set *DUE to its next visit. Returns true if the visit cost
 * more than a glance. */
bool cp_wall_visit(struct cp_run *r, struct cp_thread *t, uint64_t tick, uint64_t *due);
/* Take the samples that T's handler has left in its ring. */
void cp_wall_visit_take(struct cp_run *r, struct cp_thread *t);
void cp_wall_visit_record(struct cp_run *r, struct cp_thread *t, const struct cp_record *record);

/* wall_time.c: account T's time until UNTIL to its last state. */
void cp_wall_time_give(struct cp_run *r, struct cp_thread *t, uint64_t until);
/* Give the time owed to T's STATE to the last stack in that state, if there is one. */
void cp_wall_time_pay(struct cp_run *r, struct cp_thread *t, enum cp_wall_state state);
/* NS of row ROW were T's time for DURATION from BEGIN on. */
void cp_wall_time_event(struct cp_run *r, struct cp_thread *t, uint32_t row, uint64_t begin,
			uint64_t duration, uint64_t ns);
/* Give all of T's time so far to the time index. */
void cp_wall_time_close(struct cp_run *r, struct cp_thread *t);
/* Make the row of stack S the row of T for STATE from now on. S's tag has no state yet. */
void cp_wall_time_set_stack(struct cp_run *r, struct cp_thread *t, enum cp_wall_state state,
			    struct cp_raw_stack *s);
/* The same for the stack of a record. WAIT: why the thread waits (wall_cause.c); 0 = unknown. */
void cp_wall_time_set_row(struct cp_run *r, struct cp_thread *t, enum cp_wall_state state,
			  const struct cp_record *record, uint32_t wait);

/* Call SEE for the rows of T's stacks, which SEE may change; as output.h, ROWS. */
void cp_wall_time_rows(struct cp_thread *t, void (*see)(uint32_t *row, void *arg), void *arg);

/* wall_answer.c: return the number of T's label set at this moment. Works for any thread, from
 * outside. */
uint32_t cp_wall_answer_labels_now(const struct cp_thread *t);
/* T was found running, with labels LABELS: ask for its stack. */
void cp_wall_answer_ask(struct cp_thread *t, uint32_t labels, uint64_t now);
/* Take ANSWER, T's sample, into account. If ANSWER shows other labels, time that has
 * been owed for a long time goes to T's last stack with the earlier ones. */
void cp_wall_answer_came(struct cp_run *r, struct cp_thread *t, const struct cp_record *answer);
/* Call at a visit, after T's time up to the visit was given to its states. */
void cp_wall_answer_still_unanswered(struct cp_run *r, struct cp_thread *t, uint32_t labels,
				     uint64_t now);
/* T was ready to run for NS at the end of its wait, whose time has been given until now. */
void cp_wall_answer_woken(struct cp_run *r, struct cp_thread *t, uint64_t ns);
/* T, which waited for several visits, may have run: tell how long it was ready to run before that.
 */
void cp_wall_answer_ran_again(struct cp_run *r, struct cp_thread *t);
/* T, which waits, was ready to run after a wait at the same place, which gets that time. */
void cp_wall_answer_was_woken(struct cp_run *r, struct cp_thread *t);
/* Put all of T's time until UNTIL into rows, if there is any row for it. */
void cp_wall_answer_settle(struct cp_run *r, struct cp_thread *t, uint64_t until);
/* Settle T's time for the last time: T has ended. */
void cp_wall_answer_ended(struct cp_run *r, struct cp_thread *t);

/* wall_strata.c: return T's label. */
uint32_t cp_wall_strata_label(struct cp_run *r, struct cp_thread *t);
/* NS of T's time in STATE were seen in row number ROW. */
void cp_wall_strata_sample(struct cp_run *r, struct cp_thread *t, enum cp_wall_state state,
			   uint32_t row, uint64_t ns);
/* T spent NS in STATE: its rows will sum to that. */
void cp_wall_strata_exact(struct cp_run *r, struct cp_thread *t, enum cp_wall_state state,
			  uint64_t ns);
/* Make rows sum to the exact totals that were reported. */
void cp_wall_strata_settle(struct cp_run *r);
/* Forget what rows have not got yet: a run begins. ABANDON: in a fork child. */
void cp_wall_strata_forget(bool abandon);

/* wall_exact.c: report T's totals from now on. RAN: T may have run before. */
void cp_wall_exact_begin(struct cp_thread *t, bool ran);
/* Return when T's life began: now, or when T was made, if T, the calling thread, waited for a
 * processor before. */
uint64_t cp_wall_exact_birth(const struct cp_thread *t);
/* T has run: find out how long T was ready to run before, if that is unknown. */
void cp_wall_exact_look(struct cp_thread *t);
/* Return how long T was ready to run since its first visit without a move; 0: it hasn't run, the
 * kernel doesn't tell, or it isn't worth a row. */
uint64_t cp_wall_exact_woken(struct cp_thread *t);
/* Read how long T was ready to run in its life. Returns false if the kernel doesn't tell. */
bool cp_wall_exact_delay(const struct cp_thread *t, uint64_t *delay);
/* T, the calling thread, ends after CPU ns of CPU time. */
void cp_wall_exact_end(struct cp_thread *t, uint64_t cpu);
/* The time that T spent in each state from the last report until its time was given last. */
struct cp_wall_spent {
	uint64_t ns[CP_WALL_STATES];
};
struct cp_wall_spent cp_wall_exact_tell(struct cp_thread *t);
/* Return T's time that wasn't reported yet, in ns. */
uint64_t cp_wall_exact_untold(const struct cp_thread *t);

/* wall_timer.c: arm T's timer, which samples T as soon as the kernel's tick finds T running.
 * Returns false if the timer was not armed. */
bool cp_wall_timer_arm(struct cp_thread *t);
/* Call before T is made. */
void cp_wall_timer_thread_created(struct cp_thread *t);
void cp_wall_timer_thread_begin(struct cp_thread *t);
void cp_wall_timer_thread_end(struct cp_thread *t);
void cp_wall_timer_disarm(struct cp_thread *t);
void cp_wall_timer_disarm_all(void);
void cp_wall_timer_fork_child(void);

/* wall_cause.c
 *
 * Why a thread waits, by the system call that it waits in and the kind of that call's descriptor.
 *
 * Called by the wall clock's pacer and by the dump, under the collector's lock.
 */

/* The call in which a thread waits, as its /proc file shows it. */
struct cp_wall_call {
	int64_t number; /* -1: none (the thread waits for a page, or is stopped) */
	uint64_t args[4];
};

enum cp_wall_cause {
	CP_WALL_CAUSE_UNKNOWN,
	CP_WALL_CAUSE_LOCK, /* any wait for a futex; its name is refined by the stack */
	CP_WALL_CAUSE_SEMAPHORE,
	CP_WALL_CAUSE_SLEEP,
	CP_WALL_CAUSE_DISK,
	CP_WALL_CAUSE_NETWORK,
	CP_WALL_CAUSE_PIPE,
	CP_WALL_CAUSE_POLL,
	CP_WALL_CAUSE_CHILD,
	CP_WALL_CAUSE_TIMER,
	CP_WALL_CAUSE_TERMINAL,
	CP_WALL_CAUSE_SIGNAL,
	CP_WALL_CAUSE_OTHER,
};

/* The kind of wait for a futex, by the function of libc that waits. */
enum cp_wall_futex {
	CP_WALL_FUTEX_OTHER, /* of the program's own locks, or an unknown function */
	CP_WALL_FUTEX_MUTEX,
	CP_WALL_FUTEX_RWLOCK,
	CP_WALL_FUTEX_LIBC, /* a lock inside libc: malloc's, a stream's */
	CP_WALL_FUTEX_CONDITION,
	CP_WALL_FUTEX_SEMAPHORE,
	CP_WALL_FUTEX_BARRIER,
	CP_WALL_FUTEX_THREAD, /* the end of a thread, in a join */
};

/* A wait as the wall mode keeps it in a row's tag (below): 25 bits; 0 = unknown. */
#define CP_WALL_WAIT(cause, kind, fd)                                                              \
	((uint32_t)(cause) | (uint32_t)(kind) << 4 | (uint32_t)((fd) + 1) << 9)
#define CP_WALL_WAIT_BITS 25
#define CP_WALL_WAIT_CAUSE(wait) ((enum cp_wall_cause)((wait)&15))
#define CP_WALL_WAIT_KIND(wait) ((enum cp_fd_kind)((wait) >> 4 & 31))
#define CP_WALL_WAIT_FD(wait) ((int)((wait) >> 9) - 1) /* -1: not kept */

/* Return why thread TID, whose stack is PCS, waits in CALL at tick NOW of SECOND ticks a second.
 * The kind of a descriptor costs one or two system calls; for the same stack and number it is
 * looked up once a second at most. */
uint32_t cp_wall_cause_of(const struct cp_wall_call *call, int tid, const uint64_t *pcs,
			  uint32_t depth, uint64_t now, uint32_t second);
/* Return the kind of descriptor FD of thread TID. */
enum cp_fd_kind cp_wall_cause_kind(int tid, uint64_t fd);
/* The same without the stack, uncached, and with the number of any descriptor that CALL is about,
 * in *FD (-1: none). */
uint32_t cp_wall_cause_now(const struct cp_wall_call *call, int tid, int *fd);
/* Return the label's text; NULL: unknown. S, A and N tell the functions in which a futex is waited
 * for; without S the text of any futex is "lock". */
const char *cp_wall_cause_text(uint32_t wait, const struct cp_stack *s,
			       const struct cp_aggregate *a, const struct cp_names *n);
const char *cp_wall_cause_kind_text(uint32_t wait);
/* Return what a thread with stack S, whose functions have names, waits for in a futex. */
enum cp_wall_futex cp_wall_cause_futex(const struct cp_stack *s, const struct cp_aggregate *a,
				       const struct cp_names *n);
const char *cp_wall_cause_futex_text(enum cp_wall_futex futex);
/* Return true if PATH is libc's, whose functions cp_wall_cause_futex knows. */
bool cp_wall_cause_is_libc(const char *path);
/* Forget the kinds and the numbers of an earlier run. */
void cp_wall_cause_forget(void);

/* wall_mode.c
 *
 * The wall mode's settings.
 */

struct cp_wall_settings {
	unsigned frequency; /* WALLPROFILE_FREQUENCY, Hz, 1-1000 */
};

struct cp_config_mode;

/* The table: variables, options, defaults. */
extern const struct cp_config_mode cp_wall_settings;

/* A row's tag: its state, and why the thread waits (wall_cause.c). */
#define CP_WALL_ROW_TAG(state, wait) ((uint64_t)(state) | (uint64_t)(wait) << 4)
#define CP_WALL_ROW_STATE(tag) ((tag)&0xf)
#define CP_WALL_ROW_WAIT(tag) ((uint32_t)((tag) >> 4) & ((1u << CP_WALL_WAIT_BITS) - 1))

/* wall_stack.c
 *
 * Tells what another thread is doing: whether it waits in the kernel, and on which stack.
 *
 * No signal is needed: the kernel shows pc and sp of a waiting thread, and the pacer copies and
 * walks the thread's stack. Called by the wall clock's pacer, under the collector's lock.
 */

enum cp_wall_doing {
	CP_WALL_RUNS,
	CP_WALL_QUEUES, /* is ready to run, but has no processor */
	CP_WALL_WAITS,	/* the record has its stack */
	CP_WALL_WOKEN,	/* was ready to run, after a wait where it waits again */
	CP_WALL_HIDDEN, /* unknown this time */
	CP_WALL_DENIED, /* unknown at any time: /proc is missing or not accessible */
	CP_WALL_ENDED,	/* the thread no longer exists */
};

/* Return the CPU time of thread TID of this process, in ns; UINT64_MAX if it has ended. */
uint64_t cp_wall_stack_clock_of(int tid);

/* Tell what thread TID is doing. If it waits, TO gets its stack of at most MAX_DEPTH frames, and
 * *CLOCK its CPU time, which did not change meanwhile, and *CALL the call that it waits in. */
enum cp_wall_doing cp_wall_stack_look(int tid, struct cp_record *to, unsigned max_depth,
				      uint64_t *clock, struct cp_wall_call *call);

#endif
