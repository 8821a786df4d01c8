/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of lib/sample/, by the file that implements them. */
#ifndef CP_SAMPLE_SAMPLE_H
#define CP_SAMPLE_SAMPLE_H

#include "base/arch.h"
#include "sample/thread.h"

/* The interface of every unwinder to the capture step, and the guarantees that an unwinder may
 * rely on.
 *
 * walk() runs in a signal handler or in malloc. It takes no lock, does not allocate, calls only
 * libc functions on the folder's allow-list, and makes no read that could fault. It reads the
 * stack only through cp_stackmem_*, and module memory only while the input says that modules are
 * stable.
 */

/* How the outermost recorded frame relates to the real end of the stack. */
enum cp_unwind_end {
	CP_UNWIND_COMPLETE,   /* the thread's start was reached */
	CP_UNWIND_TRUNCATED,  /* the depth limit cut it */
	CP_UNWIND_INCOMPLETE, /* ended at a frame without a rule, or at an unreadable or implausible
				 one */
};

struct cp_stackcopy;
struct cp_stackmem_room;

struct cp_unwind_input {
	struct cp_regs regs;		/* registers of the interrupted (or calling) frame */
	uint64_t stack_low, stack_high; /* this thread's stack, [low, high); both 0 = not known */
	bool stable_modules;		/* modules stay mapped until walk returns */
	bool own_tls;			/* no other thread has this thread's TLS (errno) */
	/* Not NULL: the stack is another thread's, and only its pc and sp are known. */
	struct cp_stackcopy *copy;
	/* A buffer for memory outside the thread's own stack (ring.h). NULL: each word costs a
	 * system call. */
	struct cp_stackmem_room *room;
};

struct cp_unwinder {
	const char *name; /* CPROF_UNWIND selects it by this name */

	/* Called once outside handlers, before the first walk. Returns 0, or a negative errno if
	 * the unwinder can't work here (a library or a port is missing). NULL = nothing to do. */
	int (*prepare)(void);

	/* Stores at most MAX (>= 1) program counters at PCS, innermost first, in the form that a
	 * profile needs: the leaf exact, callers as return address - 1, a frame that a signal
	 * interrupted exact. Returns their number (>= 1: the leaf is always stored) and sets
	 * *END. */
	unsigned (*walk)(const struct cp_unwind_input *in, uint64_t *pcs, unsigned max,
			 enum cp_unwind_end *end);

	/* Called after a module went away, with no walk in flight. Drops cached data. NULL =
	 * nothing to do. */
	void (*modules_changed)(void);
};

extern const struct cp_unwinder cp_unwinder_fp;
extern const struct cp_unwinder cp_unwinder_libunwind;
extern const struct cp_unwinder cp_unwinder_dwarf;

/* capture.c
 *
 * Takes a sample: enters the gate, unwinds, and records. The event half of every source calls these
 * functions. */

/* The control plane sets them before the first event. */
struct cp_capture_settings {
	const struct cp_unwinder *unwinder;
	unsigned max_depth; /* frames, 1..4096 */
	/* Called in the event's context when a ring becomes half full. */
	void (*wake)(void);
	bool times; /* records get the moment */
	/* the program restricts its system calls, so cp_capture_here makes none */
	bool restricted;
};

extern struct cp_capture_settings cp_capture_settings;

/* Kernel frames in an event's page of samples, leaf first; callers have return addresses. */
struct cp_kernel_frames {
	const uint64_t *words; /* their number is a power of two; indices wrap around */
	uint64_t mask, at;
	unsigned count;
};

/* One event; the fields are cp_record's. */
struct cp_event {
	enum cprof_mode mode;
	uint64_t count, weight, tag, more;
};

/* Records E with the stack of REGS for T, the calling thread, in the ring of T's signal handlers.
 * The caller has blocked all signals. Counts a sample that can't be recorded, and returns false.
 * Async-signal-safe. */
bool cp_capture(struct cp_thread *t, const struct cp_event *e, const struct cp_regs *regs);
/* The same from a hook, in T's ring of hooks. Signals needn't be blocked, because their handlers
 * use the other ring. libc's FUNCTION, if not NULL, becomes the leaf and replaces the profiler's
 * innermost frame. */
bool cp_capture_hook(struct cp_thread *t, const struct cp_event *e, const struct cp_regs *regs,
		     const void *function);

