/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of lib/modes/io/signal/, by the file that implements them. */
#ifndef CP_MODES_IO_SIGNAL_IO_SIGNAL_H
#define CP_MODES_IO_SIGNAL_IO_SIGNAL_H

#include "base/base.h"
#include "sample/sample.h"
#include "sample/wakes.h"

/* clang-format off */
/* io_kind.c
 *
 * What an input or output call did (op), and on what (kind).
 *
 * The kind of a descriptor is asked of the kernel once and kept in a table, because asking takes as
 * long as a call. An entry is dropped when the program closes the descriptor by a function that the
 * mode sees. The kernel gives the number out again only afterwards, so an entry is wrong only if
 * both the close and the following open are unseen (system call instructions, libc's own calls).
 *
 * | call                | may run                                          |
 * |---------------------|--------------------------------------------------|
 * | cp_io_kind_of       | any context; errno stays                         |
 * | cp_io_kind_known    | any context                                      |
 * | cp_io_kind_closed   | any context, before the descriptor is closed     |
 */
/* clang-format on */

/* The most frequent ops come first: their counters are in the same page. */
enum cp_io_op {
	CP_IO_READ,
	CP_IO_WRITE,
	CP_IO_RECV,
	CP_IO_SEND,
	CP_IO_POLL,
	CP_IO_OPEN,
	CP_IO_CLOSE,
	CP_IO_STAT,
	CP_IO_SYNC,
	CP_IO_ACCEPT,
	CP_IO_CONNECT,
	CP_IO_COPY,
	CP_IO_SENDFILE,
	CP_IO_SPLICE,
	CP_IO_READDIR,
	CP_IO_RENAME,
	CP_IO_UNLINK,
	CP_IO_RESOLVE,
	CP_IO_OPS
};

/* Descriptors below this number have an entry; for others the kernel is asked at each call. */
#define CP_IO_KNOWN 65536u

/* Per descriptor: a count of closes in the high bits, and the kind plus 1 in the low 8 bits; 0
 * there = not asked yet. */
extern uint32_t cp_io_known[CP_IO_KNOWN] __attribute__((visibility("hidden")));
/* The pid of the process that the table describes. */
extern int cp_io_owner;

/* Ask the kernel for FD's kind and keep it. Any context. */
enum cp_fd_kind cp_io_kind_ask(int fd);

/* FD's kind plus 1, if it was asked; 0. */
static inline unsigned cp_io_kind_known(int fd)
{
	return (unsigned)fd < CP_IO_KNOWN ? cp_load_relaxed(&cp_io_known[fd]) & 255u : 0;
}

static inline enum cp_fd_kind cp_io_kind_of(int fd)
{
	unsigned known = cp_io_kind_known(fd);

	return __builtin_expect(known != 0, 1) ? (enum cp_fd_kind)(known - 1) : cp_io_kind_ask(fd);
}

/* FD is about to be closed. An answer about it that is under way is then not kept. */
static inline void cp_io_kind_closed(int fd)
{
	if ((unsigned)fd < CP_IO_KNOWN && cp_load_relaxed(&cp_io_known[fd]))
		cp_store_relaxed(&cp_io_known[fd], (cp_load_relaxed(&cp_io_known[fd]) | 255u) + 1);
}
/* The same for all from FIRST to LAST. */
void cp_io_kind_closed_all(unsigned first, unsigned last);

/* io_sample.c
 *
 * Chooses the calls whose stacks are recorded, and the weight of each recorded call.
 *
 * Pure arithmetic on the state of one cell: the calls of a thread of one op and kind (io_counts.c);
 * called by io_event.c. All times are ticks of the mode's clock (io_event.c).
 *
 * A cell counts four sums: calls, ticks of delay, bytes and errors. On each of these four lines lie
 * sampling points, and a call is recorded if there is a point on its piece of any line. So the
 * usual call only compares the sums with the next points. Distances are exponential, with a mean of
 * a CP_IO_SHARE-th of the sum so far: a call that makes up much of what its cell has counted, in
 * any unit, is recorded nearly surely. While a sum is below CP_IO_SHARE, each of its events has a
 * point: the first calls and the first errors are recorded for sure.
 *
 * "So far" means in this period and the one before, because otherwise the points of a long run
 * would become ever rarer. A period is so long that a line of steady growth has a sixteenth to an
 * eighth of the budget. Besides, there are so many points on the line of delay that a thread that
 * waits all the time has a quarter of the budget: so calls that are rare but long are seen, too.
 *
 * With the mean distances I, a call of 1, D, B and E has a point with p = 1 - e^-m, where m = 1/I +
 * D/I + B/I + E/I, and counts for w = 1/p calls like it (Horvitz and Thompson). Distances depend on
 * the past alone, so the expected sums of any place are the true ones. The rows are scaled to the
 * exact sums later (io_rows.c).
 *
 * A ring that is full would lose the calls of one time. While it fills up faster than it is
 * emptied, points are left out by chance, and p is that of the others.
 *
 * A new cell begins as if it had already counted a part of what all threads have counted lately,
 * and a cell stays with the number of a thread's record, for later threads. So of many threads that
 * live for a few calls the first call of each is recorded, and few others.
 */

