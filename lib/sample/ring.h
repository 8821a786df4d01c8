/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of lib/sample/, by the file that implements them. */
#ifndef CP_SAMPLE_RING_H
#define CP_SAMPLE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cprof.h"

/* The kinds of profile, by the numbers that cprof.h gives them. Each mode is collected, named and
 * written separately. Several may be on at once. A companion is a further view of a main mode, in a
 * file next to the main mode's file. */

/* Numbers below CP_MAIN_MODES are modes that have an environment variable and an options field of
 * their own; the others, below CP_MODES, are companions. Most numbers are not in use. */
#define CP_MAIN_MODES 16
#define CP_MODES 32

/* stackmem.c
 *
 * Reads stack words for unwinders without ever faulting.
 *
 * There are two ways. Memory that must be mapped is read directly: the used part of the thread's
 * own stack and the red zone below it; of a stack that the program made itself, only the page of
 * the stack pointer. Other memory may be unmapped by another thread at that moment (a register of
 * code without frame pointers leads anywhere), so the kernel copies it, a window at a time.
 * Unwinders call this in handlers. One struct lives on the stack of one walk, so nothing is shared
 * and nothing locks.
 *
 * Limit: where the kernel refuses to copy (in some sandboxes), it is asked whether a page is
 * mapped, and another thread may unmap the page before it is read.
 */

/* The ABI lets leaf functions use this many bytes below sp. Epilogues leave popped registers
 * there, and their unwind rules still point there. */
#define CP_STACKMEM_RED_ZONE 128

struct cp_stackcopy;

/* A buffer for copies of memory that isn't read directly. One copy costs a microsecond or two,
 * regardless of its size. */
struct cp_stackmem_room {
	unsigned char bytes[4096];
};

struct cp_stackmem {
	uint64_t direct_low, direct_size; /* range that is read directly; size 0 = unknown */
	uint64_t here;			  /* page of the stack pointer; 0 = it may not be mapped */
	uint64_t had_low; /* start of the range that ROOM holds; with ASKS: of the mapped range */
	uint32_t had_size;
	bool here_asked, asks;
	struct cp_stackmem_room *room; /* the caller's buffer; NULL: copy word by word */
	struct cp_stackcopy *copy;     /* not NULL: reads another thread's stack */
};

/* SP is the interrupted stack pointer; [low, high) is the thread's stack (both 0 = not known). If
 * SP is outside of it (coroutine, signal stack), only the page of SP is read directly. */
void cp_stackmem_init(struct cp_stackmem *m, uint64_t sp, uint64_t low, uint64_t high);

/* Prepares M for another thread's stack: every word is read through COPY. */
void cp_stackmem_init_copy(struct cp_stackmem *m, struct cp_stackcopy *copy);

/* Returns whether the page of ADDR is mapped. One system call, no effect on the process. */
bool cp_stackmem_probe(uint64_t addr);

bool cp_stackmem_read_elsewhere(struct cp_stackmem *m, uint64_t addr, uint64_t *word);

/* Reads other functions' stack variables, which AddressSanitizer must not report as a bug. */
#define CP_STACKMEM_RAW __attribute__((no_sanitize("address", "alignment")))
typedef uint64_t __attribute__((aligned(1), may_alias)) cp_stackmem_word;

/* Returns whether the word at ADDR is read directly. */
static inline bool cp_stackmem_is_direct(const struct cp_stackmem *m, uint64_t addr)
{
	return __builtin_expect(addr - m->direct_low < m->direct_size, 1);
}

CP_STACKMEM_RAW static inline uint64_t cp_stackmem_read_direct(uint64_t addr)
{
	/* NOLINTNEXTLINE: within the thread's own stack, so not NULL */
	return *(const cp_stackmem_word *)addr;
}

/* Reads the word at ADDR into *WORD. Returns false if ADDR can't be read; *WORD is then
 * unchanged. */
CP_STACKMEM_RAW static inline bool cp_stackmem_read(struct cp_stackmem *m, uint64_t addr,
						    uint64_t *word)
{
	if (!cp_stackmem_is_direct(m, addr))
		return cp_stackmem_read_elsewhere(m, addr, word);
	*word = cp_stackmem_read_direct(addr);
	return true;
}

/* clang-format off */
/* ring.c
 *
 * Samples on their way from a thread to the collector. One ring per thread, with a single producer
 * (that thread, in its handler) and a single consumer (the holder of the collector's lock).
 *
 * Layout in 8-byte words: a record is a header and its program counters. A record is never split;
 * when it doesn't fit before the end, a skip mark fills the rest. HEAD and TAIL only grow; HEAD -
 * TAIL <= words.
 *
 * | call       | by       | orders                                                 |
 * |------------|----------|--------------------------------------------------------|
 * | reserve    | producer | acquire of TAIL: the consumer is done with those words |
 * | commit     | producer | release of HEAD: the record is whole before it is seen |
 * | mark, next | consumer | acquire of HEAD                                        |
 * | release    | consumer | release of TAIL                                        |
 */
/* clang-format on */

struct cp_record {
	uint32_t words;	 /* whole record, this header included; see cp_ring_next for skips */
	uint16_t depth;	 /* program counters that follow */
	uint8_t mode;	 /* enum cprof_mode, or CP_RECORD_SKIP */
	uint8_t end;	 /* enum cp_unwind_end */
	uint64_t count;	 /* events in this record */
	uint64_t weight; /* amount of the measured quantity, in the mode's unit */
	uint64_t tag;	 /* distinguishes rows of this mode beyond stack and labels; 0 = nothing */
	uint64_t more; /* of locks: the thread at the other end (cp_thread_who), or 0; of I/O: bytes
			*/
	uint64_t when; /* the moment at which it was recorded (cp_ticks_moment); 0 = not known */
	uint32_t labels; /* the thread's label set, a number of thread.h */
	uint64_t pcs[];	 /* leaf first, in the form that cp_unwinder.walk stores */
};

