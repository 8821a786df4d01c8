/* SPDX-License-Identifier: BSD-3-Clause */
/* The two edges of a thread's life, for the engine "timer".
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
#ifndef CP_CPU_EDGES_H
#define CP_CPU_EDGES_H

#include <stdbool.h>
#include <stdint.h>

/* A thread's credit. */
struct cp_cpu_edge {
	uint64_t start; /* the thread's start function; 0 = not known */
	uint64_t late;	/* the credit counts if the first tick comes before that CPU clock */
	int64_t credit; /* expiries; 0 = none, or the first tick has come */
	int64_t taken;	/* part of the credit that was taken out of the account */
};

/* Gives a thread, whose start function is set, a credit of about EXPIRIES, for a first tick before
 * the CPU clock LATE. Ordinary context; the thread's timer isn't running. */
void cp_cpu_edges_begin(struct cp_cpu_edge *e, uint64_t expiries, uint64_t late);
/* The thread's first tick came at CPU clock NOW. Returns the credited expiries that count. In the
 * thread's handler. */
uint64_t cp_cpu_edges_first_tick(struct cp_cpu_edge *e, uint64_t now);
/* The thread ends: MISSED expiries came after its last tick. Returns false if the account already
 * has MOST or more, and doesn't take them: new threads don't use as many as are missed. */
bool cp_cpu_edges_end(struct cp_cpu_edge *e, uint64_t missed, int64_t most);

/* Takes the expiries that no thread could be credited with out of an account, and returns them.
 * *START is the start function of the threads that missed them. Returns 0 if no account has any. */
uint64_t cp_cpu_edges_take_left(uint64_t *start);
/* The period changes from FROM to TO ns: makes expiries of TO ns of those of a thread's credit, and
 * of those of all accounts. The thread's timer isn't running. */
void cp_cpu_edges_scale(struct cp_cpu_edge *e, uint64_t from, uint64_t to);
void cp_cpu_edges_scale_accounts(uint64_t from, uint64_t to);
/* Empties all accounts. */
void cp_cpu_edges_reset(void);

#endif
