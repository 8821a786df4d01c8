/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of lib/modes/heap/signal/, by the file that implements them. */
#ifndef CP_MODES_HEAP_SIGNAL_HEAP_SIGNAL_H
#define CP_MODES_HEAP_SIGNAL_HEAP_SIGNAL_H

#include "modes/heap/signal/heap_hot.h"
#include "modes/heap/signal/stack_cache.h"
#include "modes/heap/signal/stack_depot.h"

/* live.c
 *
 * The table of live blocks: sampled and not freed yet; address → size and depot entry.
 *
 * Lock-free, async-signal-safe, in own pages. A slot takes 16 bytes. The table consists of a few
 * generations, each larger than the one before. When an address finds no free slot, another
 * generation is added; nothing ever moves. In a generation, an address is in one of six buckets of
 * one cache line each, nearly always in the first. For each bucket, counters tell how many
 * addresses belong there but are in another bucket. So a look-up reads a bounded number of cache
 * lines, mostly one per generation, and a removed slot is simply empty.
 *
 * insert: called by the thread that got the address from the allocator, before the program has the
 * address. It claims a slot, writes it, and releases its address. remove: called by the thread that
 * frees the block, before the allocator has it back. So one thread at a time handles an address,
 * and only claiming needs a locked instruction.
 */

struct cp_live_block {
	uint64_t size; /* below 2^40 */
	uint32_t id;   /* id of its depot entry, below 2^24, not 0 */
	/* Kept only after cp_live_keep_births(true); otherwise ignored, and 0 in results. */
	uint64_t born; /* as heap_event.c makes it; 0 = not known */
};

#define CP_LIVE_SIZE_MAX (UINT64_C(1) << 40)

/* Set the number of slots of the first generation, a power of two. No effect after the first
 * insert. */
void cp_live_configure(size_t slots);

/* Decide whether BORN is kept with each block that is inserted from now on. While it is kept, the
 * fast path of live_hot.h finds no place and no block, so that every call comes here. Call when a
 * run starts. */
void cp_live_keep_births(bool keep);

/* Begin to fetch the place of ADDRESS, which will be inserted soon. */
void cp_live_prefetch(uint64_t address);
/* Insert ADDRESS. Returns false if there is no memory or the table is full. If OLD->id is not 0,
 * the address was already in the table: the free of *OLD was not seen, and *OLD was removed in any
 * case. */
bool cp_live_insert(uint64_t address, const struct cp_live_block *b, struct cp_live_block *old);
/* Remove ADDRESS and set *B. Returns false if the address isn't in the table. */
bool cp_live_remove(uint64_t address, struct cp_live_block *b);

/* Returns the bytes that the table maps, whether touched or not. */
uint64_t cp_live_mapped(void);

/* Call VISIT for each block in the table. Other threads may insert and remove blocks meanwhile. */
void cp_live_each(void (*visit)(uint64_t address, const struct cp_live_block *b, void *arg),
		  void *arg);

/* heap_event.c
 *
 * The event half of the heap source: the code that runs inside malloc and free.
 *
 * The interposed functions (lib/modes/heap/hooks/malloc.c, new.c, jemalloc.c) ask cp_heap_takes and
 * cp_heap_looks (heap_hot.h). Nearly all calls end there and are forwarded. A sampled allocation is
 *
 *   begin → the allocator's own function → commit   (no other thread knows the address before)
 *
 * A free of a sampled block is cp_heap_event_free → the allocator's own function. The code is
 * lock-free, allocates only its own pages, and may be entered again by a signal handler that
 * allocates.
 */

/* The sampler's state and limits. The control half sets them; all threads add to the totals. */
struct cp_heap_totals {
	uint64_t interval; /* mean bytes between samples; 1 = every allocation */
	uint64_t seed;
	uint64_t threads;	   /* number of threads that got a random state */
	uint32_t first_epoch;	   /* the first epoch of the depot that belongs to this run */
	bool births;		   /* the birth of each live block is kept, as below */
	bool lifetimes;		   /* each free is recorded */
	uint64_t allocated, freed; /* estimated bytes since the start, in batches */
	uint64_t peak;		   /* the most that was in use at any check */
	uint64_t next_allocated, next_freed,
		next_in_use; /* a dump is due at these amounts; UINT64_MAX = never */
	uint64_t allocated_step, freed_step, in_use_step;
	void (*dump)(void); /* writes a dump; called inside malloc or free */
	uint64_t dumps;	    /* number of DUMP's calls */
};
extern struct cp_heap_totals cp_heap_totals;

/* A thread adds to the shared totals in batches of this many bytes. The peak and the dumps by
 * amount use the totals and need no more precision. */
#define CP_HEAP_BATCH (UINT64_C(32) << 10)
/* When samples are frequent, one in this many is timed. */
#define CP_HEAP_TIMED 64u

struct cp_heap_sample {
	uint64_t interval;
	size_t size;
	uintptr_t caller;	    /* return address of the interposed function */
	const struct cp_call *call; /* return address and registers of the caller; NULL: unknown */
};

/* Decide whether to sample an allocation, and draw the next interval. Returns false if it isn't
 * sampled. */
