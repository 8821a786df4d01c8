/* SPDX-License-Identifier: BSD-3-Clause */
/* The event half of the toy mode: counts calls of getpid, and samples one in EVERY. */
#ifndef CP_TOY_EVENT_H
#define CP_TOY_EVENT_H

#include <stdint.h>

#include "sample/thread.h"

/* The mode's part of a thread's record. */
struct cp_toy_thread {
	uint64_t calls;	  /* since the thread's last sample */
	uint64_t sampled; /* its samples so far */
};

extern const struct cp_toy_thread cp_toy_thread_part CP_THREAD_PART;

/* Tags of records. */
enum { CP_TOY_FIRST = 1, CP_TOY_LATER };

struct cp_toy_state {
	uint32_t running;
	uint32_t every;
	uint64_t calls;	  /* that were seen since the start */
	const void *leaf; /* libc's getpid, which samples show on top */
};

extern struct cp_toy_state cp_toy_state;

/* The calling thread has called getpid. Any context. */
void cp_toy_event_called(void);

#endif
