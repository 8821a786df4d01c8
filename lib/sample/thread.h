/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of lib/sample/, by the file that implements them. */
#ifndef CP_SAMPLE_THREAD_H
#define CP_SAMPLE_THREAD_H

#include "base/atomic.h"
#include "sample/ring.h"

/* Counts of samples and their fate, by mode and cause. One instance per process. Samples are rare,
 * so shared relaxed counters have no measurable cost. Relaxed is enough, because the numbers are
 * independent of each other and only reported. */

enum cp_count {
	CP_COUNT_MISSED,	 /* expiries after a thread's last kernel tick */
	CP_COUNT_NOT_SAMPLED,	 /* those of them that are in the row of CP_PC_NOT_SAMPLED */
	CP_COUNT_SIGNALS,	 /* profiling signals taken by the profiler's handler */
	CP_COUNT_SAMPLES,	 /* records put into a ring */
	CP_COUNT_EXPIRIES,	 /* timer expiries in those records (overruns included) */
	CP_COUNT_LOST_RING,	 /* expiries dropped: ring full */
	CP_COUNT_LOST_MEMORY,	 /* expiries dropped: no page for a ring */
	CP_COUNT_LOST_THREAD,	 /* expiries dropped: thread not registered */
	CP_COUNT_LOST_PAUSED,	 /* expiries not taken: cprof_thread_pause */
	CP_COUNT_TRUNCATED,	 /* stacks cut at the depth limit */
	CP_COUNT_INCOMPLETE,	 /* stacks whose start was not reached */
	CP_COUNT_TIMED,		 /* handler runs that were timed: see sample.h */
	CP_COUNT_TIMED_TICKS,	 /* the sum of their ticks */
	CP_COUNT_THREADS,	 /* threads that were given a timer */
	CP_COUNT_TIMER_FAILURES, /* threads for which timer_create failed */
	CP_COUNT_EVENTS,	 /* threads that were given a perf event */
	CP_COUNT_EVENT_NS,	 /* CPU time in handlers, spent on making perf events anew */
	CP_COUNT_EVENT_FAILURES, /* threads that got a timer because they could get no perf event */
	CP_COUNT_OWN_HITS,	 /* hits of events in the profiler's own work */
	CP_COUNT_FOREIGN_THREADS, /* threads found by the sweep or a hook, not made by
				     pthread_create */
	CP_COUNT_LOST_AGGREGATE,  /* expiries dropped: the collector's memory limit */
	CP_COUNT_LOST_LABELS,	  /* samples without their labels: too many different sets */
	CP_COUNT_LABELS_REFUSED,  /* labels that could not be set, or were cut */
	CP_COUNT_UNSEEN_FREES,	  /* blocks that were allocated again without an observed free */
	CP_COUNT_BURSTS_NS, /* CPU time of threads whose bursts were counted (collect/collect.h) */
	CP_COUNT_SHORT_BURSTS_NS, /* the part of it in threads that run for less than a tick at a
				     time */
	CP_COUNT_LOST_SPANS,	  /* spans whose latency was not kept: too many names */
	CP_COUNT_LOST_TIMES,	  /* spans and blocks that no time index has: diary.h */
	CP_COUNT_DUMPS,		  /* files written */
	CP_COUNT_DUMP_FAILURES,	  /* files that could not be written */
	CP_COUNTS
};

/* CPU time and number of waits of a thread when its bursts were counted last. */
struct cp_bursts {
	uint64_t ran, waits;
};

extern uint64_t cp_counters[CP_MODES][CP_COUNTS];

static inline void cp_count_mode(unsigned mode, enum cp_count what, uint64_t n)
{
	cp_add_relaxed(&cp_counters[mode][what], n);
}

static inline uint64_t cp_counted_mode(unsigned mode, enum cp_count what)
{
	return cp_load_relaxed(&cp_counters[mode][what]);
}

/* Counts for the CPU mode. Threads and signals, which belong to no mode, are counted here, too. */
static inline void cp_count(enum cp_count what, uint64_t n)
{
	cp_count_mode(CPROF_CPU, what, n);
}