#define CP_RECORD_SKIP 255u

/* Program counters that are no addresses of the program. They become explanatory frames. */
#define CP_PC_SPECIAL (UINT64_C(1) << 63)
/* The function that the other frames called is unknown, because the thread ended before it was
 * sampled. */
#define CP_PC_NOT_SAMPLED CP_PC_SPECIAL
/* Separates the stack that allocated a block from the stack that freed it. */
#define CP_PC_FREED (CP_PC_SPECIAL | 1)
/* Separates the stack that waited from the stack that woke it, or replaces the latter. */
#define CP_PC_WOKEN (CP_PC_SPECIAL | 2)
#define CP_PC_WAKER_UNKNOWN (CP_PC_SPECIAL | 3)
#define CP_PC_TIMED_OUT (CP_PC_SPECIAL | 4)
#define CP_PC_INTERRUPTED (CP_PC_SPECIAL | 5)
/* The stack before such a mark lacks its outer frames. */
#define CP_PC_TRUNCATED (CP_PC_SPECIAL | 6)
#define CP_PC_INCOMPLETE (CP_PC_SPECIAL | 7)

struct cp_ring {
	uint64_t head;	   /* words ever written */
	uint64_t size;	   /* words of DATA, a power of two */
	uint64_t bytes;	   /* bytes mapped, this header and the stack included */
	uint64_t last;	   /* position of the newest record, in words */
	uint64_t last_end; /* HEAD after that record; 0 = no record was committed */
	uint64_t pad1[3];  /* puts the consumer's counters on another cache line */
	uint64_t tail;
	uint64_t forgotten; /* the producer no longer uses records up to this position */
	uint64_t marked;    /* HEAD at the last mark; written by the consumer */
	uint64_t pad2[5];
	uint64_t data[];
};

/* The most frames of a record. */
#define CP_RECORD_DEPTH_MOST 4096
#define CP_RECORD_WORDS(depth) (sizeof(struct cp_record) / 8 + (depth))

/* Sets the size of rings for stacks of MAX_DEPTH frames. Called before the first sample. */
void cp_ring_configure(unsigned max_depth);

/* Returns the newest record, or NULL if none was committed or the record is forgotten. The record
 * is whole until the next reserve and commit. It may be deeper than the current depth limit.
 * Producer. */
const struct cp_record *cp_ring_last(const struct cp_ring *r);
/* Copies that record to *TO, which has room for CP_RECORD_DEPTH_MOST frames. Returns false if there
 * is none. Consumer; the producer may go on meanwhile. */
bool cp_ring_copy_last(const struct cp_ring *r, struct cp_record *to);

/* Returns an empty ring from the pool or a new mapping; NULL without memory. Lock-free. */
struct cp_ring *cp_ring_take(void);
/* Returns R to the pool, or unmaps R if the pool is full. R may be NULL. */
void cp_ring_give(struct cp_ring *r);
/* In a fork child: unmaps a ring whose content belongs to the parent. R may be NULL. */
void cp_ring_discard(struct cp_ring *r);

/* Returns the top of the ring's stack, which follows the data. The code that fills a record runs
 * on this stack, because the thread's own or alternate stack may be small. CP_RING_STACK bytes
 * below the top are usable. Producer. */
#define CP_RING_STACK ((size_t)16 << 10)
static inline void *cp_ring_stack(struct cp_ring *r)
{
	return (char *)r + r->bytes;
}

/* Returns the room below the stack. Its pages are touched only when used. */
static inline struct cp_stackmem_room *cp_ring_room(struct cp_ring *r)
{
	return (struct cp_stackmem_room *)((char *)cp_ring_stack(r) - CP_RING_STACK) - 1;
}

/* Returns MAX_DEPTH, or the smaller depth that fits into a ring from an earlier run with shallower
 * stacks. */
unsigned cp_ring_depth(const struct cp_ring *r, unsigned max_depth);
/* Returns room for a record of MAX_DEPTH frames, or NULL when the ring is full. */
struct cp_record *cp_ring_reserve(struct cp_ring *r, unsigned max_depth);
/* Returns which part of the last quarter before R is full is free: 1 = all of it. A source that can
 * choose its events takes fewer while it is below 1. Producer. */
double cp_ring_free(const struct cp_ring *r, unsigned max_depth);
/* Makes the reserved record visible; its DEPTH is filled in. Returns true if the ring has become
 * half full by this record: time to wake the collector. */
bool cp_ring_commit(struct cp_ring *r, struct cp_record *record);

/* Returns the oldest record, or NULL. The record belongs to the consumer until cp_ring_release. */
struct cp_record *cp_ring_next(struct cp_ring *r);
/* cp_ring_mark remembers the ring's current end. cp_ring_next_marked returns the oldest record
 * before that end, or NULL. A ring that was taken since then has no marked records. */
void cp_ring_mark(struct cp_ring *r);
struct cp_record *cp_ring_next_marked(struct cp_ring *r);
/* Returns the oldest record from word *AT on (0 at first) and moves *AT past it; NULL at the end.
 * The records stay in the ring. */
const struct cp_record *cp_ring_look(const struct cp_ring *r, uint64_t *at);
void cp_ring_release(struct cp_ring *r, const struct cp_record *record);
/* Declares all records released so far part of an earlier run: cp_ring_last won't return them.
 * Consumer. */
void cp_ring_forget(struct cp_ring *r);

#endif