/* The same as cp_capture_hook, with all signals blocked. Below the leaf come MARK, a CP_PC_* of
 * ring.h, and the stack of BELOW, innermost frame first, if BELOW isn't NULL. */
bool cp_capture_below(struct cp_thread *t, const struct cp_event *e, const struct cp_regs *regs,
		      const void *function, const struct cp_record *below, uint64_t mark);

/* The same as cp_capture, with the kernel frames K on top of the stack. */
bool cp_capture_in_kernel(struct cp_thread *t, const struct cp_event *e, const struct cp_regs *regs,
			  const struct cp_kernel_frames *k);

/* The same as cp_capture with the stack of T's last sample, or with PC alone if T had no sample.
 * Used for events that are known only afterwards. */
bool cp_capture_repeat(struct cp_thread *t, const struct cp_event *e, uint64_t pc);

/* Unwinds REGS of T, the calling thread, into RECORD, at most DEPTH frames, without putting RECORD
 * into a ring. Used when the event is known only later. All signals are blocked. Returns false
 * without memory. */
bool cp_capture_stack(struct cp_thread *t, const struct cp_regs *regs, struct cp_record *record,
		      unsigned depth);
/* Stores the calling thread's stack from REGS on, without its first SKIP frames, into TO: up to
 * MAX return addresses, innermost first. Returns their number; 0 without memory or before an
 * unwinder is chosen. Async-signal-safe. */
unsigned cp_capture_here(const struct cp_regs *regs, unsigned skip, void **to, unsigned max);
/* Records E in T's ring of hooks, with the stack of RECORD, from cp_capture_stack, and its moment,
 * if it has one. */
bool cp_capture_put(struct cp_thread *t, const struct cp_event *e, const struct cp_record *record);

/* gate.c
 *
 * Callers that must not disturb captures in flight wait here: dlclose before a module can go away,
 * fork before libunwind's locks would be copied in a locked state.
 *
 * Captures are counted in one of two phases (as in sleepable RCU), so a waiter waits only for the
 * captures that began before it, however many follow.
 */

/* Called around every capture. Returns the phase, which goes to cp_gate_leave. Sets *STABLE to
 * true if no module can be unmapped before cp_gate_leave. */
unsigned cp_gate_enter(bool *stable);
void cp_gate_leave(unsigned phase);

/* From cp_gate_close to cp_gate_open, captures get stable = false. No capture that got true is
 * still in flight when cp_gate_close returns. Closings by several threads nest. Not from a
 * handler, because cp_gate_close waits. */
void cp_gate_close(void);
void cp_gate_open(void);
/* Waits for every capture that is in flight now. */
void cp_gate_wait(void);
/* Returns whether the gate is open. Enough for a caller that reads only its own stack and caches
 * of code: while the gate is open, no module on that stack lies where a cache still has an earlier
 * module. */
extern uint32_t cp_gate_closed __attribute__((visibility("hidden")));
static inline bool cp_gate_is_open(void)
{
	/* Acquire: the caller sees the caches as they were emptied before the gate opened. */
	return cp_load_acquire(&cp_gate_closed) == 0;
}

/* Returns how often modules may have gone away so far. */
uint32_t cp_gate_openings(void);

/* In a fork child: ends the other captures; STILL of the caller's own closings go on. */
void cp_gate_fork_child(unsigned still);

/* own_time.c
 *
 * CPU time that the profiler, not the program, used outside of handlers and hooks. This is all
 * time of the collector's task, with its sleeps and wake-ups, and the drains and dumps that a
 * thread of the program does in its place. The latter is in the thread's record, too, so that the
 * CPU mode leaves it out of the samples.
 */

/* Called in the collector's task, around all its work. */
void cp_own_time_task_begin(void);
void cp_own_time_task_end(void);

/* Called around every drain and dump, under the collector's lock, on the thread that does the
 * work. */
void cp_own_time_work_begin(void);
void cp_own_time_work_end(void);

/* Returns the CPU time so far, in ns. Under the collector's lock. */
uint64_t cp_own_time(void);

/* In a fork child, whose clocks begin anew: resets the time to 0. */
void cp_own_time_fork_child(void);