static inline uint64_t cp_counted(enum cp_count what)
{
	return cp_counted_mode(CPROF_CPU, what);
}

/* labels.c
 *
 * The labels of one thread: key and value pairs with which the program says what it is doing now.
 *
 * The owner changes its labels with plain stores, in tens of nanoseconds. The owner's own handlers
 * and hooks read them between any two of its instructions; a label that is being changed is then
 * absent. The collector reads another thread's labels, and VERSION tells whether they were changed
 * meanwhile.
 */

struct cp_trace_ids;

#define CP_LABELS_MAX 16
#define CP_LABEL_KEY_MAX 63u
#define CP_LABEL_VALUE_MAX 127u

struct cp_label {
	uint8_t key_size, value_size;
	char key[CP_LABEL_KEY_MAX];
	char value[CP_LABEL_VALUE_MAX];
};

struct cp_labels {
	uint32_t version; /* odd while the owner changes a label */
	uint32_t cached_version,
		cached_set; /* number of the label set, and the version that it belongs to */
	uint32_t used;	    /* bit I: LABEL[I] is complete and set */
	bool inherit;	    /* threads that the owner creates start with these labels */
	struct cp_label label[CP_LABELS_MAX];
};

/* Returns a struct without labels, in a page of its own; NULL without memory. */
struct cp_labels *cp_labels_new(void);
/* Returns a copy of FROM, the calling thread's labels; NULL without memory. */
struct cp_labels *cp_labels_clone(const struct cp_labels *from);
/* L may be NULL. */
void cp_labels_free(struct cp_labels *l);

/* Sets KEY to VALUE. Only the owner calls this. Sizes are within the limits above, without NUL
 * bytes. Returns 0, or -ENOSPC if CP_LABELS_MAX other labels are set. */
int cp_labels_set(struct cp_labels *l, const char *key, size_t key_size, const char *value,
		  size_t value_size);
/* Returns 0, or -ENOENT. */
int cp_labels_clear(struct cp_labels *l, const char *key, size_t key_size);
void cp_labels_clear_all(struct cp_labels *l);
/* Returns the label with KEY, or NULL. */
const struct cp_label *cp_labels_find(const struct cp_labels *l, const char *key, size_t key_size);

/* Returns the number of the label set (labelset.c) that L holds now. L is the calling thread's, or
 * NULL. Needs 4 KiB of stack if the labels have changed since the last call. Any context. */
uint32_t cp_labels_current(struct cp_labels *l);
/* The same with labels trace_id and span_id, as hexadecimal digits, unless L has such labels
 * itself. Returns CP_LABELSET_LOST if there is no room for more sets of this kind. */
uint32_t cp_labels_traced(const struct cp_labels *l, const struct cp_trace_ids *ids);
/* The same for another thread's labels; IDS is NULL if nothing is known. Returns CP_LABELSET_NONE
 * while the owner is changing them. */
uint32_t cp_labels_of_other(const struct cp_labels *l, const struct cp_trace_ids *ids);

/* labelset.c
 *
 * Sets of labels. Each set is stored once and gets a number, which samples carry.
 *
 * Captures add sets in any thread and context; the dump reads them. The store is append-only in
 * mmapped pages and lock-free, so a handler, a fork child and a reader always see whole sets. The
 * store is bounded to 16 MiB of text and 65,536 sets; beyond that cp_labelset_add returns
 * CP_LABELSET_LOST.
 */

#define CP_LABELSET_NONE UINT32_C(0)
#define CP_LABELSET_LOST UINT32_MAX

/* Returns the number of the set TEXT: SIZE bytes of "key\0value\0" pairs, sorted by key. */
uint32_t cp_labelset_add(const char *text, size_t size);
/* The same for a set that will hardly come again, as one with a trace's number: uses at most half
 * of the store, so that the other sets keep their place. */
