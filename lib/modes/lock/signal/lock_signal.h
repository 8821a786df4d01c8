/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of lib/modes/lock/signal/, by the file that implements them. */
#ifndef CP_MODES_LOCK_SIGNAL_LOCK_SIGNAL_H
#define CP_MODES_LOCK_SIGNAL_LOCK_SIGNAL_H

#include "sample/wakes.h"

/* clang-format off */
/* lock_holder.c
 *
 * Who made others wait: a sampled wait is divided among the unlocks that came while it lasted.
 *
 * A thread that is about to wait notes in the bucket of the lock's address from when on its wait is
 * sampled (lock_sample.c knows that before the wait). A thread that unlocks a lock with waiters reads
 * the bucket. If one of the noted moments has come, or comes soon, it leaves an entry with the time
 * of the unlock, and puts its stack into the entry when the lock is free again. The thread that has
 * waited finds the entries afterwards, and adds its delay, with the weight of the sample, to those of
 * them that caused it. A later unlock of the bucket, or the collector, takes out what was added.
 *
 * An unlock causes the time from the unlock before it, or from the begin of the wait, to itself. The
 * time until the waiter runs belongs to the last unlock. A wait that is sampled surely is divided by
 * these times. Of a wait that is sampled because of a point on the line of delay, only the unlocks
 * from that point on have an entry: the first of them gets all of it, because the chance that the
 * point lies in its part is in proportion to that part. What no entry is found for is the row
 * [holder unknown]. So the parts of a sample sum to the sample.
 *
 * A thread takes a limited number of such stacks. If the limit is reached, only the first unlock after
 * a noted moment is recorded, and the unlocks that have no entry count for the next one.
 *
 * A bucket has a limited number of entries. When few of them are free, the thread that has unlocked
 * frees one: of two unlocks in succession, one stands for both from then on, and has the time of the
 * later one.
 *
 * An entry's state is one word: a generation in the upper half, threads that are adding or reading
 * (pins), and two flags.
 *
 * | from       | to             | by                                                            |
 * |------------|----------------|---------------------------------------------------------------|
 * | any, no pin| HIDDEN, next   | the unlocking thread, if it is free and nothing is left in it |
 * | HIDDEN     | OPEN           | the same: lock and time are set; waiters may add              |
 * | OPEN       | no flag        | the same: the record holds the stack; it may be read and used |
 */
/* clang-format on */

/* The innermost frames that an entry keeps. */
#define CP_LOCK_HOLDER_DEPTH 128u

struct cp_holder {
	uint64_t state;
	const void *lock;
	uint64_t time; /* of the unlock, monotonic ns; 0 or before the run: the entry is free */
	uint64_t who;  /* the unlocking thread: cp_thread_who */
	/* Amounts that were added and not taken out yet; waits in units of 1/CP_LOCK_HOLDER_WAIT.
	 * SPREAD is the part of the delay that was not itself sampled: other waits, which the
	 * sampled ones represent. */
	uint64_t waits, delay, spread;
	uint64_t until; /* when such a wait ended, monotonic ns */
	uint64_t record[CP_RECORD_WORDS(CP_LOCK_HOLDER_DEPTH)];
};
#define CP_LOCK_HOLDER_WAIT 65536u

/* A count of an event: waits in units of 1/CP_LOCK_HOLDER_WAIT, and in the upper bits the part, 0
 * to 1, of these waits that was sampled itself, in units of 1/CP_LOCK_HOLDER_OWN. */
#define CP_LOCK_HOLDER_OWN 65535u
#define CP_LOCK_HOLDER_OWN_SHIFT 48
static inline uint64_t cp_lock_holder_count(uint64_t waits, double own)
{
	return (uint64_t)(own * CP_LOCK_HOLDER_OWN + 0.5) << CP_LOCK_HOLDER_OWN_SHIFT |
	       (waits & ((UINT64_C(1) << CP_LOCK_HOLDER_OWN_SHIFT) - 1));
}
static inline double cp_lock_holder_waits(uint64_t count)
{
	return (double)(count & ((UINT64_C(1) << CP_LOCK_HOLDER_OWN_SHIFT) - 1)) /
	       CP_LOCK_HOLDER_WAIT;
}
static inline double cp_lock_holder_own(uint64_t count)
{
	return (double)(count >> CP_LOCK_HOLDER_OWN_SHIFT) / CP_LOCK_HOLDER_OWN;
}

