/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of lib/sample/, by the file that implements them. */
#ifndef CP_SAMPLE_WAKES_H
#define CP_SAMPLE_WAKES_H

#include "sample/lock_clock.h"

/* clang-format off */
/* waiters.c
 *
 * Which threads wait, by buckets of what they wait for, and which of their waits are drawn as
 * samples; wakes.c tells what for.
 *
 * A bucket's word counts the waits that are open. A thread that wakes reads the word, so that a
 * wake that nobody waits for costs no more than this.
 *
 * | data                  | written by                                | safe by                   |
 * |-----------------------|-------------------------------------------|---------------------------|
 * | a bucket's word       | waiting threads, the recount              | one atomic word           |
 * | a bucket's DRAWN      | the same                                  | one atomic word           |
 * | a thread's open wait  | the thread, its handlers                  | one atomic exchange       |
 *
 * A wait that is left by a cancellation or a jump stays open. The thread's next wait, or its end,
 * closes it; until then wakes of that bucket take a few ns longer. A handler may also jump away
 * while a wait is opened or closed, between the bucket's word and the thread's record. Then the word
 * counts a wait that no thread has, until the recount finds it.
 */
/* clang-format on */

#define CP_WAITERS_BITS 10
#define CP_WAITERS_BUCKETS (1u << CP_WAITERS_BITS)

struct cp_wakes_entries;

struct cp_waiters_bucket {
	/* The epoch of the newest wait; how many waits began in it, and how many before: 32, 16 and
	 * 16 bits. The lower half is 0 if nobody waits. */
	uint64_t word;
	/* For wakes.c. NEWEST: monotonic ns of the newest entry; 0: there was none. */
	uint64_t newest;
	struct cp_wakes_entries *entries;
	uint32_t drawn; /* drawn waits that are open */
	uint16_t draws; /* waits drawn in this window */
	uint8_t shift;	/* one wait in 2^SHIFT is drawn */
	uint8_t window; /* the window's number, its low bits */
};
extern struct cp_waiters_bucket cp_waiters_buckets[CP_WAITERS_BUCKETS];

static inline struct cp_waiters_bucket *cp_waiters_bucket_of(uint64_t key)
{
	return &cp_waiters_buckets[(key * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - CP_WAITERS_BITS)];
}

/* Return true if somebody may wait in B. */
static inline bool cp_waiters_awaited(const struct cp_waiters_bucket *b)
{
	return (uint32_t)cp_load_relaxed(&b->word) != 0;
}

/* Open a wait of T, the calling thread, in bucket B. BUDGET: draws per second and bucket, roughly.
 * Returns the weight of the wait as a sample; 0: it isn't drawn. Closes the wait that T had open.
 * Any context. */
uint32_t cp_waiters_open(struct cp_thread *t, struct cp_waiters_bucket *b, uint32_t budget);
/* Close the open wait, if any, of T: the calling thread or one that has ended. */
void cp_waiters_close(struct cp_thread *t);
/* Return true if one of the waits in B may become a sample: it was drawn, or lasts for a while. */
bool cp_waiters_are_needed(const struct cp_waiters_bucket *b);

/* Empty the buckets that count waits although no thread has one open there. Looks at most once a
 * second, and empties what didn't change between two looks. Under the collector's lock. */
void cp_waiters_recount(void);
/* In a fork child, on its only thread, with the record KEEP or NULL: nobody waits. Returns false if
 * nobody has ever waited. */
bool cp_waiters_fork_child(struct cp_thread *keep);

/* clang-format off */
/* wakes.c
 *
 * Who ended a wait: a wait for a condition, a semaphore, a pipe or the like becomes a sample whose
 * stack has two parts, that of the waiting thread and, after a mark, that of the thread that woke
 * it.
 *
 * A thread that is about to wait registers in the bucket of what it waits for (the KEY: an address,
 * or the number of a pipe). A thread that is about to wake somebody reads the bucket's word. Mostly
 * it is 0, because nobody waits, and nothing else happens. Otherwise, if one of the waits may become
 * a sample, the waking thread puts its stack into an entry of the bucket before it wakes. The thread
 * that was waiting looks for that entry afterwards.
 *
 * Which waits become samples: every wait that lasts CP_WAKES_LONG_NS or longer, with a weight of 1;
 * of the others one in 2^n, which is drawn when the wait begins, with a weight of 2^n. So chance
 * alone decides, and the expected sums over the waits of any two stacks are the true ones. A bucket
 * has its own n, which follows the rate of its waits. A waking thread therefore knows beforehand
 * whether its stack may be needed: somebody who was drawn waits, or somebody waits for a while.
 *
 * Each wake ends as many waits as it can: a post one, a broadcast all of them. Waits take the wakes
 * in their order, the oldest one first, as the kernel wakes threads; a barrier's waits take the
 * newest one, the last thread's.
 *
 * | data                  | written by                              | safe by                     |
 * |-----------------------|-----------------------------------------|-----------------------------|
 * | an entry's state      | waking threads, waiting threads         | one atomic word             |
 * | an entry's contents   | the waking thread, in state FILLING     | nobody else claims it       |
 * |                       | nobody while a thread has it pinned     | pins are counted in state   |
 */
