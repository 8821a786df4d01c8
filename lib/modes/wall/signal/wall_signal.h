/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of lib/modes/wall/signal/, by the file that implements them. */
#ifndef CP_MODES_WALL_SIGNAL_WALL_SIGNAL_H
#define CP_MODES_WALL_SIGNAL_WALL_SIGNAL_H

#include "host/signal/host_signal.h"

/* wall_event.c
 *
 * The event half of the wall clock: the stack of a running thread.
 *
 * The signal comes from a timer on the thread's own CPU clock. The kernel checks the timer only
 * while the thread runs, and delivers the signal on the way back to the program. A signal sent by
 * another thread could instead find this thread blocked a moment later, and its call would fail
 * with EINTR.
 */

extern uint32_t cp_wall_running; /* samples are taken */

/* The wall mode's row in the table of the sources of SIGPROF. */
extern const struct cp_sigprof_source cp_wall_event_source;

/* The wall clock's part of a thread's record. */

/* The state in which the pacer finds a thread. */
enum cp_wall_state {
	CP_WALL_UNSEEN,
	CP_WALL_RUNNING,
	CP_WALL_WAITING,
	CP_WALL_PAUSED,
	CP_WALL_RUNNABLE /* ready to run, without a processor; the next sample tells where */
};
#define CP_WALL_STATES 5

/* Time without a gap that a row got, and that the time index doesn't have yet. */
struct cp_wall_stretch {
	uint64_t begin, ns; /* NS 0: no stretch is open */
	uint32_t row;
};

/* The wall clock's data of one thread. It belongs to the pacer (lib/modes/wall/wall.c), under the
 * collector's lock, except for the fields that the thread writes. Times are monotonic, in ns; 0 =
 * not yet. */
struct cp_wall_thread {
	uint64_t created;      /* written by the thread that makes it */
	uint64_t began, ended; /* written by the thread or the sweep */
	uint64_t ended_cpu;    /* its CPU time at ENDED */
	uint64_t samples;      /* samples taken while it ran; written by its handler */
	int32_t timer;	       /* a timer on its CPU clock, or CP_NO_TIMER */
	uint8_t state;	       /* enum cp_wall_state, at the last visit */
	uint8_t same;	       /* number of looks that found it waiting at the same place */
	bool uring;	       /* was seen waiting in io_uring_enter, where it takes no signals */
	bool unanswered;       /* was found running, and has had no sample since */
	bool late;	       /* unanswered for longer than one tick of the kernel */
	uint64_t asked;	       /* begin of that time */
	uint32_t asked_labels; /* its label set at the last visit that found it unanswered */
	uint64_t until;	       /* start of the period that the next visit covers */
	uint32_t span;	       /* length of that period, in ticks */
	uint32_t still;	       /* ticks since it was last found to have run */
	uint64_t clock;	       /* CPU time at the last visit */
	uint64_t ran;	       /* CPU time between the last two visits */
	uint32_t moves,
		unmoved; /* visits that found that it had run; visits since the last of these */
	uint64_t still_delay;	       /* time ready to run in its life, at the first UNMOVED visit;
					  UINT64_MAX = not known */
	uint64_t given;		       /* end of the time that is attributed to states */
	uint64_t owed[CP_WALL_STATES]; /* time attributed to states, but not yet to a row */
	uint64_t owed_from[CP_WALL_STATES]; /* begin of that time */
	struct cp_wall_stretch open[CP_WALL_STATES];
	uint64_t sampled[CP_WALL_STATES]; /* ns that its rows got since its totals were reported */
	/* Time, CPU time, and time ready to run up to which its totals were reported
	 * (wall_exact.c). */
	uint64_t told, told_cpu, told_delay;
	struct cp_bursts bursts;
	bool delay_unknown;	      /* TOLD_DELAY is unknown */
	uint64_t ended_delay;	      /* its time ready to run at ENDED; 0 = not known */
	uint64_t lost;		      /* ns since TOLD that no row may get */
	uint32_t row[CP_WALL_STATES]; /* row of the last stack in each state, + 1; 0 = none */
	uint64_t taken, looked; /* samples that were taken, and words of the ring that were read */
};
/* The initial value: no timer. */
extern const struct cp_wall_thread cp_wall_thread_part CP_THREAD_PART;

static inline struct cp_wall_thread *cp_wall_of(const struct cp_thread *t)
{
	return cp_thread_part(t, &cp_wall_thread_part);
}

#endif