/* The sums of a cell. */
enum cp_io_sum { CP_IO_CALLS, CP_IO_TICKS, CP_IO_BYTES, CP_IO_ERRORS, CP_IO_SUMS };

/* Stacks that a thread has recorded per second, roughly, in a long run. */
#define CP_IO_BUDGET 200u
/* Points on each line while its sum grows e-fold; the events that are recorded for sure. */
#define CP_IO_SHARE 32
/* Weights are stored in 1/65536ths. */
#define CP_IO_WEIGHT_SHIFT 16

/* Values that the control half sets, also while the mode is on. */
struct cp_io_rates {
	uint64_t second; /* ticks per second, roughly */
	unsigned budget; /* CP_IO_BUDGET; tests try others */
};

/* The next sampling points. A call is examined if a sum or the time reaches one. All 0: at once. */
struct cp_io_points {
	uint64_t next[CP_IO_SUMS];
	uint64_t time;
};

struct cp_io_sampler {
	uint64_t interval[CP_IO_SUMS]; /* mean distance that the next point was drawn with;
					  0: every event has a point */
	uint64_t before[CP_IO_SUMS];   /* the part of the sums that is forgotten; below 0: the sums
					  assumed before the first call */
	uint64_t mark[CP_IO_SUMS];     /* the sums at the begin of the period */
	uint64_t since;		       /* begin of the period; 0 = not begun */
};

/* Return the length of a period in ticks. */
uint64_t cp_io_sample_period(const struct cp_io_rates *r);
/* Begin at NOW. RECENT: the sums of all threads of the recent past, in cells of this op and kind.
 */
void cp_io_sample_begin(struct cp_io_sampler *s, const uint64_t recent[CP_IO_SUMS], uint64_t now);
/* Decide about a call, CALL, that ended at NOW and has brought its cell's sums to SUMS. One of
 * them, or NOW, has reached P. RANDOM: the thread's state, not 0. Returns the call's weight in
 * 1/65536ths; 0: it isn't recorded. */
uint64_t cp_io_sample_take(struct cp_io_sampler *s, struct cp_io_points *p, uint64_t *random,
			   const struct cp_io_rates *r, const uint64_t sums[CP_IO_SUMS],
			   const uint64_t call[CP_IO_SUMS], uint64_t now, double room);

/* Return VALUE times WEIGHT, rounded. */
static inline uint64_t cp_io_sample_weigh(uint64_t value, uint64_t weight)
{
	return (uint64_t)(((unsigned __int128)value * weight + (1u << (CP_IO_WEIGHT_SHIFT - 1))) >>
			  CP_IO_WEIGHT_SHIFT);
}

/* io_counts.c
 *
 * Exact counts of calls, by thread, op and kind, with a histogram of their delay.
 *
 * Each thread has a block of its own, which it finds by the number of its record. So a count is one
 * instruction without the lock prefix, atomic against the thread's own handlers. A block stays with
 * the number: later threads with the same number add to the same block. The collector keeps in the
 * block the counts that it has reported (io_rows.c), so each thread's part is known. Threads
 * without a record share one block, and count atomically.
 *
 * Blocks are mapped and never given back while the mode may be on. Any thread may read them. */

/* Log-linear buckets: 16 per power of two, so each value is within 3.2 % of its bucket's middle. */
#define CP_IO_BUCKET_BITS 4
#define CP_IO_BUCKETS ((44 - CP_IO_BUCKET_BITS + 1) << CP_IO_BUCKET_BITS)

/* The data of a cell since its first call. The thread uses the sampler with signals blocked. It is
 * in the page of the buckets of short calls. */