uint32_t cp_labelset_add_spare(const char *text, size_t size);
/* Returns the text of SET, and its size in *SIZE; "" and 0 for CP_LABELSET_NONE. */
const char *cp_labelset_text(uint32_t set, size_t *size);

/* clang-format off */
/* thread.c
 *
 * The registry of threads, and the one TLS record.
 *
 * A record is claimed when a thread is created (pthread_create), found (the sweep) or already
 * there (main). The drain frees the record after the thread has ended and its ring is emptied.
 * Records live in mapped chunks that are never unmapped. A signal names its record by index, so a
 * handler needs no TLS and may run on a thread that libc doesn't know.
 *
 * | state    | set by                  | who may use the record                |
 * |----------|-------------------------|---------------------------------------|
 * | FREE     | the drain               | nobody                                |
 * | CLAIMED  | cp_thread_claim         | the claimer                           |
 * | LIVE     | the thread or the sweep | its thread's handler; drain reads     |
 * | ENDED    | the thread or the sweep | the drain                             |
 */
/* clang-format on */

struct cp_labels;
struct cp_ring;
struct cp_unwind_buffer;

enum cp_thread_state { CP_THREAD_FREE, CP_THREAD_CLAIMED, CP_THREAD_LIVE, CP_THREAD_ENDED };

#define CP_THREAD_NAME 16 /* as the kernel's comm, NUL included */
#define CP_NO_TIMER (-1)

struct cp_thread {
	uint32_t index;
	uint32_t state;	 /* enum cp_thread_state */
	int32_t tid;	 /* 0 until the thread runs */
	uint32_t paused; /* nesting of cprof_thread_pause */
	bool own_tls;	 /* libc created the thread, so no other thread has its TLS */
	bool foreign;	 /* found by the sweep, or by a hook */
	bool to_begin;	/* a hook registered it, and the sweep has not begun it for the modes yet */
	bool named;	/* NAME is the thread's name at its end */
	bool seen;	/* mark of the sweep */
	bool finishing; /* waits until the collector has written the profiles at its end */
	uint8_t unsignalled; /* takes no signals of the profiler: hooks/hooks.h */
	bool making;	     /* is creating the collector's thread, with all signals blocked */
	bool prof_blocked;   /* takes none of the program's SIGPROFs: see host_signal.h */
	bool prof_waiting;   /* but takes SIGPROF by sigwait */
	bool came_blocked;   /* it blocked SIGPROF before the profiler came: see host_signal.h */
	uint64_t tls;	     /* TLS base, if it is libc's; 0 = not known */
	uint64_t stack_low, stack_high; /* [low, high); 0, 0 = not known */
	uint64_t stack_size;		/* as requested at creation; 0 = not known */
	bool in_diary;			/* it has left entries there: diary.h */
	uint64_t born, gone;		/* moments (cp_ticks_moment); 0 = not known */
	uint64_t own_cpu_ns;		/* of its CPU clock, the profiler's work: own_time.c */
	/* Its alternate signal stack: [alternate_base, alternate_top). A base of 0 = none. */
	uint64_t alternate_base, alternate_top;
	/* The thread writes its rings, and the drain empties them. NULL until the first sample. */
	struct cp_ring *ring;	   /* for samples that the thread's signal handlers take */
	struct cp_ring *hook_ring; /* for samples of hooks, which a handler may interrupt */
	/* Set by the thread; NULL until its first label. */
	struct cp_labels *labels;
	/* The alternate stack that the profiler made for it, which stays with the record; NULL
	 * until the first one. ALTERNATE_LOW and ALTERNATE_SIZE are the program's alternate stack,
	 * which the kernel doesn't have because it has the profiler's: host_signal.h. */
	void *alternate, *alternate_low;
	uint64_t alternate_size;
	bool alternate_invalid; /* the program's alternate stack can't be written to, so the
				   profiler's stays */
	/* No handler of the profiler is on the program's alternate stack, or will be. */
	bool alternate_left;
	void *(*start)(void *); /* the program's thread function, for the trampoline */
	void *argument;
	char name[CP_THREAD_NAME];
};