/* The least mean time between two stacks of unlocks of a thread, in us; set by lock.c. */
extern uint32_t cp_lock_holder_pace;

/* The note of a thread that waits. */
struct cp_lock_note {
	uint32_t *slot; /* NULL: not noted */
	uint32_t from;
};

/* Note that T, the calling thread, begins to wait for LOCK at BEGAN, and is sampled if it waits for
 * AFTER ns. */
void cp_lock_holder_note(struct cp_lock_note *n, const struct cp_thread *t, const void *lock,
			 struct cp_lock_moment began, uint64_t after);
/* Remove the note; the wait is over. Inlined, because the lock is held now. */
static inline void cp_lock_holder_unnote(const struct cp_lock_note *n)
{
	/* Leave a slot that another thread has taken in the meantime. */
	if (n->slot && cp_load_relaxed(n->slot) == n->from)
		cp_store_relaxed(n->slot, 0);
}

/* T is about to unlock LOCK, which it holds while another thread waits. CREDIT: of T, for the limit
 * of stacks. Returns false if this unlock needs no entry. Sets *TO to the entry, to be closed after
 * the unlock; NULL: none is empty. */
bool cp_lock_holder_open(struct cp_thread *t, uint64_t *credit, const void *lock,
			 struct cp_holder **to);
/* Close H, whose record holds the stack, or no frames. DONE: the lock was unlocked. */
void cp_lock_holder_close(struct cp_holder *h, bool done);
/* Free an entry for later unlocks of LOCK, if few are free, and empty those that are free: their
 * waits go into T's ring. T, the calling thread, has all signals blocked. */
void cp_lock_holder_make_room(struct cp_thread *t, const void *lock);
static inline struct cp_record *cp_lock_holder_record(struct cp_holder *h)
{
	return (void *)h->record;
}

/* A sampled wait. */
struct cp_lock_waited {
	const void *lock;
	uint64_t began, ended;	/* monotonic ns */
	const uint64_t *points; /* NULL: it is divided by time; otherwise, by these moments */
	unsigned count;		/* number of points, at least 1 */
	bool got;		/* the lock was acquired */
	double weight;		/* number of waits that it represents */
	uint64_t ender;		/* the thread whose unlock ended it; 0 = not known */
};
/* Add the parts of W to the entries of the unlocks that caused it, and set its ENDER. Returns the
 * part, 0 to 1, that no entry was found for. */
double cp_lock_holder_divide(struct cp_lock_waited *w, uint64_t self);

/* Take out the waits that were added to an entry, from number *NEXT on; *NEXT moves past it. Sets
 * *E. Returns the entry, which the caller must give back; NULL: no entry is left. For the
 * collector. */
struct cp_holder *cp_lock_holder_read(uint32_t *next, struct cp_event *e);
void cp_lock_holder_give_back(struct cp_holder *h);
/* The same for entries whose thread is still taking its stack: the waits stay in them. Returns
 * false if no entry is left. */
bool cp_lock_holder_look(uint32_t *next, struct cp_event *e);
/* Discard all that was added until now, which belongs to an earlier run. */
void cp_lock_holder_forget(void);
/* In a fork child, on its only thread: nobody waits, and no unlock is remembered. */
void cp_lock_holder_fork_child(void);

/* Return the counter of the readers that are about to unlock LOCK, or a lock of its bucket. */
uint32_t *cp_lock_holder_leaving(const void *lock);

