/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of lib/modes/cpu/signal/, by the file that implements them. */
#ifndef CP_MODES_CPU_SIGNAL_CPU_SIGNAL_H
#define CP_MODES_CPU_SIGNAL_CPU_SIGNAL_H

#include "base/sys.h"
#include "host/signal/host_signal.h"

/* cpu_edges.c
 *
 * The two edges of a thread's life, for the engine "timer".
 *
 * The kernel checks a thread's timer at its ticks, so the sample at a tick stands for the expiries
 * since the tick before. After a thread's last tick, expiries are missed. Before its first tick,
 * time is missing: a tick that comes right after the begin would have no expiry to count, although
 * any other tick has those of a whole tick's length. Without a remedy the functions in which a
 * thread begins have too few samples, and a thread that lives for less than a tick has hardly any.
 *
 * So a thread gets credit for as many expiries as a tick's length has, on average, and its timer is
 * due at once. Its first tick, at CPU time x, counts the credit with probability 1 - x / tick: the
 * part of a tick's length that lies before the begin. So every moment of a thread's life is as
 * likely in a sample as any other.
 *
 * As many expiries are credited as are missed, on average. An account for each start function keeps
 * the difference, and corrects the credit of the threads that begin next. So totals stay right,
 * too.
 */

/* A thread's credit. */
struct cp_cpu_edge {
	uint64_t start; /* the thread's start function; 0 = not known */
	uint64_t late;	/* the credit counts if the first tick comes before this CPU time */
	int64_t credit; /* expiries; 0 = none, or the first tick has come */
	int64_t taken;	/* part of the credit that was taken out of the account */
};

/* Gives a thread, whose start function is set, a credit of about EXPIRIES, for a first tick before
 * the CPU clock LATE. Ordinary context; the thread's timer isn't running. */
void cp_cpu_edges_begin(struct cp_cpu_edge *e, uint64_t expiries, uint64_t late);
/* The thread's first tick came at CPU clock NOW. Returns the credited expiries that count. In the
 * thread's handler. */
uint64_t cp_cpu_edges_first_tick(struct cp_cpu_edge *e, uint64_t now);
/* A live thread has missed N expiries after its last tick. Returns those of them that the account
 * has not credited before. */
uint64_t cp_cpu_edges_settle(const struct cp_cpu_edge *e, uint64_t n);
/* The thread ends, and has used NS more than all its expiries of PERIOD ns stand for, or less,
 * because it began by chance in a period. Returns MISSED, and what has come together of that from
 * the threads that ended: so their sum is as exact as their clocks. */
uint64_t cp_cpu_edges_carry(const struct cp_cpu_edge *e, uint64_t missed, int64_t ns,
			    int64_t period);
/* The thread ends: MISSED expiries came after its last tick. Returns false, and doesn't take them,
 * if the account already has MOST or more, because new threads don't use as many as are missed, or
 * if they are more than MOST: the kernel hasn't looked for long. */
bool cp_cpu_edges_end(struct cp_cpu_edge *e, uint64_t missed, int64_t most);

/* A thread that ended has used EACH ns after its end was told, on average: puts what the accounts
 * haven't had of that into them, as expiries of PERIOD ns, rounded by RANDOM, in [0, PERIOD). What
 * that adds or leaves out is carried to the next thread that ends. Not in a handler, and in one
 * thread at a time. */
void cp_cpu_edges_tell_last(uint64_t each, uint64_t period, uint64_t random);
/* Takes the expiries that no thread could be credited with out of an account, and returns them.
 * *START is the start function of the threads that missed them, 0 if it went away. Returns 0 if no
 * account has any. */
uint64_t cp_cpu_edges_take_left(uint64_t *start);
/* The period changes from FROM to TO ns: makes expiries of TO ns of those of a thread's credit, and
 * of those of all accounts. The thread's timer isn't running. */
void cp_cpu_edges_scale(struct cp_cpu_edge *e, uint64_t from, uint64_t to);
void cp_cpu_edges_scale_accounts(uint64_t from, uint64_t to);
/* A module was unloaded: forgets which start functions accounts have, if these are GONE with it.
 * The balances stay, for threads to come. Not in a handler. */
void cp_cpu_edges_forget(bool (*is_gone)(uint64_t start));
/* Empties all accounts. */
void cp_cpu_edges_reset(void);

/* cpu_event.c
 *
 * The event half of the CPU source: a sample for each SIGPROF of a thread's timer or of its perf
 * event.
 */

/* Set T's timer to its next expiry, or, while T has a credit (cpu_edges.c), to the next tick.
 * Returns 0 or a negative errno. The calling thread is T, or T's timer isn't running. */
int cp_cpu_event_set_timer(const struct cp_thread *t);