/* The parts of the record that belong to one mode each. A mode that keeps something for each thread
 * defines a part, with the value that it has in a new record. The linker puts the parts of all
 * modes into one section, the pattern of what follows each record. So a part needs no field here,
 * and its place is a constant. */
#define CP_THREAD_PART __attribute__((section("cp_thread_parts"), aligned(8), visibility("hidden")))

extern const char __start_cp_thread_parts[] __attribute__((visibility("hidden")));
extern const char __stop_cp_thread_parts[] __attribute__((visibility("hidden")));

/* Returns T's copy of the part PATTERN. Any context. */
static inline void *cp_thread_part(const struct cp_thread *t, const void *pattern)
{
	return (char *)(uintptr_t)(t + 1) + ((const char *)pattern - __start_cp_thread_parts);
}

/* The siginfo that the program may see of a deferred signal. */
struct cp_deferred_signal {
	int32_t code;
	uint64_t words[2]; /* sender or timer, and value, laid out as in siginfo_t */
};

/* The heap sampler's state in one thread: heap_event.c. */
struct cp_heap_self {
	uint64_t left;	   /* bytes until the next sample; 0: draw, or sample every allocation */
	uint64_t interval; /* LEFT was drawn with this mean; 0 = it was never drawn */
	uint64_t random;   /* state of the random generator; 0 = not seeded */
	/* Together with the fields here, the bytes that the thread has allocated:
	 * cp_heap_hot_allocated. */
	uint64_t counted;
	uint64_t allocated, freed; /* estimated bytes that are not in the totals yet */
	/* ROOM is the number of bytes that the fast path (heap_exact.h) may allocate before the
	 * slow path runs once. The bytes between ROOM_BEFORE and ROOM are not in the totals
	 * yet. */
	uint64_t room, room_before;
	/* The thread's own buffer for the fast path. Set if every allocation is a sample: INTERVAL
	 * is 1, the thread isn't paused and has never had labels, and a table of live blocks
	 * exists. NULL: check these conditions. */
	struct cp_unwind_buffer *own;
	uintptr_t resampled; /* a block that jemalloc has sampled anew; jemalloc reports the old
				sample's end next */
	union {
		uint32_t not_now; /* not 0 if any of these is set */
		struct {
			uint8_t busy;	 /* OWN is in use */
			uint8_t guard;	 /* allocations are the profiler's, not the program's */
			uint8_t lent;	 /* allocations are the loader's, for the profiler */
			uint8_t probing; /* 1: the next allocation tests the hooks; 2: the hooks
					    have seen it */
		};
	};
	uint16_t scratch; /* index of the unwinding buffer that it used last */
	uint8_t shard;	  /* number of the shard of stacks that it owns (heap_signal.h); 0: none */
	uint8_t untimed;  /* samples until the next timed one; on the fast path: how often the path
			     was left */
};

/* The calling thread's own data. Initial-exec TLS, under 256 bytes, because access to dynamic TLS
 * would allocate. */
struct cp_self {
	struct cp_thread *thread; /* NULL: not registered */
	uint8_t prof_blocked;	  /* the program believes that SIGPROF is blocked */
	uint8_t prof_pending;	  /* one of the program's SIGPROFs arrived while it was blocked */
	uint8_t in_capture;	  /* the profiler is unwinding, so calls come from libunwind */
	uint8_t end_rounds;	  /* rounds of key destructors so far */
	uint8_t gate_closed;	  /* set by this thread's fork: fork_handlers.c */
	uint8_t forks;		  /* in progress, between their handlers: module.c */
	uint8_t in_dlclose;	  /* nesting depth (destructors may call it): dlclose_gate.c */
	uint8_t marker; /* the mask bit of a spare signal also carries PROF_BLOCKED: host_signal.h
			 */
	uint8_t marker_blocked; /* the program itself blocks that spare signal */
	uint8_t unshared;	/* no child of a vfork has this TLS: profiled.c */
	int32_t child;		/* pid of a vfork child that has this thread's mask: signal.c */
	uint64_t dlclose_frame; /* frame of the outermost dlclose */
	struct cp_deferred_signal prof; /* the pending signal */
	struct cp_heap_self heap;
};

