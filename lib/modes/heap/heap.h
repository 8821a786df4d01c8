/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of lib/modes/heap/, by the file that implements them. */
#ifndef CP_MODES_HEAP_HEAP_H
#define CP_MODES_HEAP_HEAP_H

#include "modes/heap/signal/stack_depot.h"
#include "output/output.h"

/* heap.c
 *
 * The heap mode: what is allocated, what is in use, what leaked.
 *
 * Samples are taken in modes/heap/signal/heap_event.c. The interposed functions are in
 * modes/heap/hooks. heap_rows.c makes the profile's rows.
 */

/* Members of the mode's cp_mode_ops; see output.h. */
int cp_heap_start(struct cp_run *r, const struct cp_config *c);
void cp_heap_stop(struct cp_run *r);
int cp_heap_set(struct cp_run *r, const struct cp_config *c);
uint64_t cp_heap_due(void);
void cp_heap_tick(struct cp_run *r);
void cp_heap_thread_end(struct cp_thread *t);
void cp_heap_fork_child(struct cp_run *r, struct cp_thread *keep);

/* Find the hooks that exist. Call before a start and before taking the collector's lock. */
void cp_heap_prepare(void);
/* Call after a start: prints a message if libcprof can't see the program's allocations. Ordinary
 * context. */
void cp_heap_check(void);
/* Call when a profile is written, with STACKS if it has any: prints a message, once, if libcprof
 * has seen no allocation and another malloc comes before its own. Any context. */
void cp_heap_check_seen(bool stacks);
/* Returns why libcprof doesn't see the program's allocations, or NULL if it does. Any context. */
const char *cp_heap_unseen(void);

/* Call these around a dlclose, after a drain and while the gate is closed. Another module may later
 * be loaded at the addresses of a module that went away. */
struct cp_module_diff *cp_heap_before_unload(void);
void cp_heap_after_unload(struct cp_module_diff *u);

/* Writes the memory in use as text, the largest stacks first. At exit, this is the leaked memory.
 */

/* Add one line for each of the few stacks that hold the most, and one line for the total. Call
 * after the names were updated. */
void cp_heap_leaks_report(struct cp_comments *out, const struct cp_run *r);

/* heap_budget.c
 *
 * An interval between samples that follows the program: CPROF_HEAP_BUDGET samples a second, or as
 * many as a share of the program's CPU time pays for.
 *
 * The collector looks four times a second how many samples came. Where they are too many the
 * interval grows, where they are far too few it shrinks, always by powers of two. A sample counts
 * for the interval that it was drawn with, so sums stay unbiased: what comes next does not depend
 * on what a thread is about to allocate. Called under the collector's lock.
 */

struct cp_heap_budget {
	uint64_t budget;  /* samples a second; 0 = the interval stays */
	unsigned percent; /* share of the CPU time that gives BUDGET; 0: BUDGET is fixed */
	uint64_t cpu_ns;  /* CPU time at the last look */
	uint64_t timed, timed_ns, sample_ns; /* samples that were timed, and their ns, at the last
						look; ns of a sample since then */
	uint64_t least, most;		     /* bounds of the interval, bytes */
	uint64_t smallest, largest;	     /* intervals that were in force */
	uint64_t changes;
	uint64_t average; /* samples a second, over the last ticks */
	uint64_t samples, at_ns,
		due_ns; /* samples and time at the last look; time of the next one */
};
extern struct cp_heap_budget cp_heap_budget;

/* Begin with INTERVAL, above 1. SAMPLES were counted so far. BUDGET 0: never due. */
void cp_heap_budget_start(uint64_t budget, uint64_t interval, uint64_t samples, uint64_t now_ns);
/* The same with PERCENT of the CPU time. The process has used CPU_NS so far. */
void cp_heap_budget_start_share(unsigned percent, uint64_t interval, uint64_t samples,
				uint64_t now_ns, uint64_t cpu_ns);
/* Go on with BUDGET, or with PERCENT of the CPU time, as above. The numbers about earlier intervals
 * stay. */
void cp_heap_budget_set(uint64_t budget, uint64_t samples, uint64_t now_ns);
void cp_heap_budget_set_share(unsigned percent, uint64_t samples, uint64_t now_ns, uint64_t cpu_ns);
/* Before a tick: the process has used CPU_NS so far; TIMED samples took TIMED_NS. Sets BUDGET, if
 * it is a share. */