bool cp_heap_event_begin(struct cp_heap_sample *s, size_t size, void *caller);
/* Record P, which the allocator returned for S: the caller's stack, the counts, the table. P may be
 * NULL, which means that the allocation failed. Returns P. */
void *cp_heap_event_commit(const struct cp_heap_sample *s, void *p);

/* Record P of SIZE bytes, asked for at CALLER, which the allocator itself sampled with INTERVAL. */
void cp_heap_event_commit_other(void *p, size_t size, uint64_t interval, void *caller);

/* Call before P goes back to the allocator. Returns true if P was a sampled block. */
bool cp_heap_event_free(void *p);

/* The same in two steps, for calls that may fail: take P out of the table, then either count P as
 * freed or put it back. */
bool cp_heap_event_untrack(void *p, struct cp_live_block *b);
void cp_heap_event_untracked_freed(const struct cp_live_block *b);
void cp_heap_event_retrack(void *p, const struct cp_live_block *b);

/* Returns the depot entry of the calling thread's stack, as that of a mapping. Returns NULL if
 * there is no memory or the heap mode is off. */
struct cp_stack_depot_entry *cp_heap_event_mapping(void *caller);

/* Parts of a sample and of a free, for heap_exact.h. cp_heap_event_commit_all records P of SIZE
 * bytes, asked for at CALLER, as one sample. cp_heap_event_record does the same with the registers
 * in IN; the thread must not be paused. cp_heap_event_removed finishes a free after the block at
 * address A was taken out of the table. */
struct cp_unwind_input;
struct cp_stack_depot_entry;
void *cp_heap_event_commit_all(void *p, size_t size, void *caller);
void cp_heap_event_record(void *p, size_t size, const struct cp_call *call,
			  struct cp_unwind_input *in);
void cp_heap_event_removed(uintptr_t a, struct cp_stack_depot_entry *e, uint64_t size);

/* Add the calling thread's batch to the totals. Call when the thread ends. */
void cp_heap_event_flush(void);
/* Drop the calling thread's batch. */
void cp_heap_event_forget(void);
/* Add to the calling thread's batch. */
static inline void cp_heap_event_sum_up(uint64_t allocated, uint64_t freed)
{
	struct cp_heap_self *h = &cp_self.heap;

	h->allocated += allocated;
	h->freed += freed;
	if (cp_unlikely(h->allocated + h->freed >= CP_HEAP_BATCH))
		cp_heap_event_flush();
}

/* How long blocks live, and who frees them (CPROF_HEAP_VIEWS=lifetimes).
 *
 * The table of live blocks keeps a birth for each block: the time in units of 8 us, and the thread.
 * When a sampled block is freed, its depot entry is that of both stacks, and of the class below.
 * Called inside malloc and free; lock_clock.h has the clock. */

#define CP_LIFETIMES_TID_BITS 22   /* bits of the largest thread id of the kernel */
#define CP_LIFETIMES_TIME_SHIFT 13 /* ns in a unit of time */

enum cp_lifetimes_thread {
	CP_LIFETIMES_UNKNOWN,
	CP_LIFETIMES_SAME,
	CP_LIFETIMES_OTHER,
	CP_LIFETIMES_ALIVE, /* not freed yet: the age so far */
};

/* A class of lifetimes: a power of two ns that they have reached, and who freed the block. Never
 * 0. */
static inline uint32_t cp_lifetimes_class(uint64_t ns, enum cp_lifetimes_thread by)
{
	uint32_t power = ns >> CP_LIFETIMES_TIME_SHIFT ? 63 - (uint32_t)__builtin_clzl(ns) : 0;

	return UINT32_C(1) << 8 | (uint32_t)by << 6 | power;
}

static inline int64_t cp_lifetimes_ns(uint64_t class)
{
	return class & 63 ? (int64_t)1 << (class & 63) : 0;
}

static inline enum cp_lifetimes_thread cp_lifetimes_by(uint64_t class)
{
	return (enum cp_lifetimes_thread)(class >> 6 & 3);
}

/* Returns the ns at which a block with this birth was allocated: the middle of its unit, so that
 * lifetimes are right on average. */
static inline uint64_t cp_lifetimes_born_ns(uint64_t birth)
{
	return (birth >> CP_LIFETIMES_TID_BITS << CP_LIFETIMES_TIME_SHIFT) +
	       (UINT64_C(1) << (CP_LIFETIMES_TIME_SHIFT - 1));
}

/* heap_jemalloc.c
 *
 * The heap source on top of jemalloc's hooks, for programs whose malloc can't be interposed.
 *
 * jemalloc calls these functions in the program's threads: cp_heap_jemalloc_alloc after it
 * allocated, cp_heap_jemalloc_dalloc before it frees, cp_heap_jemalloc_expand after a block grew or
 * shrank in place. The rules of heap_event.c apply, in table mode only, because blocks keep
 * jemalloc's alignment. The functions do nothing while the heap mode is off. jemalloc may still
 * call them after the hooks were removed.
 */

/* The number of hook_alloc_realloc, the only number that decides how the arguments are read: 7 up
 * to jemalloc 5.3.0, 8 in later versions, where pvalloc has a number. Set before the hooks are
 * installed. */