extern __thread struct cp_self cp_self
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Allocations that the calling thread makes between these two calls are the profiler's own, and are
 * not sampled. The calls nest. */
static inline void cp_thread_own_begin(void)
{
	cp_self.heap.guard++;
}

static inline void cp_thread_own_end(void)
{
	cp_self.heap.guard--;
}

/* Returns the calling thread's cp_self, or NULL if its TLS isn't libc's. Any thread. Never access
 * cp_self itself under a condition that checks for libc's TLS: compilers assume that TLS is always
 * readable, and read it before the condition is known. */
struct cp_self *cp_thread_libc_self(void);
/* The same where the TLS is known to be libc's. */
struct cp_self *cp_thread_self(void);
/* Returns a free record in state CLAIMED, or NULL (out of memory, or 262,144 threads). Lock-free;
 * any context. */
struct cp_thread *cp_thread_claim(void);
/* Sets T to FREE and frees its labels. Its rings must be gone. */
void cp_thread_free(struct cp_thread *t);
/* Makes the claimed record the calling thread's: tid, TLS pointer, state LIVE. */
void cp_thread_enter(struct cp_thread *t);
/* Returns the record number INDEX, or NULL. Any context. */
struct cp_thread *cp_thread_at(uint32_t index);
/* Returns a value that identifies T even after another thread got its record. */
static inline uint64_t cp_thread_who(const struct cp_thread *t)
{
	return (uint64_t)(uint32_t)cp_load_relaxed(&t->tid) << 32 | t->index;
}
/* Returns the live record of thread TID, or NULL. Any context. Looks at all records. */
struct cp_thread *cp_thread_of(int tid);
/* Sets T's alternate signal stack, of SIZE bytes at BASE; 0: no such stack. Returns true if another
 * live thread's alternate stack begins at BASE, too. Of two threads that call at once, at least one
 * gets true. Any context. */
bool cp_thread_shares_alternate(struct cp_thread *t, uint64_t base, uint64_t size);
/* Returns the first live thread from record *INDEX on, other than the calling one, that has a part
 * of its alternate stack in the SIZE bytes at AT and has not left it (alternate_left), and sets
 * *INDEX to the record after it; NULL if there is no such thread. Looks at the first 256 records
 * only. Any context. */
struct cp_thread *cp_thread_with_alternate(const void *at, uint64_t size, uint32_t *index);
/* Returns one more than the highest index that was ever claimed. */
uint32_t cp_thread_limit(void);
/* In a fork child: sets every record but KEEP to FREE and gives up their rings. */
void cp_thread_fork_child(struct cp_thread *keep);

/* trace_context.c
 *
 * The trace and span that a thread works on, where an OpenTelemetry SDK publishes them: the
 * thread-local variable otel_thread_ctx_v1, a pointer to a record (OTEP 4947).
 *
 * Everything is read through the kernel and checked, because the program may have freed the record,
 * or may have another thing of that name. A record that is not marked as valid counts as none; it
 * is so marked whenever its thread may be interrupted. Of a thread that is looked at from outside,
 * the caller must find out whether it waited all along.
 */

#define CP_TRACE_SYMBOL "otel_thread_ctx_v1"
/* The labels that samples get. */
#define CP_TRACE_LABEL "trace_id"
#define CP_SPAN_LABEL "span_id"

struct cp_trace_ids {
	uint8_t trace[16], span[8];
};

/* Offset of the variable from a thread's TLS base; 0: there is none, or nobody asks. Set before the
 * first sample. */
extern int64_t cp_trace_context_at;

/* Reads what the thread with TLS base TLS is working on. Returns false if there is no variable, no
 * record, or no valid one. Needs two system calls. Any context, any thread. */
bool cp_trace_context_read(uint64_t tls, struct cp_trace_ids *to);

#endif