void cp_heap_budget_pay(uint64_t cpu_ns, uint64_t timed, uint64_t timed_ns, uint64_t now_ns);
/* The program has set INTERVAL itself. */
void cp_heap_budget_see(uint64_t interval);
/* Return the interval to go on with: INTERVAL is in force, SAMPLES were counted so far. */
uint64_t cp_heap_budget_tick(uint64_t interval, uint64_t samples, uint64_t now_ns);

/* heap_mode.c
 *
 * The heap mode's settings.
 */

struct cp_heap_settings {
	uint64_t interval; /* CPROF_HEAP_INTERVAL, bytes; 1 = every allocation */
	/* CPROF_HEAP_BUDGET: samples a second, or CP_CONFIG_PERCENT and a share of the CPU time; 0
	 * = the interval stays */
	unsigned budget;
	/* HEAP_PROFILE_{ALLOCATION,DEALLOCATION,INUSE}_INTERVAL: bytes between numbered dumps; 0 =
	 * off */
	uint64_t allocated, freed, in_use;
	uint64_t time_ns; /* HEAP_PROFILE_TIME_INTERVAL; 0 = off */
	unsigned views;	  /* CPROF_HEAP_VIEWS: ask cp_heap_shows */
	bool mmap;	  /* HEAP_PROFILE_MMAP turns on the view MMAP, whatever VIEWS has */
	bool use_pid;	  /* HEAPPROFILE_USE_PID=1 (gperftools): pid in the name, also in the first
			     process */
};

/* In the order of the setting's names. */
enum cp_heap_view {
	CP_HEAP_VIEW_RESIDENT, /* which part of the blocks is resident, swapped out, or untouched */
	CP_HEAP_VIEW_LIFETIMES,	    /* where and when blocks are freed */
	CP_HEAP_VIEW_FRAGMENTATION, /* the memory that partly used pages keep */
	CP_HEAP_VIEW_MMAP,	    /* the program's own mappings */
};

/* Is VIEW to be recorded? By default RESIDENT is, except in exact mode: there a dump would take a
 * quarter longer, because nothing else looks at each live block. */
static inline bool cp_heap_shows(const struct cp_heap_settings *s, enum cp_heap_view view)
{
	unsigned views = s->views & CP_CONFIG_UNSET && s->interval <= 1 ? 0 : s->views;

	return (view == CP_HEAP_VIEW_MMAP && s->mmap) || (views >> view & 1);
}

struct cp_config_mode;

/* The table of settings: variables, options, defaults. */
extern const struct cp_config_mode cp_heap_settings;

/* heap_census.c
 *
 * Fragmentation: what blocks keep in memory beyond their own bytes, because a page with a block on
 * it can't be given back. The page census (signal/census.h) knows all blocks of one page in N.
 *
 * A watched page's unused bytes are shared among its blocks in proportion to their bytes there, and
 * count N times. In exact mode the table of live blocks has all blocks, and takes the hooks' place.
 * The pipeline's rules apply; start and stop are called as those of the heap mode.
 */

struct cp_heap_census_sums {
	uint32_t one_in; /* one page in so many is watched; 0: no census */
	uint64_t pages;	 /* watched pages that have blocks and are in memory */
	uint64_t away;	 /* watched pages that have blocks but are swapped out */
	uint64_t held;	 /* estimated unused bytes on the pages with blocks */
	uint64_t error;	 /* standard error of HELD */
	uint64_t stale;	 /* blocks that overlap later ones, because their frees were not seen */
	uint64_t before; /* blocks of an earlier run, or of the parent process */
	bool assumed;	 /* the pages' state can't be read, so all count as in memory */
};

/* How many pages one watched page stands for. Tests that must know every page change it in a copy
 * of the library. */
extern volatile uint32_t cp_heap_census_pages;

/* Call in ordinary context, before start. */
void cp_heap_census_prepare(void);
void cp_heap_census_start(const struct cp_heap_settings *s, uint64_t seed);
void cp_heap_census_stop(void);

/* Looks at all watched pages. */
void cp_heap_census_look(struct cp_heap_census_sums *to);
/* The same, and adds values to the rows of R, the run of CPROF_HEAP_FRAGMENTATION. Returns a number
 * that is 0 without rows, and that changes with them. */
uint64_t cp_heap_census_add(struct cp_run *r);
/* Returns the sums of the last call of add. */
const struct cp_heap_census_sums *cp_heap_census_sums(void);

/* heap_report.c
 *
 * The comments in the files of the heap mode and its companions, as cp_mode_ops.report makes them.
 * Called by the pipeline, under the collector's lock. */

