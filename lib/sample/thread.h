/* SPDX-License-Identifier: BSD-3-Clause */
/* clang-format off */
/* The registry of threads, and the one TLS record.
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
#ifndef CP_THREAD_H
#define CP_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"

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
	bool seen;	/* the sweep's mark */
	bool finishing; /* waits for the collector to write the profiles at its end */
	uint8_t unsignalled; /* takes no signals of the profiler: hooks/unsignalled.h */
	bool making;	     /* is creating the collector's thread, with all signals blocked */
	bool prof_blocked;   /* takes none of the program's SIGPROFs: see deferred.h */
	bool prof_waiting;   /* but the thread takes SIGPROF by sigwait */
	uint64_t tls;	     /* TLS base, if it is libc's; 0 = not known */
	uint64_t stack_low, stack_high; /* [low, high); 0, 0 = not known */
	uint64_t stack_size;		/* as requested at creation; 0 = not known */
	uint64_t alternate_base; /* where its alternate signal stack begins; 0 = it has no such
				    stack */
	/* The thread writes these rings, the drain empties them. NULL until the first sample. */
	struct cp_ring *ring;	   /* has the samples that the thread's signal handlers take */
	struct cp_ring *hook_ring; /* for samples of hooks, which a handler may interrupt */
	/* Set by the thread; NULL until its first label. */
	struct cp_labels *labels;
	/* The alternate stack that the profiler made for it, which stays with the record; NULL
	 * until the first one. ALTERNATE_LOW and ALTERNATE_SIZE are the program's alternate stack,
	 * which the kernel doesn't have because it has the profiler's: altstack.h. */
	void *alternate, *alternate_low;
	uint64_t alternate_size;
	bool alternate_invalid; /* the program's can't be written to: the profiler's stays */
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
	uint64_t random;   /* state; 0 = not seeded */
	/* With the fields here, the bytes that the thread has allocated: cp_heap_hot_allocated. */
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
	uintptr_t resampled; /* a block that jemalloc has sampled anew; it tells of the end of the
			      * old sample next */
	union {
		uint32_t not_now; /* not zero if any of these is set */
		struct {
			uint8_t busy;	 /* OWN is in use */
			uint8_t guard;	 /* allocations are the profiler's, not the program's */
			uint8_t lent;	 /* allocations are the loader's, for the profiler */
			uint8_t probing; /* 1: the next allocation tests the hooks; 2: the hooks
					    have seen it */
		};
	};
	uint16_t scratch; /* the unwinding buffer that it used last */
	uint8_t shard;	  /* the shard of stacks that it owns: heap_stack.h; 0: none */
	uint8_t untimed;  /* samples until one is timed; on the fast path: how often it was left */
};

/* The calling thread's own data. Initial-exec TLS, under 256 bytes, because access to dynamic TLS
 * would allocate. */
struct cp_self {
	struct cp_thread *thread; /* NULL: not registered */
	uint8_t prof_blocked;	  /* the program believes that SIGPROF is blocked */
	uint8_t prof_pending;	  /* and one of the program's SIGPROFs arrived meanwhile */
	uint8_t in_capture;	  /* the profiler is unwinding: calls are libunwind's */
	uint8_t end_rounds;	  /* rounds of key destructors so far */
	uint8_t gate_closed;	  /* by this thread's fork: fork_handlers.c */
	uint8_t forks;		  /* between fork's handlers: module_list.c */
	uint8_t in_dlclose;	  /* nesting depth (destructors may call it): dlclose_gate.c */
	uint8_t marker; /* the mask bit of a spare signal also carries PROF_BLOCKED: deferred.h */
	uint8_t marker_blocked;		/* the program itself blocks that spare signal */
	int32_t child;			/* pid of a vfork child that took over its mask: mask.c */
	uint64_t dlclose_frame;		/* frame of the outermost dlclose */
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
/* Returns the live record of thread TID, or NULL. Any context. Looks at all records. */
struct cp_thread *cp_thread_of(int tid);
/* Sets the base of T's alternate signal stack; 0: no such stack. Returns true if another live
 * thread's alternate stack begins at BASE, too. Of two threads that call at once, at least one
 * gets true. Any context. */
bool cp_thread_shares_alternate(struct cp_thread *t, uint64_t base);
/* Returns true if the alternate stack of a live thread other than the calling one begins in the
 * SIZE bytes at AT. Looks at the first 256 records only. Any context. */
bool cp_thread_has_alternate(const void *at, uint64_t size);
/* Returns one more than the highest index that was ever claimed. */
uint32_t cp_thread_limit(void);
/* In a fork child: sets every record but KEEP to FREE and gives up their rings. */
void cp_thread_fork_child(struct cp_thread *keep);

#endif
