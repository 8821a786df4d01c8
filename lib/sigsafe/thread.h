/* The registry of threads, and the one TLS record.
 *
 * A record is claimed when a thread is made (pthread_create), found (the sweep) or
 * already there (main), and freed by the drain after the thread ended and its ring
 * was emptied. Records live in mapped chunks that are never unmapped, and a signal
 * names its record by index, so a handler needs no TLS: it may run on a thread that
 * libc doesn't know.
 *
 * | state    | set by                  | who may use the record                |
 * |----------|-------------------------|---------------------------------------|
 * | FREE     | the drain               | nobody                                |
 * | CLAIMED  | cp_thread_claim         | the claimer                           |
 * | LIVE     | the thread or the sweep | its thread's handler; drain reads     |
 * | ENDED    | the thread or the sweep | the drain                             |
 */
#ifndef CP_THREAD_H
#define CP_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sigsafe/lock_later.h"
#include "sigsafe/lock_sample.h"
#include "sigsafe/mode.h"
#include "sigsafe/perf_event.h"

struct cp_labels;
struct cp_holders;
struct cp_ring;
struct cp_scratch;

enum cp_thread_state { CP_THREAD_FREE, CP_THREAD_CLAIMED, CP_THREAD_LIVE, CP_THREAD_ENDED };

#define CP_THREAD_NAME 16 /* as the kernel's comm, NUL included */
#define CP_NO_TIMER (-1)

/* What a thread was found doing. */
enum cp_wall_state { CP_WALL_UNSEEN, CP_WALL_RUNNING, CP_WALL_WAITING, CP_WALL_PAUSED };
#define CP_WALL_STATES 4

/* What a thread was seen doing: numbers of its label set and its span. */
struct cp_wall_seen {
	uint32_t labels, span;
};

/* What the wall clock knows of a thread: the pacer's (lib/wall.c), under the collector's lock, but
 * for what is written by the thread. Times are monotonic, in ns; 0 = not yet. */
struct cp_wall_thread {
	uint64_t began, ended;	       /* by the thread or the sweep */
	uint64_t ended_cpu;	       /* its CPU time then */
	uint64_t samples;	       /* by its handler: taken while it ran */
	int32_t timer;		       /* on its CPU clock; CP_NO_TIMER */
	uint8_t state;		       /* enum cp_wall_state, at the last visit */
	bool uring;		       /* was seen waiting in io_uring_enter: takes no signals */
	bool unanswered;	       /* found running, and no sample since */
	bool late;		       /* for longer than a tick of the kernel */
	uint64_t asked;		       /* since when, */
	struct cp_wall_seen asked_in;  /* and how it was seen at the last visit that found it so */
	uint64_t until;		       /* begin of what the next visit stands for, and */
	uint32_t span;		       /* its length: ticks */
	uint64_t clock;		       /* CPU time at the last visit */
	uint64_t given;		       /* its time up to here was given to states */
	uint64_t owed[CP_WALL_STATES]; /* and not yet to a row */
	uint32_t row[CP_WALL_STATES];  /* of the last stack in each state, + 1; 0 = none */
	uint32_t in_span[CP_WALL_STATES]; /* the span that it was seen in; 0 = none */
	uint64_t taken, looked;		  /* of samples; and of the ring, in words */
};

struct cp_thread {
	uint32_t index;
	uint32_t state;	     /* enum cp_thread_state */
	int32_t tid;	     /* 0 until the thread runs */
	uint32_t paused;     /* nesting of cprof_thread_pause */
	bool own_tls;	     /* made by libc: its TLS is its own */
	bool foreign;	     /* found by the sweep, or by a hook */
	bool met;	     /* by a hook, and the sweep has not begun it for the modes */
	bool named;	     /* NAME is what the thread had at its end */
	bool seen;	     /* sweep's mark */
	bool finishing;	     /* waits for us, to write the profiles at its end */
	bool making;	     /* makes our thread, and blocks all signals for that */
	bool prof_blocked;   /* takes no SIGPROF of the program's: see held.h */
	bool prof_waiting;   /* but takes one, by sigwait */
	int32_t timer;	     /* kernel timer id; CP_NO_TIMER */
	uint64_t first_due;  /* the timer's first expiry, on the thread's CPU clock */
	uint64_t expiries;   /* of the timer, so far; written by its handler */
	struct cp_perf perf; /* instead of a timer */
	uint32_t
		names[CP_MODES]; /* its number in aggregates' threads, plus 1; owned by the drain */
	uint64_t stack_low, stack_high; /* [low, high); 0, 0 = not known */
	uint64_t stack_size;		/* asked for at creation; 0 = not known */
	/* Written by the thread, emptied by the drain; NULL until the first sample. */
	struct cp_ring *ring;	   /* by its signal handlers */
	struct cp_ring *hook_ring; /* by hooks, which a handler may interrupt */
	struct cp_wall_thread wall;
	/* By the thread; NULL until it sets one. */
	struct cp_labels *labels;
	/* The thread's own: which of its waits are recorded. From here on it is written with locks
	 * held: by no line that another thread's record has a part of. */
	struct cp_lock_waits waits __attribute__((aligned(64)));
	struct cp_lock_unlocks unlocks; /* and which of its unlocks */
	struct cp_holders *holders;	/* entries for those; NULL until the first */
	struct cp_lock_later later;	/* its last wait, which they aren't told of yet */
	/* Waits below the threshold of all threads that have had the record. */
	struct cp_lock_sample short_waits;
	void *(*start)(void *); /* the program's thread function, for the trampoline */
	void *argument;
	char name[CP_THREAD_NAME];
};