/* lock_sample.c
 *
 * Chooses the waits whose stacks are taken, and says how many waits each of them stands for.
 *
 * Pure arithmetic on a state that belongs to one thread and one kind of lock; called by
 * lock_event.c. All waits are counted, with their delay. So the mode knows these totals exactly,
 * and scales the sampled waits to them (profile/profile.h).
 *
 * Waits are laid end to end on a line. The length of a wait on it is its measure: the wait's share
 * of the waits so far plus its share of the delay so far, times a constant, and at least PER_NS for
 * each ns of delay. There are points on the line, 0.5 to 1.5 apart, 1 in the mean. A wait with a
 * point on it is sampled. So the first waits of a thread, and long ones, are sampled surely; later
 * ones by chance, in proportion to what they add. The waits so far are those of the last second or
 * two, and a thread can't wait more than a second per second, so a long run has a steady rate of
 * samples.
 */

struct cp_lock_rates {
	float events; /* the share that doesn't depend on the delay */
	float per_ns; /* smallest measure of 1 ns of delay */
};

/* Stacks that a thread has recorded per second, roughly, in a long run. */
#define CP_LOCK_BUDGET 100u
/* Waits of this number per thread and kind are sampled surely, whatever the budget. */
#define CP_LOCK_SAMPLE_FIRST 32u

struct cp_lock_stratum {
	uint64_t count, delay; /* all waits, exactly */
	float left;	       /* measure up to the next point */
	uint32_t recent;       /* waits so far, halved each second */
	uint64_t halved;       /* monotonic ns: when RECENT was halved last */
};

/* Return the rates for BUDGET stacks per second and thread: at 0.75 points for each of them a wait
 * of 2 s / BUDGET is sampled surely. */
static inline struct cp_lock_rates cp_lock_sample_rates(unsigned budget)
{
	float events = 1.5f * CP_LOCK_SAMPLE_FIRST;

	return (struct cp_lock_rates){ .events = (float)budget / 2 > events ? (float)budget / 2
									    : events,
				       .per_ns = 0.75e-9f * (float)budget };
}

/* Return the ns of delay after which a wait that begins now is sampled, if S has no other wait
 * meanwhile; 0: it is sampled however short it is. */
uint64_t cp_lock_sample_after(const struct cp_lock_stratum *s, struct cp_lock_rates r);
/* A wait of DELAY ns in S has ended at NOW. Returns how many waits it represents, 1 or more, if it
 * is sampled; otherwise 0. *RANDOM is the generator's state; 0 = not seeded. */
double cp_lock_sample_wait(struct cp_lock_stratum *s, uint64_t *random, uint64_t now,
			   uint64_t delay, struct cp_lock_rates r);
/* Count this wait, after its sample: what is counted has its sample (profile/profile.h). */
void cp_lock_sample_count(struct cp_lock_stratum *s, uint64_t delay);
/* Return the ns of delay to another point. */
uint64_t cp_lock_sample_gap(const struct cp_lock_stratum *s, uint64_t *random,
			    struct cp_lock_rates r);

/* clang-format off */
/* lock_event.c
 *
 * The frame that a stack of an unlock lacks: a function that ends with the unlock may jump to it (a
 * tail call), and then the function is no longer on the stack. Compilers do that at -O2 to every
 * lock_guard at the end of a function.
 *
 * The unlock returns to the caller of that function. The call instruction before that address tells
 * which frame is missing:
 *
 * | called                      | the frame that is missing            |
 * |-----------------------------|--------------------------------------|
 * | the unlock                  | none                                 |
 * | another function            | this function: its first address     |
 * | unknown: through a register | unknown: the stack stays as it is    |
 */

/* clang-format on */

struct cp_lock_unlock_call {
	const void *function; /* the interposed unlock function; NULL: nothing is missing */
	const void *caller;   /* its return address */
};

/* Add the missing frame to RECORD, the stack of a CALL that unlocked a lock. RECORD has room for
 * DEPTH frames. */
void cp_lock_event_tail(const struct cp_lock_unlock_call *call, struct cp_record *record,
			unsigned depth);

/* The event half of the lock source: the interposed lock functions report here.
 *
 * They call it on the program's threads, in any context in which the program takes locks: before
 * the profiler's constructor, in malloc, in fork handlers, after exit. No function here waits, and
 * errno is preserved.
 */

