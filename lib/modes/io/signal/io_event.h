/* SPDX-License-Identifier: BSD-3-Clause */
/* clang-format off */
/* The event half of the I/O mode: measures calls, counts them, and records stacks.
 *
 * The interposed functions call begin before libc's function, and ended after it. In between
 * nothing is held and nothing is marked, so a call that never returns (cancellation, a jump out of
 * a handler, the end of the process) leaves nothing behind; it isn't counted. All of this may run in
 * a handler that interrupted the same functions, inside malloc, and in a vfork's child.
 *
 * | data                 | written by                         | safe against handlers by       |
 * |----------------------|------------------------------------|--------------------------------|
 * | counts               | the thread                         | single instructions            |
 * | the sampler, records | the thread, with signals blocked   | the block                      |
 *
 * The clock is the processor's counter. Where its rate isn't constant or the program forbids it,
 * the clock is CLOCK_MONOTONIC, and ticks are nanoseconds or, if the program forbids the counter
 * later on, computed from them.
 */
/* clang-format on */
#ifndef CP_IO_EVENT_H
#define CP_IO_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "modes/io/signal/io_counts.h"
#include "modes/io/signal/io_kind.h"
#include "modes/io/signal/io_sample.h"
#include "sample/thread.h"
#include "sample/ticks.h"

/* The mode's part of a thread's record. */
struct cp_io_thread {
	struct cp_io_block *block; /* of its calls with stacks; NULL until the first call */
	uint64_t random;	   /* state of the sampler's generator; 0 = not begun */
};

extern const struct cp_io_thread cp_io_thread_part CP_THREAD_PART;

/* Not 0: calls take the slow path, because they are measured (CP_IO_ON) or because libc's functions
 * are not known yet (CP_IO_EARLY). */
extern uint32_t cp_io_active __attribute__((visibility("hidden")));
/* CP_IO_BY_CLOCK is set with CP_IO_ON if the mode's clock is CLOCK_MONOTONIC. */
enum { CP_IO_ON = 1, CP_IO_EARLY = 2, CP_IO_BY_CLOCK = 4 };

struct cp_io_state {
	struct cp_io_rates rates;
	uint64_t since;	   /* ticks: when the mode began; earlier begins count from there */
	uint64_t since_ns; /* the same moment by CLOCK_MONOTONIC */
	bool by_clock;	   /* the clock is CLOCK_MONOTONIC */
	int target;	   /* enum cp_io_target */
	struct cp_thread *(*register_thread)(void);
};
extern struct cp_io_state cp_io_state __attribute__((visibility("hidden")));

/* The time by another clock than the counter. Any context. */
uint64_t cp_io_event_clock(void);

static inline uint64_t cp_io_event_now(void)
{
	uint64_t ticks = cp_io_state.by_clock ? 0 : cp_ticks();

	return __builtin_expect(ticks != 0, 1) ? ticks : cp_io_event_clock();
}

/* Calls are measured, and the clock is the counter. */
static inline __attribute__((always_inline)) bool cp_io_event_is_usual(void)
{
	return cp_load_relaxed(&cp_io_active) == CP_IO_ON && !cp_load_relaxed(&cp_ticks_forbidden);
}

struct cp_io_on {
	const char *path; /* NULL: no path */
	int fd;		  /* with PATH NULL; below 0: no descriptor */
};

/* A call: what it was, and its results. */
struct cp_io_call {
	uint64_t began;
	enum cp_io_op op;
	enum cp_io_kind kind;
	uint64_t bytes;
	int error;	      /* errno, or another number that isn't 0; 0: the call succeeded */
	const void *function; /* libc's; the leaf of the stack */
	struct cp_io_on on;   /* what it was made on, for the label target */
};

/* The call has ended. errno stays. */
void cp_io_event_ended(const struct cp_io_call *c);
/* The rest of a call that cp_io_hot_ended has counted and not settled. NOW: when it ended. */
void cp_io_event_settle(const struct cp_io_call *c, uint64_t now);
/* The same as cp_io_event_ended for a thread that may lack libc's TLS. */
void cp_io_event_ended_anywhere(const struct cp_io_call *c);

/* Tags of records and rows: op, kind, error (errno), and a number below 2^32. In a record the
 * number is that of the target (io_target.h). In a row, its low 8 bits are the size class. A record
 * has the call's bytes in LONGEST, which this mode has no other use for. */
#define CP_IO_TAG(op, kind, error, number)                                                         \
	((uint64_t)(op) << 56 | (uint64_t)(kind) << 48 | (uint64_t)(error) << 36 |                 \
	 (uint64_t)(number))
#define CP_IO_TAG_OP(tag) ((unsigned)((tag) >> 56))
#define CP_IO_TAG_KIND(tag) ((unsigned)((tag) >> 48 & 255))
#define CP_IO_TAG_ERROR(tag) ((unsigned)((tag) >> 36 & 4095))
#define CP_IO_TAG_NUMBER(tag) ((uint32_t)(tag))
#define CP_IO_CLASS_BITS 8

#endif