/* Sums, the process's memory, lost samples, and with CPROF_VERBOSE the largest stacks in use. */
void cp_heap_report(struct cp_comments *out, const struct cp_run *r, const struct cp_config *c);
void cp_heap_report_peak(struct cp_comments *out, const struct cp_run *r,
			 const struct cp_config *c);
void cp_heap_report_mappings(struct cp_comments *out, const struct cp_run *r,
			     const struct cp_config *c);
void cp_heap_report_lifetimes(struct cp_comments *out, const struct cp_run *r,
			      const struct cp_config *c);

/* memory.c
 *
 * What the process's resident memory consists of: a table whose rows add up to it.
 *
 * /proc/thread-self/smaps says how much of each mapping is resident. The dump reads it under the
 * collector's lock, and then says which addresses are blocks of the heap: the mappings with blocks
 * are the allocator's.
 */

enum cp_memory_table_kind {
	CP_MEMORY_HEAP,	     /* the allocator's mappings */
	CP_MEMORY_FILES,     /* the program, libraries, other files, and the modules' zeroed data */
	CP_MEMORY_SHARED,    /* shared memory without a file on disk */
	CP_MEMORY_STACKS,    /* stacks of main and of the known threads */
	CP_MEMORY_ANONYMOUS, /* other anonymous mappings */
	CP_MEMORY_OWN,	     /* the profiler's own memory */
};
#define CP_MEMORY_KINDS 6

struct cp_memory_table {
	struct cp_vec areas;  /* sorted by address */
	struct cp_vec stacks; /* uint64_t: an address in each thread's stack, sorted */
	const char *own_path; /* path of the library, or NULL */
	bool is_glibc;	      /* glibc's malloc: its arenas are known by their addresses */
	size_t found;	      /* the area of the last mark */
	uint64_t swapped;     /* bytes of all mappings */
};

/* Resident bytes by kind, and what is swapped. */
struct cp_memory_sums {
	uint64_t resident[CP_MEMORY_KINDS], swapped;
};

/* Reads the process's mappings. Returns 0 or a negative errno; then T is empty. Call release in any
 * case. */
int cp_memory_table_read(struct cp_memory_table *t, const struct cp_modules *modules,
			 bool is_glibc);
/* Adds the text of a part of smaps, whole lines only; for read, and for tests. Returns 0 or
 * -ENOMEM. */
int cp_memory_table_add(struct cp_memory_table *t, char *text);
/* There is a block of the heap at ADDRESS. */
void cp_memory_table_mark(struct cp_memory_table *t, uint64_t address);
void cp_memory_table_sum(const struct cp_memory_table *t, struct cp_memory_sums *to);
void cp_memory_table_release(struct cp_memory_table *t);

/* How much memory the process uses, and how near it is to the limit at which the kernel ends it.
 *
 * The limits are the cgroup's (v1 or v2, and those of the groups around it), RLIMIT_AS, and the
 * machine's memory. The collector asks several times a second, with raw system calls only.
 */

/* The address space, the machine, and each cgroup from the process's own to the root. */
#define CP_MEMORY_USE_LIMITS 16

struct cp_memory_use {
	uint64_t resident; /* resident bytes of the process */
	struct cp_memory_limit {
		uint64_t used, limit; /* bytes; LIMIT is not 0 */
		const char *of;	      /* what the limit belongs to */
	} limits[CP_MEMORY_USE_LIMITS];
	unsigned count;
};

/* Returns the number after KEY and its blanks in TEXT, as /proc has it: "VmRSS:". Returns 0 if
 * there is none. */
uint64_t cp_memory_use_number(const char *text, const char *key);
/* Finds the process's cgroup. Call when a watch starts, and in a fork child. */
void cp_memory_use_find(void);
/* Reads how much memory is used now. A number that can't be read is 0. */
void cp_memory_use_read(struct cp_memory_use *to);
/* The same from files below ROOT, for tests: ROOT/proc and ROOT/sys/fs/cgroup. "" by default. */
void cp_memory_use_set_root(const char *root);

/* heap_views.c
 *
 * How much of a block is in memory, is swapped out, or was never touched.
 *
 * /proc/thread-self/pagemap says for each page of the process whether it is present or swapped; no
 * privilege is needed for that. The dump asks, under the collector's lock. A block counts for the
 * part of each page that it covers.
 */