struct cp_io_delays {
	struct cp_io_sampler sampler;
	uint64_t bucket[CP_IO_BUCKETS];
};

/* Two lines of the cache. Times are in ticks of the mode's clock. */
struct cp_io_cell {
	uint64_t sums[CP_IO_SUMS];
	uint64_t longest;
	struct cp_io_delays *delays; /* NULL until the first call, or without memory */
	struct cp_io_points points;
	uint64_t told[CP_IO_SUMS]; /* the part of the sums that was reported; for the collector */
} __attribute__((aligned(64)));

struct cp_io_block {
	struct cp_io_cell cell[CP_IO_OPS][CP_FD_KINDS];
	uint32_t kinds[CP_IO_OPS]; /* bits: which cells of an op have calls */
	uint32_t threads;	   /* that have used the block */
	uint32_t told_threads;	   /* threads that were completely reported; for the collector */
	/* The rest of the mapping is handed out to histograms. */
	uint64_t used; /* bytes of the mapping */
};

/* Make room for the table of blocks. Returns 0 or -ENOMEM. Ordinary context. */
int cp_io_counts_prepare(void);
/* Return the block of the thread with record number INDEX, made if it is the first call; NULL
 * without memory. Any context. */
struct cp_io_block *cp_io_counts_block(uint32_t index);
/* Return the block of the thread with record number INDEX; NULL if it has made no call. */
struct cp_io_block *cp_io_counts_existing(uint32_t index);
/* The block of threads without a record. */
extern struct cp_io_block cp_io_counts_others;
/* The counts of all threads in the recent past, as the collector knows them. */
extern uint64_t cp_io_counts_recent[CP_IO_OPS][CP_FD_KINDS][CP_IO_SUMS];
/* Note that BLOCK's cell (OP, KIND) has a call. Returns its histogram, made if it is the first
 * call; NULL without memory. Called by the block's thread; any context. */
struct cp_io_delays *cp_io_counts_begin(struct cp_io_block *block, unsigned op, unsigned kind);

static inline unsigned cp_io_counts_bucket(uint64_t ticks)
{
	/* Below 16 ticks the shift is 0, and each number has a bucket of its own. */
	unsigned shift = (63u ^ (unsigned)__builtin_clzll(ticks | 1u << CP_IO_BUCKET_BITS)) -
			 CP_IO_BUCKET_BITS;

	if (__builtin_expect(shift >= 44 - CP_IO_BUCKET_BITS, 0))
		return CP_IO_BUCKETS - 1;
	return (shift << CP_IO_BUCKET_BITS) + (unsigned)(ticks >> shift);
}

/* Sum of the cell (OP, KIND) over all threads, as it was told last, so that it is the rows' sum;
 * DELAYS, if not NULL, gets the sum of histograms, and must be zeroed. */
struct cp_io_cell cp_io_counts_sum(unsigned op, unsigned kind, struct cp_io_delays *delays);
/* Return the quantile PER_MILLE/1000 of D's values in ticks: the middle of its bucket. */
uint64_t cp_io_counts_quantile(const struct cp_io_delays *d, unsigned per_mille);
/* Halve cp_io_counts_recent, or set it to 0. */
void cp_io_counts_forget_recent(bool half);
/* Set all counts to 0. While the mode is off. */
void cp_io_counts_forget(void);
/* In a fork child: give up the blocks. KEPT: the place where the only thread left keeps its block;
 * NULL: there is no such thread. */
void cp_io_counts_fork_child(struct cp_io_block **kept);