/* perf_event.c
 *
 * A thread's perf event: the kernel's task clock, which samples at any rate, or a count of
 * something else, such as page faults. Where the event hits the kernel, the sample includes that
 * part of the stack, too.
 *
 * No descriptor is kept. The mapping keeps the event's file open, and with it the event, its owner
 * and its signal, so the descriptor is closed as soon as the event is mapped. The program therefore
 * can't close the profiler's descriptor, does not run out of descriptors because of it, and never
 * sees one.
 *
 * A change that needs the descriptor, such as another period, needs a new event instead. The period
 * is random: a program that works in cycles must not run in step with it. It is drawn anew for
 * every event, and a hit counts for the period of its event, so sums stay true.
 *
 * An event is made by a mode's control half or, anew, by the thread's own handler. The control half
 * ends it. BUSY and the mode's word that says that it runs are a Dekker pair: a handler that sets
 * BUSY and then sees the mode running has the event for itself until it clears BUSY.
 */

/* An event to count, by the kernel's numbers for perf_event_open. */
struct cp_perf_what {
	uint32_t type;	 /* PERF_TYPE_* */
	bool user;	 /* counts in the program only, not in the kernel */
	uint64_t config; /* which event of that type */
};

struct cp_perf {
	/* NULL: the task clock. It stays there while the event exists. */
	const struct cp_perf_what *what;
	void *pages;	 /* the control page and, after it, one page of samples; NULL: no event */
	uint64_t period; /* weight of a hit; ns of the task clock, else events */
	uint64_t first;	 /* the first event's period */
	uint64_t credit; /* ns that are left over after whole sampling periods */
	uint64_t due;	 /* when the first hit is due, by the thread's CPU clock, ns; 0: unknown */
	uint64_t random;
	void *past;    /* pages of the first event, which doesn't hit any more; NULL: returned */
	uint32_t left; /* number of hits until the event is made anew */
	bool once;     /* this is the first event; the task clock's first event hits once */
	bool hit;      /* the first event has hit */
	uint32_t busy; /* the handler is using the event */
	int32_t fd;    /* the descriptor number in the event's signals; no longer open */
};

/* Give thread TID, this one or another, an event of P->what that hits first after FIRST: a random
 * part of about BASE, at most 10^9 (ns of the task clock, else events). The first hit counts for a
 * whole period, so that threads that live shorter have their share on average. P must have no
 * event. Returns 0 or a negative errno. */
int cp_perf_event_open(struct cp_perf *p, int tid, uint64_t first, uint64_t base);
/* Make this thread's event anew, with another period of about BASE, when LEFT is used up.
 * Returns 0, or a negative errno: there is no event any more. If a renewal fails after an earlier
 * one succeeded, the old event goes on. Called in the thread's handler. */
int cp_perf_event_renew(struct cp_perf *p, int tid, uint64_t base);
/* Unmap PAST, if any. Called at the second hit, in the thread's handler. */
void cp_perf_event_forget(struct cp_perf *p);
/* End the event, if any. Not while BUSY. */
void cp_perf_event_close(struct cp_perf *p);

/* Return how many hits the oldest record counts for, including those that the page had no room for;
 * 0 if there is no record. Sets *FRAMES to its kernel frames, and *TAIL to the end of the record.
 */
unsigned cp_perf_event_next(const struct cp_perf *p, struct cp_kernel_frames *frames,
			    uint64_t *tail);
/* Return how far the kernel has written. A record whose tail, from cp_perf_event_next, is beyond
 * this value came later. */
uint64_t cp_perf_event_written(const struct cp_perf *p);
/* Return the page to the kernel up to TAIL, as cp_perf_event_next set it. */
void cp_perf_event_release(const struct cp_perf *p, uint64_t tail);

/* Convert HITS into a number of sampling periods of BASE_NS. The remainder is kept in P. */
uint64_t cp_perf_event_credit(struct cp_perf *p, uint64_t hits, uint64_t base_ns);

/* Return how many events HITS of P represent. Not for the task clock, whose first event hits once.
 */
uint64_t cp_perf_event_weight(struct cp_perf *p, uint64_t hits);

/* Return true if the program itself made FD send SIGPROF to this thread. */
bool cp_perf_event_is_programs(int fd);