/* cp_lock_on: waits are measured. cp_lock_holders_on: the unlocks that end them are, too. */
extern uint32_t cp_lock_on, cp_lock_holders_on;

/* Knowledge about locks, by their addresses: CP_LOCK_CONTENDED, or a count of how often they were
 * free, from CP_LOCK_UNKNOWN down to 0. It is the only value read before every lock, so it is all 0
 * while the mode is off. All accesses are relaxed: the value only says what to try first. */
#define CP_LOCK_KNOWN 4096u
#define CP_LOCK_UNKNOWN 64u
#define CP_LOCK_CONTENDED 255u
extern uint8_t cp_lock_known[CP_LOCK_KNOWN];

static inline uint8_t *cp_lock_known_at(const void *lock)
{
	return &cp_lock_known[((uintptr_t)lock >> 4) % CP_LOCK_KNOWN];
}

/* Note that LOCK is waited for. All threads that take LOCK read the cache line of this byte, so it
 * is written once. */
static inline void cp_lock_mark(const void *lock)
{
	uint8_t *at = cp_lock_known_at(lock);

	if (cp_load_relaxed(at) != CP_LOCK_CONTENDED)
		cp_store_relaxed(at, CP_LOCK_CONTENDED);
}

/* Note that LOCK was free another time: count its byte down, unless the lock is contended. A mark
 * that another thread sets meanwhile stays, because unlocks of read-write locks depend on it. */
static inline void cp_lock_was_free(const void *lock)
{
	uint8_t *at = cp_lock_known_at(lock), known = cp_load_relaxed(at);

	if (known && known != CP_LOCK_CONTENDED)
		cp_cas_acqrel(at, &known, (uint8_t)(known - 1));
}

/* Set the state of all locks. Call at the begin and the end of the mode. */
void cp_lock_event_know(uint8_t state);

/* Written by the control half (lock.c) before cp_lock_on and cp_lock_holders_on are set. */
struct cp_lock_state {
	uint64_t threshold_ns; /* shorter waits are counted without a stack */
	struct cp_lock_rates rates;
	/* Register the calling thread, which has no record (cp_threads_register_foreign). Returns
	 * NULL if that fails. */
	struct cp_thread *(*register_thread)(void);
};
extern struct cp_lock_state cp_lock_state;

/* The kinds of locks, which are sampled and calibrated each by itself. */
enum cp_lock_kind {
	CP_LOCK_MUTEX, /* from here on: the thread that unlocks it lets a waiter go */
	CP_LOCK_RWLOCK,
	CP_LOCK_SPIN, /* from here on: no thread is known to hold it */
	CP_LOCK_COND,
	CP_LOCK_SEM,
	CP_LOCK_BARRIER,
	CP_LOCK_FUTEX, /* its thread may have no libc TLS */
	CP_LOCK_KINDS
};
static inline bool cp_lock_has_holder(enum cp_lock_kind kind)
{
	return kind < CP_LOCK_SPIN;
}

/* A row's tag, and a record's: the lock, and its kind above the bits of an address. */
#define CP_LOCK_KIND_SHIFT 60
static inline uint64_t cp_lock_tag(const void *lock, enum cp_lock_kind kind)
{
	return (uint64_t)(uintptr_t)lock | (uint64_t)kind << CP_LOCK_KIND_SHIFT;
}
static inline uint64_t cp_lock_of_tag(uint64_t tag)
{
	return tag & ((UINT64_C(1) << CP_LOCK_KIND_SHIFT) - 1);
}
static inline enum cp_lock_kind cp_lock_kind_of_tag(uint64_t tag)
{
	return (enum cp_lock_kind)(tag >> CP_LOCK_KIND_SHIFT);
}

/* Waits counted without a stack, for locks with a holder and for others. */
enum cp_lock_bulk {
	CP_LOCK_SHORT, /* shorter than the threshold */
	CP_LOCK_SHORT_HELD,
	CP_LOCK_LOST, /* their thread could not be registered */
	CP_LOCK_LOST_HELD,
	CP_LOCK_BULKS
};
struct cp_lock_sum {
	uint64_t count, delay;
};