/* Return how many of T's N expiries, each for STEP ns, count. The others are in the profiler's work
 * on T, which has its signals blocked meanwhile. In T's handler, or where T has none. */
uint64_t cp_cpu_event_of_program(struct cp_thread *t, uint64_t n, uint64_t step);

/* The event of WEIGHT expiries of PERIOD ns. Its count is the period, because the period may change
 * while the event is in a ring; the drain makes ns of the two (cpu_mode.c). */
static inline struct cp_event cp_cpu_event_of(uint64_t weight, uint64_t period)
{
	return (struct cp_event){ .mode = CPROF_CPU, .count = period, .weight = weight };
}

/* Written by the control half (cpu.c), read by the handler. */
struct cp_cpu_state {
	uint32_t started;   /* signals for samples may come: set from the start to the stop */
	uint32_t running;   /* samples are taken; 0 while the period changes */
	uint32_t perf_used; /* perf was used in this process, so its signals may come */
	/* The filter of ProfilerStartWithOptions: returns 0 to leave a sample out. NULL: no filter.
	 */
	int (*filter)(void *argument);
	void *filter_argument;
	uint64_t period_ns;
	uint32_t shuffled; /* timers have random steps */
	/* Called in T's handler when its event could not be made anew: gives T another clock. */
	void (*perf_failed)(struct cp_thread *t);
};
extern struct cp_cpu_state cp_cpu_state;

/* The CPU mode's row in the table of the sources of SIGPROF. */
extern const struct cp_sigprof_source cp_cpu_event_source;

/* The CPU mode's part of a thread's record: the thread's clock. */

struct cp_cpu_thread {
	int32_t timer;	   /* kernel timer id; CP_NO_TIMER */
	uint64_t began;	   /* cp_cpu_program_of at the moment from which the thread's time counts */
	uint64_t own_seen; /* the part of own_cpu_ns whose expiries were left out, or are in */
	uint64_t own_left; /* expiries that are still to be left out */
	/* Written by the timer's handler. */
	uint64_t due;	   /* the next expiry, on the thread's CPU clock */
	uint64_t within;   /* the first expiry's place in its period; 0: that one has come */
	uint64_t step;	   /* the time since the expiry before, for which it counts */
	uint64_t left;	   /* expiries that have this step, and are yet to come */
	uint64_t random;   /* state of the generator of steps */
	uint64_t owed_ns;  /* expiries that had no signal; the next sample counts them */
	uint64_t told;	   /* expiries that became owed, and whose signal may still come */
	uint64_t known_ns; /* what T's expiries so far stand for, counted or lost */
	/* For cpu.c: the clocks that the thread had before the period changed. */
	bool had_clock, had_timer;
	uint64_t period_before;
	uint64_t period_end;	 /* on the thread's CPU clock */
	struct cp_bursts bursts; /* for cpu.c */
	struct cp_cpu_edge edge;
	struct cp_perf perf; /* used instead of a timer */
};

/* The initial values: neither timer nor event. */
extern const struct cp_cpu_thread cp_cpu_thread_part CP_THREAD_PART;

static inline struct cp_cpu_thread *cp_cpu_of(const struct cp_thread *t)
{
	return cp_thread_part(t, &cp_cpu_thread_part);
}

/* Return T's CPU clock, in ns. */
static inline uint64_t cp_cpu_clock_of(const struct cp_thread *t)
{
	return cp_sys_clock_ns(CP_THREAD_CLOCK(t->tid));
}

/* Return the program's part of T's CPU clock NOW, from an arbitrary number on. */
static inline uint64_t cp_cpu_program_of(const struct cp_thread *t, uint64_t now)
{
	return now - cp_load_relaxed(&t->own_cpu_ns);
}

/* Steps.
 *
 * With equal steps, a program that repeats itself in step with the timer would be sampled at one
 * place of its cycle only. To set the timer takes almost half as long as the sample. So a step is
 * drawn from half a period to one and a half, CP_CPU_RUN expiries have it, and each counts for it.
 * Where in a cycle as long as the period two expiries are, is then independent for any two, as if
 * each of them had its own step: d, 2d, 3d ... modulo 1 are uniform where d is. The error of a sum
 * depends on pairs alone. In a thread's first period there is one expiry, which counts for it.
 */
#define CP_CPU_RUN 8

/* C's thread is at CPU clock NOW, and its first expiry FIRST ns later, in (0, period]. C's timer
 * isn't running. */
void cp_cpu_event_begin_steps(struct cp_cpu_thread *c, uint64_t now, uint64_t first);

/* Return the expiries of C from the next one to NOW, if the step stays. */
static inline uint64_t cp_cpu_event_passed(const struct cp_cpu_thread *c, uint64_t now)
{
	return now < c->due ? 0 : 1 + (now - c->due) / c->step;
}

#endif