enum cp_resident_kind { CP_RESIDENT, CP_RESIDENT_SWAPPED, CP_RESIDENT_UNTOUCHED };
#define CP_RESIDENT_KINDS 3

/* Pages that are read at once. */
#define CP_RESIDENT_WINDOW 512

struct cp_resident {
	int fd;
	unsigned page_shift;
	uint64_t first, count; /* the pages whose entries are in WINDOW */
	uint64_t window[CP_RESIDENT_WINDOW];
};

/* Returns 0, or a negative errno where the kernel or a sandbox has no such file; then don't call
 * the others. */
int cp_heap_views_resident_open(struct cp_resident *r);
/* Sets BYTES to what the SIZE bytes at ADDRESS consist of; their sum is SIZE. Returns 0, or a
 * negative errno; then BYTES is unchanged. */
int cp_heap_views_resident_of(struct cp_resident *r, uint64_t address, uint64_t size,
			      uint64_t bytes[CP_RESIDENT_KINDS]);
void cp_heap_views_resident_close(struct cp_resident *r);

/* Adds to the rows of the heap mode, from the table of live blocks, how old the blocks in use are
 * and whether their pages are in memory.
 *
 * heap_rows.c sums up the depot's counters and then calls split, which looks at each live block
 * once. The pipeline's rules apply. */

/* The row of an entry that got none, for lack of memory. */
#define CP_HEAP_VIEWS_UNPLACED UINT32_MAX

/* The mode's data of a row besides its values. */
struct cp_heap_row {
	uint64_t size; /* mean size of the objects; 0 = no objects. The encoder fetches the first
			  field. */
	uint64_t objects,
		bytes; /* the values that the row doesn't show now: in use, or at the peak */
	uint64_t all_objects, all_bytes; /* in use, of all ages; 0 in the rows of one age */
	/* The row of the same stack without an age, and how much too little the rows of its ages
	 * have been rounded to so far, in 1/CP_POISSON_ONE objects. */
	uint32_t base;
	int32_t rest;
	/* Objects of the value that is a sum, in 1/CP_POISSON_ONE: now, and when they were rounded
	 * before. */
	uint64_t exact, rounded;
	/* Bytes in use by kind, only with the view "resident"; and the allocator's usable bytes for
	 * them. */
	uint64_t space[CP_RESIDENT_KINDS], usable;
};

/* Returns what the mode keeps of row I of A. */
static inline struct cp_heap_row *cp_heap_views_row(const struct cp_aggregate *a, uint32_t i)
{
	return CP_VEC_AT(&a->aside, struct cp_heap_row, i);
}

/* A row's tag: 0 = blocks of any age, of which those in use are those whose age isn't known; else
 * blocks in use of one age. Returns the age of such a row in seconds: 0, or a power of two that is
 * not above the blocks' ages. */
static inline int64_t cp_heap_views_age(uint64_t tag)
{
	return tag > 1 ? (int64_t)1 << (tag - 2) : 0;
}

/* Does entry E count for run R? */
bool cp_heap_views_belongs(const struct cp_stack_depot_entry *e, const struct cp_run *r);
/* Returns the row of E's stack, or CP_INDEX_NONE without memory. Room for what the mode keeps of it
 * is made. */
uint32_t cp_heap_views_row_of(struct cp_aggregate *a, const struct cp_stack_depot_entry *e,
			      uint32_t labels, uint64_t tag);

/* Choose whether the next dumps say per row how much is resident. Call at the start of a run. */
void cp_heap_views_start(bool resident);
bool cp_heap_views_has_resident(void);
/* Do the next dumps also have the usable sizes that the allocator gave? */
bool cp_heap_views_has_usable(void);

/* Splits what is in use in R's rows by age and, where that is known, adds which part is resident.
 * Reads the process's mappings for the table below. */
void cp_heap_views_split(struct cp_run *r);
/* Call instead where no block was sampled and the process need not write a file: a child that ends
 * at once doesn't pay for reading the mappings. */
void cp_heap_views_skip(void);

/* Results of the last split. */
struct cp_heap_views_found {
	int table_error;    /* 0, or a negative errno: SUMS is unknown */
	int resident_error; /* 0, or a negative errno: pages' states are unknown */
	bool looked; /* blocks were looked up, so USED is known unless RESIDENT_ERROR is set */
	struct cp_memory_sums sums;
	uint64_t used[CP_RESIDENT_KINDS]; /* of the bytes in use */
	/* Usable bytes that the allocator gave for the bytes in use, and how many of the excess
	 * ones are resident. 0: not known. */
	uint64_t usable, rounded;
};
const struct cp_heap_views_found *cp_heap_views_found(void);