/* clang-format on */

/* Limits of a bucket. An entry keeps the innermost CP_WAKES_DEPTH frames. The entries of a bucket
 * are mapped when it needs the first: 9 KiB, so 9 MiB in all buckets. */
#define CP_WAKES_ENTRIES 8u
#define CP_WAKES_DEPTH 128u
/* Waits from this length on are all samples. */
#define CP_WAKES_LONG_NS UINT64_C(20000000)

/* The modes whose waits are followed, as bits. */
extern uint32_t cp_wakes_on __attribute__((visibility("hidden")));
enum { CP_WAKES_OF_LOCK = 1, CP_WAKES_OF_IO = 2 };

/* Set by the control half before the mode's bit in cp_wakes_on; cp_wakes_set changes them later. */
struct cp_wakes_settings {
	uint64_t threshold_ns; /* shorter waits are not samples */
	uint64_t since;	       /* monotonic ns: only waits that begin later are samples */
	uint32_t budget;       /* draws per second and bucket, roughly */
};
/* Index 0 for CP_WAKES_OF_LOCK, 1 for CP_WAKES_OF_IO. */
extern struct cp_wakes_settings cp_wakes_settings[2];
void cp_wakes_set(unsigned of, uint64_t threshold_ns, uint32_t budget);

/* How a wait ended. */
enum cp_wakes_how {
	CP_WAKES_WOKEN,	      /* a thread woke it: it takes the oldest wake that nobody has taken */
	CP_WAKES_WOKEN_LAST,  /* the same with the newest wake */
	CP_WAKES_TIMED_OUT,   /* nobody woke it */
	CP_WAKES_INTERRUPTED, /* a signal handler of its thread ended it */
};

/* A wait, in the frame of the function that waits. */
struct cp_wakes_wait {
	uint64_t key;
	struct cp_lock_moment began;
	struct cp_thread *thread; /* NULL: the wait isn't followed */
	uint32_t weight;	  /* 0: the wait is no sample, unless it becomes long */
};

static inline uint64_t cp_wakes_key(const void *object)
{
	return (uint64_t)(uintptr_t)object;
}

/* Return true if somebody may wait for KEY: cp_wakes_wake must be called before the wake. */
static inline bool cp_wakes_awaited(uint64_t key)
{
	return cp_waiters_awaited(cp_waiters_bucket_of(key));
}

/* T, the calling thread or NULL, is about to wait for KEY since BEGAN, in a mode of CP_WAKES_OF_*.
 * Any context. */
void cp_wakes_begin(struct cp_wakes_wait *w, struct cp_thread *t, unsigned of, uint64_t key,
		    struct cp_lock_moment began);
/* The wait ended as HOW says, in libc's FUNCTION: record the sample, with TAG. */
void cp_wakes_end(const struct cp_wakes_wait *w, unsigned of, enum cp_wakes_how how, uint64_t tag,
		  const void *function);
/* Call instead of cp_wakes_end if there was no wait after all. */
void cp_wakes_cancel(const struct cp_wakes_wait *w);

/* A thread is about to wake up to MOST of the threads that wait for KEY. */
struct cp_wakes_wake {
	uint64_t key;
	uint32_t most;
	unsigned of;	      /* CP_WAKES_OF_* */
	const void *function; /* libc's function, the leaf of the waking thread's stack. NULL: no
				 stack is taken */
	/* Not NULL: changes the stack, which has room for DEPTH frames. */
	void (*change)(struct cp_record *record, unsigned depth, const void *arg);
	const void *arg;
};
#define CP_WAKES_ALL UINT32_MAX

/* T is about to do W: keep its stack if one of the waits may need it. T is the calling thread, or
 * NULL if it has no record. Call only if the key is awaited. Any context. */
void cp_wakes_wake(struct cp_thread *t, const struct cp_wakes_wake *w);

/* In a fork child, on its only thread, with the record KEEP or NULL: nobody waits. */
void cp_wakes_fork_child(struct cp_thread *keep);

/* Numbers since the process began. */
enum cp_wakes_count {
	CP_WAKES_KNOWN,	    /* samples with a waking thread's stack */
	CP_WAKES_UNKNOWN,   /* samples without one: no wake was seen */
	CP_WAKES_NO_STACK,  /* samples without one: the wake was seen, but no stack was taken */
	CP_WAKES_NOT_WOKEN, /* waits that timed out or were interrupted */
	CP_WAKES_COUNTS
};
extern uint64_t cp_wakes_counts[2][CP_WAKES_COUNTS];

#endif