extern unsigned cp_heap_jemalloc_realloc;

void cp_heap_jemalloc_alloc(void *extra, unsigned type, void *result, uintptr_t raw,
			    const uintptr_t args[3]);
void cp_heap_jemalloc_dalloc(void *extra, unsigned type, void *address, const uintptr_t args[3]);
void cp_heap_jemalloc_expand(void *extra, unsigned type, void *address, size_t before, size_t after,
			     uintptr_t raw, const uintptr_t args[4]);

/* Hooks of the blocks that jemalloc samples itself, with its own interval: mean bytes between
 * samples, 2 or more, set before these hooks are installed. jemalloc draws by usable size. */
extern uint64_t cp_heap_jemalloc_interval;
typedef void cp_heap_jemalloc_sample(const void *p, size_t size, void **frames, unsigned depth,
				     size_t usable);
typedef void cp_heap_jemalloc_sample_free(const void *p, size_t usable);

/* Stores the caller's stack in FRAMES, up to MOST return addresses, and their number in *DEPTH. */
typedef void cp_heap_jemalloc_unwinder(void **frames, unsigned *depth, unsigned most);

cp_heap_jemalloc_unwinder cp_heap_jemalloc_backtrace;
cp_heap_jemalloc_sample cp_heap_jemalloc_sampled;
cp_heap_jemalloc_sample_free cp_heap_jemalloc_freed;

/* heap_stack.c
 *
 * Finds the depot entry of a sampled allocation's stack. heap_event.c calls this inside malloc.
 *
 * When every allocation is sampled, the stack comes from a cached walk if the same walk was made
 * before (stack_cache.h), else from a walk shortened by the previous one (stack_cache.h), else from
 * the unwinder. The first threads have their own buffers and entries, and then touch no memory that
 * other threads write.
 */

/* The addresses of libcprof, set before the first run. */
extern uintptr_t cp_heap_stack_own_low, cp_heap_stack_own_high;

/* Returns the entry of the stack, or NULL if there is no memory. IN's registers are those of the
 * function that was called at S->caller, or of a function below it. CALLER 0: libcprof's own frames
 * are left out. The rest of IN is set here. */
struct cp_stack_depot_entry *cp_heap_stack_find(const struct cp_heap_sample *s,
						struct cp_unwind_input *in);

/* Returns the entry of blocks of OF that are freed from the calling function, in class CLASS of
 * heap_event.c. Its stack: the free's, CP_STACK_DEPOT_MARK, and OF's. Returns NULL if there is no
 * memory. */
struct cp_stack_depot_entry *cp_heap_stack_find_freed(const struct cp_stack_depot_entry *of,
						      uint32_t class);

/* When samples are frequent, threads count separately: the first threads each in their own entries,
 * all others in this many shared shards. */
#define CP_HEAP_SHARDS 8u
#define CP_HEAP_OWNERS 16u
/* Shard numbers: an owner's shard is the number of its record plus 1. Shared shards have this bit
 * set. 0 belongs to no stack. */
#define CP_HEAP_NOBODYS 0x40u

/* A record, and so its number, belongs to one thread until that thread has ended. */
static inline bool cp_heap_stack_owns(const struct cp_thread *t)
{
	return t && t->index < CP_HEAP_OWNERS;
}

/* Is E in the calling thread's shard? Then no other thread finds E while the calling thread lives.
 */
static inline bool cp_heap_stack_is_own(const struct cp_stack_depot_entry *e)
{
	return e->shard == cp_self.heap.shard;
}

/* The calling thread ends: another thread will get its record and the entries that it owns. */
static inline void cp_heap_stack_disown(void)
{
	cp_self.heap.own = NULL;
	cp_self.heap.shard = 0;
}

/* usdt.c
 *
 * Static probes (USDT) for tools outside: OpenTelemetry's eBPF profiler, bpftrace, perf, gdb.
 *
 *     otel_memory:alloc(ptr, size, weighted_bytes)   a block was sampled
 *     otel_memory:free(ptr)                          a sampled block is about to be freed
 *
 * A probe is a nop, a note in .note.stapsdt that says where it is and where its arguments are, and
 * a counter of the tools that listen (the semaphore), which the tools change. Any context.
 */

extern volatile uint16_t cp_usdt_alloc_semaphore __attribute__((visibility("hidden")));
extern volatile uint16_t cp_usdt_free_semaphore __attribute__((visibility("hidden")));

void cp_usdt_alloc_fire(uint64_t p, uint64_t size, uint64_t weighted_bytes);
void cp_usdt_free_fire(uint64_t p);

static inline void cp_usdt_alloc(uint64_t p, uint64_t size, uint64_t weighted_bytes)
{
	if (__builtin_expect(cp_usdt_alloc_semaphore != 0, 0))
		cp_usdt_alloc_fire(p, size, weighted_bytes);
}

static inline void cp_usdt_free(uint64_t p)
{
	if (__builtin_expect(cp_usdt_free_semaphore != 0, 0))
		cp_usdt_free_fire(p);
}

#endif