/* heap_rows.c
 *
 * Turns the stack depot's counters into rows of the heap mode's aggregates, and sums them up.
 */

struct cp_heap_sums {
	struct cp_stack_depot_amount allocated, in_use, peak;
	uint64_t stacks;
};

/* Add rows for the stacks that are new to R, the run of the heap mode or of its mappings. Call with
 * the collector's lock held and with modules freshly read. */
void cp_heap_rows_collect(struct cp_run *r);
/* As output.h, BLOCK. */
struct cp_diary_entry;
void cp_heap_rows_block(struct cp_run *r, const struct cp_diary_entry *e, uint32_t thread);
/* Sum up the counters now, unless they were summed since the last collect, and show the sums in the
 * rows. */
void cp_heap_rows_settle(struct cp_run *r);
/* Make the rows hold the values of R's file, as of the last sum. The heap's in-use and peak values
 * are summed at the same time; this swaps them if the rows hold the other ones. */
void cp_heap_rows_show(const struct cp_run *r);
/* Returns the totals of the process, as of the last sum. */
const struct cp_heap_sums *cp_heap_rows_sums(const struct cp_run *r);
/* Numbers for the comments; see COUNT in output.h. */
enum {
	CP_HEAP_ALLOCATED_OBJECTS, /* in the mode of lifetimes: freed ones */
	CP_HEAP_ALLOCATED_BYTES,
	CP_HEAP_MAPPINGS_LOST,
	CP_HEAP_COUNTS
};
void cp_heap_rows_count(const struct cp_run *r, struct cp_vec *to);
/* Converts OBJECTS to whole objects. */
uint64_t cp_heap_rows_whole(uint64_t objects);

/* Functions that allocate, and those of the C++ and Rust libraries between them and the program
 * that never call code of the program: allocators and strings. See drop_frames in output.h. */
#define CP_HEAP_ALLOCATES                                                                          \
	"operator new(\\[\\])?|malloc|calloc|realloc|reallocarray|memalign|aligned_alloc|"         \
	"posix_memalign|p?valloc|[mrx]allocx|"                                                     \
	"std::(__1::)?allocator(_traits<std::(__1::)?allocator)?<.*>::allocate.*|"                 \
	"(std::__|__gnu_cxx::)new_allocator<.*>::allocate.*|"                                      \
	"std::(__cxx11::)?_[A-Z].*std::allocator<.*::_M_(allocate|create_storage|get_node)|"       \
	"std::(__cxx11::|__1::)?basic_string<(char|wchar_t).*|"                                    \
	"__r(ust|dl|g)_(alloc|realloc).*|alloc::raw_vec::.*|<alloc::alloc::Global as .*|"          \
	"alloc::alloc::(Global::.*|alloc(_zeroed)?|realloc|exchange_malloc)"

/* mappings.c
 *
 * Memory that the program maps by itself (mmap, mremap, brk, sbrk), with the stack that mapped it.
 * Each mapping is tracked until it is unmapped, possibly in pieces.
 *
 * The interposed functions of lib/modes/heap/hooks/mmap.c call these functions around the real
 * ones. The real calls are system calls, so a lock adds little cost. The lock is held with all
 * signals blocked, and never during the real call.
 */

extern uint32_t cp_mappings_on;

static inline bool cp_mappings_wanted(void)
{
	return __builtin_expect(cp_load_relaxed(&cp_mappings_on) != 0, 0);
}

/* Empty the table and start tracking. */
void cp_mappings_start(void);
void cp_mappings_stop(void);
/* Call in a fork child. The parent's mappings are not attributed to the child. Doesn't wait for any
 * lock. */
void cp_mappings_fork_child(bool on);

/* Call before a call that unmaps. Returns a time stamp: pieces that are added later were not
 * unmapped by that call. */
uint64_t cp_mappings_now(void);
/* Remove the pieces in [START, START + SIZE) that are older than NOW. */
void cp_mappings_remove(uintptr_t start, size_t size, uint64_t now);
/* Record that [START, START + SIZE) is mapped, in place of what was there, by the function that
 * returns to CALLER. Not inlined, because the stack walk starts in this function. */
void cp_mappings_add(uintptr_t start, size_t size, void *caller);

/* Returns the number of pieces that could not be recorded. */
uint64_t cp_mappings_lost(void);

#endif
