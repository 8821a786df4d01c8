/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows that other processes take of a mode: what happened since the same consumer's last window.
 *
 * Each function is for cp_collect_run, which holds the lock. ARG is a struct cp_window_take.
 */
#ifndef CP_WINDOW_TAKE_H
#define CP_WINDOW_TAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "output/sink.h"
#include "sample/mode.h"

struct cp_window_take {
	enum cprof_mode mode;
	uint64_t consumer;    /* the number that the client drew */
	uint64_t until;	      /* monotonic ns: the consumer is forgotten then */
	uint64_t since;	      /* END of the client's last window; 0 = it has none */
	struct cp_sink *sink; /* NULL: begin a window, write nothing */
	uint64_t end;	      /* out: monotonic ns */
	int peer;	      /* the client's process id; 0 = another pid namespace has it */
	bool all;	      /* begin with the mode's start, if nothing was given up since */
	bool last;	      /* the client listens for what is left at the process's end */
	bool received;	      /* for cp_window_take_confirm */
	int result;	      /* out: 0 or a negative errno: base/control.h */
};

/* Writes the consumer's window to SINK, or begins one. */
void cp_window_take(void *arg);
/* The client has the window that cp_window_take wrote, if RECEIVED; else the consumer's next window
 * has its contents, too. Gives up rows that nobody needs. */
void cp_window_take_confirm(void *arg);
/* Forgets the consumer, in MODE and its companions. A mode without a file ends with its last
 * consumer. */
void cp_window_take_end(void *arg);

#endif