/* poisson.c
 *
 * The arithmetic of sampling by bytes: a Poisson process over the bytes that a thread allocates.
 *
 * Every byte is a sampling point with probability 1/interval, independently. An allocation is
 * sampled if it contains a sampling point, with p = 1 - e^(-size/interval); a sampled allocation
 * represents 1/p allocations of its size. Called inside malloc and free, so libm isn't used,
 * because it could set errno.
 */

/* Objects are counted in units of 1/65536, because a weight is seldom whole. */
#define CP_POISSON_ONE_SHIFT 16
#define CP_POISSON_ONE (UINT64_C(1) << CP_POISSON_ONE_SHIFT)

/* Returns the bytes to the next sampling point, >= 1: exponential with mean INTERVAL >= 1. *STATE
 * is the thread's random state and must not be 0. */
uint64_t cp_poisson_draw(uint64_t *state, uint64_t interval);

/* Returns how many allocations of SIZE bytes one sampled allocation represents, >= 1. Relative
 * error below 1e-12. */
double cp_poisson_weight(uint64_t size, uint64_t interval);

/* Sets *OBJECTS to the same number in units of 1/CP_POISSON_ONE, and *BYTES to the number times
 * SIZE, in whole bytes. With INTERVAL 1 every allocation is sampled, and the values are exact. */
void cp_poisson_estimate(uint64_t size, uint64_t interval, uint64_t *objects, uint64_t *bytes);
static inline void cp_poisson_stands_for(uint64_t size, uint64_t interval, uint64_t *objects,
					 uint64_t *bytes)
{
	if (interval > 1) {
		cp_poisson_estimate(size, interval, objects, bytes);
		return;
	}
	*objects = CP_POISSON_ONE;
	*bytes = size;
}

/* Returns the natural logarithm of U in (0, 1]; for tests. */
double cp_poisson_log(double u);

/* Returns a nonzero random state made from a seed and a number. */
uint64_t cp_poisson_seed(uint64_t seed, uint64_t number);

/* ticks.c
 *
 * The processor's counter: a clock of constant rate, read without a system call. Any context.
 *
 * A program may forbid itself to read the counter (prctl's PR_SET_TSC); the kernel then kills a
 * thread that reads it. The vdso's clocks read the counter, too. Once a thread has forbidden it,
 * no handler and no hook in any thread ever reads the counter again. Its measurements are then
 * skipped, or use a system call.
 */

extern uint32_t cp_ticks_forbidden __attribute__((visibility("hidden")));

/* Returns the counter, or 0 if reading is forbidden. */
static inline uint64_t cp_ticks(void)
{
	return __builtin_expect(cp_load_relaxed(&cp_ticks_forbidden) != 0, 0) ? 0 : cp_arch_ticks();
}

/* Returns the present moment: the counter or, where it is forbidden, the monotonic clock with this
 * bit. cp_times_ns makes ns of both. */
#define CP_MOMENT_IS_NS (UINT64_C(1) << 63)
uint64_t cp_ticks_moment(void);

/* Called before the calling thread makes this prctl: notes whether it forbids the counter. */
void cp_ticks_see_prctl(int option, unsigned long value);
/* Asks the kernel whether the calling thread was forbidden the counter earlier. */
void cp_ticks_ask(void);

/* Times handlers and hooks without a system call. The processor's counter runs at a constant rate,
 * which is measured against the clock over the whole run (lib/output/run.c).
 *
 * The counter goes on while a thread is preempted. A handler comes with the kernel's tick, and so
 * does preemption. A handler run that takes many times as long as the earlier ones says nothing
 * about the cost of handlers, and is left out.
 */

#define CP_TIMING_LEARN 16 /* runs before the mean is used */
#define CP_TIMING_MAX 16   /* runs of this multiple of the mean are left out */

static inline uint64_t cp_timing_begin(void)
{
	return cp_ticks();
}

static inline void cp_timing_end(enum cprof_mode mode, uint64_t began)
{
	uint64_t now = cp_ticks(), took = now - began, n = cp_counted_mode(mode, CP_COUNT_TIMED);

	/* The program forbids the counter, so nothing is timed. */
	if (!now)
		return;
	if (n >= CP_TIMING_LEARN &&
	    took / CP_TIMING_MAX > cp_counted_mode(mode, CP_COUNT_TIMED_TICKS) / n)
		return;
	cp_count_mode(mode, CP_COUNT_TIMED, 1);
	cp_count_mode(mode, CP_COUNT_TIMED_TICKS, took);
}

#endif