/* The lock mode's part of a thread's record. Written by the thread, except for TOLD. */
struct cp_lock_part {
	uint64_t random;
	uint64_t credit; /* credit for taking stacks of unlocks */
	struct cp_lock_note note;
	uint64_t holds; /* not 0: a stack of its unlocks was taken */
	struct cp_lock_sum short_waits[2];
	struct cp_lock_stratum kinds[CP_LOCK_KINDS];
	struct cp_lock_sum told_short[2],
		told[CP_LOCK_KINDS]; /* the sums that lock.c has taken into account */
};
extern const struct cp_lock_part cp_lock_part CP_THREAD_PART;
static inline struct cp_lock_part *cp_lock_part_of(const struct cp_thread *t)
{
	return cp_thread_part(t, &cp_lock_part);
}

/* A wait, in the frame of the function that waits. */
struct cp_lock_wait {
	const void *lock;
	struct cp_lock_moment began;
	uint64_t after; /* ns after which the wait is sampled; only for locks with a holder */
	struct cp_lock_note note;
	enum cp_lock_kind kind;
};

/* The calling thread is about to wait for LOCK. */
void cp_lock_event_begin_wait(struct cp_lock_wait *w, const void *lock, enum cp_lock_kind kind);
/* The calling thread has waited in libc's FUNCTION, the leaf of its stack. GOT: it has the lock. */
void cp_lock_event_waited(const struct cp_lock_wait *w, const void *function, bool got);
/* Call instead of cp_lock_event_waited if there was no wait after all. */
static inline void cp_lock_event_no_wait(const struct cp_lock_wait *w)
{
	cp_lock_holder_unnote(&w->note);
}

/* An unlock that lets a waiter go. cp_lock_event_release_begin is called before the unlock, with
 * the lock held. It reads a cache line, and a clock only for an unlock that is recorded. */
struct cp_lock_release {
	const void *lock;
	bool wanted;		  /* the unlock needs an entry */
	struct cp_holder *holder; /* the entry; NULL: none was empty */
	/* Set between begin and end, if the unlock may be a tail call. */
	struct cp_lock_unlock_call call;
};
void cp_lock_event_release_begin(struct cp_lock_release *r, const void *lock);
/* Call after the unlock, with the lock free: takes the stack. DONE: the lock was unlocked. */
void cp_lock_event_release_end(struct cp_lock_release *r, const void *function, bool done);

/* Return true if TID, a lock's owner, is the calling thread. */
bool cp_lock_event_is_self(int tid);

/* Call when T, the calling thread, ends. */
void cp_lock_event_thread_end(struct cp_thread *t);

/* Returns the waits, since the process began, of threads without a record. */
struct cp_lock_sum cp_lock_event_counted(enum cp_lock_bulk kind);

/* lock_wake.c
 *
 * Wakes of threads that wait for conditions, semaphores, barriers, futexes and ends of threads; see
 * sample/wakes.h. Called by the interposed functions, in any context. errno is preserved.
 */

/* The thread may have no libc TLS: futex. */
#define CP_LOCK_ANY_THREAD 1u

/* Return true if somebody may wait for OBJECT; cp_lock_wake must then be called for a wake.
 * Inlined, because most wakes cost only this. */
static inline bool cp_lock_wake_is_awaited(const void *object)
{
	return __builtin_expect(cp_wakes_awaited(cp_wakes_key(object)), 0);
}

/* The calling thread is about to wake up to MOST threads that wait for OBJECT, in libc's FUNCTION.
 * CALL: as for an unlock, or NULL if this is no tail call. FLAGS: CP_LOCK_ANY_THREAD or 0. */
void cp_lock_wake(const void *object, uint32_t most, const void *function,
		  const struct cp_lock_unlock_call *call, unsigned flags);
/* T, the calling thread, ends, and may be joined as JOINED. */
void cp_lock_wake_by_end(struct cp_thread *t, const void *joined);

/* The calling thread is about to wait for OBJECT since BEGAN. */
void cp_lock_wake_wait(struct cp_wakes_wait *w, const void *object, struct cp_lock_moment began,
		       unsigned flags);

#endif