/* What the program may see of a signal that is held back for it. */
struct cp_held_signal {
	int32_t code;
	uint64_t words[2]; /* sender or timer, and value, as siginfo_t has them */
};

/* The sampler's state in one thread: heap_event.c. */
struct cp_heap_self {
	uint64_t left;		   /* bytes until the next sample; 0: draw, or every allocation */
	uint64_t interval;	   /* mean that LEFT was drawn with; 0 = never drawn */
	uint64_t random;	   /* state; 0 = not seeded */
	uint64_t allocated, freed; /* estimated bytes, not yet in the totals */
	/* Bytes that the short way (heap_exact.h) may allocate before it is left once; what ROOM
	 * has become less by since it was ROOM_BEFORE isn't in the totals, either. */
	uint64_t room, room_before;
	/* Its own buffer, where all it allocates are samples: INTERVAL is 1, it isn't paused and
	 * has never had labels, and there is a table of live blocks. NULL: look at these. */
	struct cp_scratch *own;
	union {
		uint32_t not_now; /* any of these */
		struct {
			uint8_t busy;	   /* OWN is in use */
			uint8_t guard;	   /* what is allocated is ours, not the program's */
			uint8_t resolving; /* the allocator is being looked up */
			uint8_t probing;   /* 1: the next allocation is our test of the hooks; 2:
					      it came */
		};
	};
	uint16_t scratch; /* the unwinding buffer it had last */
	uint8_t shard;	  /* of the stacks that it owns: heap_stack.h; 0: it owns none */
	uint8_t untimed;  /* samples until one is timed; of the short way: times that it was left */
};

/* The calling thread's own data. Initial-exec TLS, under 256 bytes: a dynamic TLS
 * access would allocate. */
struct cp_self {
	struct cp_thread *thread; /* NULL: not registered */
	uint8_t prof_blocked;	  /* the program believes that SIGPROF is blocked */
	uint8_t prof_pending;	  /* and one of its own arrived meanwhile */
	uint8_t in_capture;  /* our handler is unwinding: calls of libunwind's, not the program's */
	uint8_t end_rounds;  /* rounds of key destructors seen */
	uint8_t gate_closed; /* by this thread's fork: fork.c */
	uint8_t forks;	     /* between fork's handlers: module_list.c */
	uint8_t in_dlclose;  /* how deep: destructors may call it: lib/closing.c */
	uint8_t witness;     /* the kernel's mask tells prof_blocked, too: held.h */
	uint8_t witness_blocked;    /* as the program wants that signal */
	int32_t child;		    /* pid of a vfork child that took its mask over: mask.c */
	uint64_t dlclose_frame;	    /* of the outermost */
	struct cp_held_signal prof; /* the pending one */
	struct cp_heap_self heap;
};

extern __thread struct cp_self cp_self
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* On any thread: where the calling one's is, or NULL where its TLS isn't libc's. CP_SELF itself
 * must not stand behind a condition that asks for that: compilers take TLS for memory that can
 * always be read, and do so before the condition is known. */
struct cp_self *cp_thread_libc_self(void);
/* The same where it is known to be libc's. */
struct cp_self *cp_thread_self(void);
/* A free record in state CLAIMED, or NULL (out of memory, or 262,144 threads).
 * Lock-free; any context. */
struct cp_thread *cp_thread_claim(void);
/* Back to FREE; the rings must be gone, labels go with it. */
void cp_thread_free(struct cp_thread *t);
/* Make the claimed record the calling thread's: tid, TLS pointer, state LIVE. */
void cp_thread_enter(struct cp_thread *t);
/* The record number INDEX, or NULL. Any context. */
struct cp_thread *cp_thread_at(uint32_t index);
/* The live record of thread TID, or NULL. Any context; looks at all of them. */
struct cp_thread *cp_thread_of(int tid);
/* One more than the highest index ever claimed. */
uint32_t cp_thread_limit(void);
/* In a fork child: every record but KEEP becomes FREE, rings are given up. */
void cp_thread_fork_child(struct cp_thread *keep);

#endif