/* clang-format off */
/* io_event.c
 *
 * The event half of the I/O mode: measures calls, counts them, and records stacks.
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

/* The mode's part of a thread's record. */
struct cp_io_thread {
	struct cp_io_block *block; /* counts of its calls; NULL until the first call */
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

/* Return the time of another clock than the counter. Any context. */
uint64_t cp_io_event_clock(void);

static inline uint64_t cp_io_event_now(void)
{
	uint64_t ticks = cp_io_state.by_clock ? 0 : cp_ticks();

	return __builtin_expect(ticks != 0, 1) ? ticks : cp_io_event_clock();
}

/* Return true if calls are measured by the counter. */
static inline __attribute__((always_inline)) bool cp_io_event_is_usual(void)
{
	return cp_load_relaxed(&cp_io_active) == CP_IO_ON && !cp_load_relaxed(&cp_ticks_forbidden);
}

struct cp_io_on {
	const char *path; /* NULL: no path */
	int fd;		  /* with PATH NULL; below 0: no descriptor */
};

/* A call and its results. */
struct cp_io_call {
	uint64_t began;
	enum cp_io_op op;
	enum cp_fd_kind kind;
	uint64_t bytes;
	int error;	      /* errno, or another number that isn't 0; 0: the call succeeded */
	const void *function; /* libc's function, the leaf of the stack */
	struct cp_io_on on;   /* the object of the call, for the label target */
};

/* The call has ended. errno stays. */
void cp_io_event_ended(const struct cp_io_call *c);
/* The rest of a call that cp_io_hot_ended has counted and not settled. NOW: when it ended. */
void cp_io_event_settle(const struct cp_io_call *c, uint64_t now);
/* The same as cp_io_event_ended for a thread that may lack libc's TLS. */
void cp_io_event_ended_anywhere(const struct cp_io_call *c);

/* Tags of records and rows: op, kind, error (errno), and a number below 2^32. In a record the
 * number is that of the target (io_target.c). In a row, its low 8 bits are the size class. A record
 * has the call's bytes in LONGEST, which this mode has no other use for. */
#define CP_IO_TAG(op, kind, error, number)                                                         \
	((uint64_t)(op) << 56 | (uint64_t)(kind) << 48 | (uint64_t)(error) << 36 |                 \
	 (uint64_t)(number))
#define CP_IO_TAG_OP(tag) ((unsigned)((tag) >> 56))
#define CP_IO_TAG_KIND(tag) ((unsigned)((tag) >> 48 & 255))
#define CP_IO_TAG_ERROR(tag) ((unsigned)((tag) >> 36 & 4095))
#define CP_IO_TAG_NUMBER(tag) ((uint32_t)(tag))
#define CP_IO_CLASS_BITS 8

/* io_target.c
 *
 * The object of a recorded call: a path, or the address of a socket's peer. Paths and addresses are
 * personal data, so they are kept only if CPROF_IO_TARGET allows it. Each text is kept once, in the
 * store of label sets, whose limit includes them. */

/* How much of a path or an address is kept, in the order of the setting's names. */
enum cp_io_target { CP_IO_TARGET_NONE, CP_IO_TARGET_LAST, CP_IO_TARGET_FULL };

/* Return the number of the target of C, at most 2^24 - 1, as ALLOWED (enum cp_io_target) says; 0:
 * none. Any context. */
uint32_t cp_io_target_of(const struct cp_io_call *c, int allowed);
/* Return the text of a number that isn't 0. */
const char *cp_io_target_text(uint32_t number);

#define CP_IO_TARGET_TEXT 512 /* room for any target */
/* Write the peer of the internet socket FD to TO: "10.0.0.1:443", "[2001:db8:0:0:0:0:0:1]:443";
 * LAST: ":443". Returns false if it has none. Any context. */
bool cp_io_target_peer(char *to, int fd, bool last);
/* Return the last component of the path TEXT. */
const char *cp_io_target_last(const char *text);

/* Counts the usual call, with few instructions: one on something whose kind is known, in a thread
 * that has made such a call before. io_event.c handles the others, and uses the same steps. Any
 * context.
 */

/* The work that is left for a call. */
enum cp_io_left {
	CP_IO_NOT_COUNTED,  /* everything: call cp_io_event_ended */
	CP_IO_NOT_SETTLED,  /* its stack may be wanted: call cp_io_event_settle */
	CP_IO_LEFT_NOTHING, /* nothing is left */
};

/* Count a call in CELL, whose histogram is D. */
static inline void cp_io_hot_count(struct cp_io_cell *cell, struct cp_io_delays *d, uint64_t ticks,
				   uint64_t bytes, bool failed)
{
	cp_add_local(&cell->sums[CP_IO_CALLS], 1);
	cp_add_local(&cell->sums[CP_IO_TICKS], ticks);
	cp_add_local(&cell->sums[CP_IO_BYTES], bytes);
	cp_add_local(&cell->sums[CP_IO_ERRORS], failed);
	/* A handler in between may have stored a longer time, which is then lost. */
	if (__builtin_expect(ticks > cp_load_relaxed(&cell->longest), 0))
		cp_store_relaxed(&cell->longest, ticks);
	if (__builtin_expect(d != NULL, 1))
		cp_add_local(&d->bucket[cp_io_counts_bucket(ticks)], 1);
}

/* Is there no sampling point on the call that CELL has just counted, and that ended at NOW? */
static inline bool cp_io_hot_passes(const struct cp_io_cell *cell, uint64_t now)
{
	const struct cp_io_points *p = &cell->points;
	uint64_t below = now - cp_load_relaxed(&p->time);

	/* Each difference below 0 has the highest bit set. */
#pragma GCC unroll 4
	for (unsigned i = 0; i < CP_IO_SUMS; i++)
		below &= cp_load_relaxed(&cell->sums[i]) - cp_load_relaxed(&p->next[i]);
	return __builtin_expect((int64_t)below < 0, 1);
}

/* The call OP, which moved BYTES, began at BEGAN and ended at NOW. KNOWN: the kind of
 * what it was made on, plus 1; 0: not known. The thread's TLS is libc's. */
static inline enum cp_io_left cp_io_hot_ended(uint64_t began, uint64_t now, unsigned op,
					      unsigned known, uint64_t bytes, bool failed)
{
	const struct cp_self *self = &cp_self;
	struct cp_thread *t = self->thread;
	uint64_t ticks = now - began;
	struct cp_io_thread *mine;
	struct cp_io_delays *d;
	struct cp_io_block *b;
	struct cp_io_cell *cell;

	if (__builtin_expect(!known || !t || (self->in_capture | self->heap.guard) != 0 ||
				     began < cp_io_state.since || (int64_t)ticks <= 0,
			     0))
		return CP_IO_NOT_COUNTED;
	mine = cp_thread_part(t, &cp_io_thread_part);
	b = cp_load_relaxed(&mine->block);
	if (__builtin_expect(cp_load_relaxed(&t->paused) != 0 || !b, 0))
		return CP_IO_NOT_COUNTED;
	cell = &b->cell[op][known - 1];
	d = cp_load_relaxed(&cell->delays);
	if (__builtin_expect(!d, 0))
		return CP_IO_NOT_COUNTED;
	cp_io_hot_count(cell, d, ticks, bytes, failed);
	return cp_io_hot_passes(cell, now) ? CP_IO_LEFT_NOTHING : CP_IO_NOT_SETTLED;
}

/* io_wake.c
 *
 * Which pipe or eventfd a descriptor is, for wakers (sample/wakes.h): a thread that reads from it
 * waits for the thread that writes to it. Any context; errno stays. */

/* A read that takes less time than this didn't sleep. */
#define CP_IO_WAKE_NS_MIN 5000u

/* For a descriptor: cp_io_known's word for it when the number was asked, and the number; 0 = not
 * asked. */
extern uint64_t cp_io_wake_numbers[CP_IO_KNOWN];

static inline __attribute__((always_inline)) bool cp_io_wake_is_on(void)
{
	return __builtin_expect((cp_load_relaxed(&cp_wakes_on) & CP_WAKES_OF_IO) != 0, 0);
}

/* Ask the kernel which pipe or eventfd FD is. Returns its key, or 0 if it is neither. */
uint64_t cp_io_wake_ask(int fd);

/* Return the key of FD, a pipe or an eventfd; 0: it is something else. The two ends of a pipe have
 * one key. */
static inline uint64_t cp_io_wake_key(int fd)
{
	uint64_t number;
	uint32_t known;

	if ((unsigned)fd >= CP_IO_KNOWN)
		return cp_io_wake_ask(fd);
	known = cp_load_relaxed(&cp_io_known[fd]);
	number = cp_load_relaxed(&cp_io_wake_numbers[fd]);
	if (!(known & 255u) || (uint32_t)(number >> 32) != known)
		return cp_io_wake_ask(fd);
	return (uint32_t)number;
}

/* Return true if somebody may wait for a write to FD. Inlined: most writes cost only this. */
static inline bool cp_io_wake_is_awaited(int fd)
{
	uint64_t key = cp_io_wake_key(fd);

	return key && __builtin_expect(cp_wakes_awaited(key), 0);
}

/* The calling thread is about to read FD. Returns false if the read can't be a wait for a thread,
 * or isn't followed. */
bool cp_io_wake_wait(struct cp_wakes_wait *w, int fd);
/* The read has ended; ERROR: its errno, or 0. */
void cp_io_wake_waited(const struct cp_wakes_wait *w, int fd, int error, const void *function);
/* The calling thread is about to wake up to MOST readers of FD, which is awaited. */
void cp_io_wake(int fd, uint32_t most, const void *function);

#endif
