/* SPDX-License-Identifier: BSD-3-Clause */
/* Ages and resident bytes of what is in use; see heap.h. */
#include "modes/heap/heap.h"

#include <errno.h>

#include "modes/heap/allocator.h"
#include "modes/heap/signal/heap_signal.h"
#include "base/sys.h"

/* A process that lives for less is brief. */
#define BRIEF_NS UINT64_C(10000000)

static bool wants_resident;
static struct cp_heap_views_found found;

bool cp_heap_views_belongs(const struct cp_stack_depot_entry *e, const struct cp_run *r)
{
	enum cprof_mode mode = e->interval == CP_STACK_DEPOT_MAPPING ? CPROF_HEAP_MMAP
			       : e->interval & CP_STACK_DEPOT_FREED  ? CPROF_HEAP_LIFETIMES
			       : e->interval & CP_STACK_DEPOT_CENSUS ? CPROF_HEAP_FRAGMENTATION
								     : CPROF_HEAP;

	return cp_load_relaxed(&e->seen.epoch) >= cp_heap_totals.first_epoch && mode == r->mode;
}

/* Makes room in A for what the mode keeps of each row, and of one more. Returns false without
 * memory. */
static bool make_room(struct cp_aggregate *a)
{
	while (a->aside.count <= a->stacks.count)
		if (!cp_vec_add(&a->aside))
			return false;
	return true;
}

/* Room is made first, so that no row without values is left if memory is exhausted. */
uint32_t cp_heap_views_row_of(struct cp_aggregate *a, const struct cp_stack_depot_entry *e,
			      uint32_t labels, uint64_t tag)
{
	static uint64_t pcs[CP_STACK_DEPOT_DEPTH]; /* too large for the stacks of threads */

	if (!make_room(a))
		return CP_INDEX_NONE;
	cp_stack_depot_pcs(e, pcs, CP_STACK_DEPOT_DEPTH);
	return cp_aggregate_row(a, &(struct cp_raw_stack){ .pcs = pcs,
							   .depth = e->depth,
							   .end = e->end,
							   .labels = labels,
							   .tag = tag,
							   .thread = CP_NO_THREAD });
}

void cp_heap_views_start(bool resident)
{
	wants_resident = resident;
}

bool cp_heap_views_has_resident(void)
{
	return wants_resident && !found.resident_error;
}

/* How allocators round sizes. */

/* glibc: a chunk has a header of 8 bytes and is a multiple of 16, at least 32. A chunk that was
 * mapped has a header of 16 bytes at the start of a page. */
#define HEADER 8u
#define CHUNK_MIN 32u
#define MAPPED_HEADER 16u
#define MAPPED_MIN (UINT64_C(128) << 10)

/* jemalloc: 8, then multiples of 16 up to 128, then four classes for each power of two. */
#define TINY 8u
#define QUANTUM 16u
#define LINEAR_MOST 128u
#define CLASSES_BITS 2u

/* mimalloc 2: blocks that mi_good_size rounds to pages are made of slices. */
#define SLICE (UINT64_C(64) << 10)
#define SLICED_MIN (UINT64_C(128) << 10)

/* Larger sizes are no real allocations, and rounding them would overflow. */
#define SIZE_MOST (UINT64_C(1) << 62)

static uint64_t round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) & ~(to - 1);
}

uint64_t cp_heap_views_usable_glibc(uint64_t size, uint64_t address)
{
	uint64_t chunk = round_up(size + HEADER, 2 * HEADER);

	if (size >= MAPPED_MIN && address % cp_pages_kernel() == MAPPED_HEADER)
		return round_up(size + MAPPED_HEADER, cp_pages_kernel()) - MAPPED_HEADER;
	return (chunk < CHUNK_MIN ? CHUNK_MIN : chunk) - HEADER;
}

uint64_t cp_heap_views_usable_jemalloc(uint64_t size)
{
	if (size <= TINY)
		return TINY;
	if (size <= LINEAR_MOST)
		return round_up(size, QUANTUM);
	return round_up(size, UINT64_C(1) << (63 - __builtin_clzl(size - 1) - (int)CLASSES_BITS));
}

/* These functions of tcmalloc and mimalloc compute without locks and without data of the thread, so
 * the collector may call them. */
static uint64_t ask_allocator(uint64_t size)
{
	if (cp_allocator.nallocx)
		return cp_allocator.nallocx(size, 0);
	return size > SLICED_MIN ? round_up(size, SLICE) : cp_allocator.good_size(size);
}

/* Is it known how the program's allocator rounds? */
static bool usable_is_known(void)
{
	return cp_allocator.is_glibc || cp_allocator.is_jemalloc || cp_allocator.nallocx ||
	       cp_allocator.good_size;
}

/* Returns the usable bytes, at least SIZE, of a block of SIZE bytes at ADDRESS. Call only if they
 * are known. */
static uint64_t usable_of(uint64_t size, uint64_t address)
{
	uint64_t usable = size;

	if (size > SIZE_MOST)
		return size;
	if (cp_allocator.is_glibc)
		usable = cp_heap_views_usable_glibc(size, address);
	else if (cp_allocator.is_jemalloc)
		usable = cp_heap_views_usable_jemalloc(size);
	else
		usable = ask_allocator(size);
	return usable > size ? usable : size;
}

bool cp_heap_views_has_usable(void)
{
	return cp_heap_views_has_resident() && usable_is_known();
}

const struct cp_heap_views_found *cp_heap_views_found(void)
{
	return &found;
}

struct look {
	struct cp_run *run;
	uint64_t now;	    /* monotonic ns */
	uint32_t base, row; /* rows of the previous block */
	uint64_t tag;
	bool ages, pages, usable;
	struct cp_resident resident;
	struct cp_memory_table table;
};

static uint64_t tag_of_age(const struct look *x, uint64_t born)
{
	uint64_t since = cp_lifetimes_born_ns(born);
	uint64_t seconds = x->now > since ? (x->now - since) / UINT64_C(1000000000) : 0;

	return seconds ? 2 + (63 - (uint64_t)__builtin_clzl(seconds)) : 1;
}

/* Returns the row of BASE's stack with TAG, or CP_INDEX_NONE if there is no memory. */
static uint32_t row_of_age(struct look *x, uint32_t base, uint64_t tag)
{
	struct cp_aggregate *a = &x->run->aggregate;

	if (x->row != CP_INDEX_NONE && x->base == base && x->tag == tag)
		return x->row;
	x->row = make_room(a)
			 ? cp_aggregate_relabel(a, base, cp_aggregate_row_at(a, base)->labels, tag)
			 : CP_INDEX_NONE;
	x->base = base;
	x->tag = tag;
	if (x->row != CP_INDEX_NONE)
		cp_heap_views_row(a, x->row)->base = base;
	return x->row;
}

/* Move what a block represents from its stack's row to the row of its age. Other threads go on
 * allocating and freeing, so there may be less in the row. Returns the row that has the block. */
static uint32_t move_to_age(struct look *x, uint32_t base, uint64_t born, uint64_t objects,
			    uint64_t bytes)
{
	struct cp_aggregate *a = &x->run->aggregate;
	uint32_t row = row_of_age(x, base, tag_of_age(x, born));
	uint64_t *from, *to;

	if (row == CP_INDEX_NONE)
		return base;
	from = cp_aggregate_row_at(a, base)->values;
	to = cp_aggregate_row_at(a, row)->values;
	if (from[2] < objects || from[3] < bytes)
		return base;
	from[2] -= objects;
	from[3] -= bytes;
	to[2] += objects;
	to[3] += bytes;
	return row;
}

/* The state of a block's pages. */

/* Bits of an entry of pagemap. */
#define PRESENT (UINT64_C(1) << 63)
#define SWAPPED (UINT64_C(1) << 62)

int cp_heap_views_resident_open(struct cp_resident *r)
{
	int fd = cp_thread_file_open("pagemap");

	if (fd < 0)
		return fd;
	r->fd = fd;
	r->page_shift = (unsigned)__builtin_ctzl(cp_pages_kernel());
	r->first = r->count = 0;
	return 0;
}

void cp_heap_views_resident_close(struct cp_resident *r)
{
	cp_sys_close(r->fd);
}

/* Read the entry of page FIRST, and those of up to COUNT pages from there on. Most blocks of the
 * table lie in the page of the block before. */
static int look_at_entries(struct cp_resident *r, uint64_t first, uint64_t count)
{
	uint64_t n = count < CP_RESIDENT_WINDOW ? count : CP_RESIDENT_WINDOW;
	long got;

	if (first - r->first < r->count)
		return 0;
	got = cp_sys_pread(r->fd, r->window, n * sizeof(uint64_t), first * sizeof(uint64_t));
	if (got < (long)sizeof(uint64_t))
		return got < 0 ? (int)got : -EIO;
	r->first = first;
	r->count = (uint64_t)got / sizeof(uint64_t);
	return 0;
}

static enum cp_resident_kind kind_of(uint64_t entry)
{
	return entry & PRESENT	 ? CP_RESIDENT
	       : entry & SWAPPED ? CP_RESIDENT_SWAPPED
				 : CP_RESIDENT_UNTOUCHED;
}

int cp_heap_views_resident_of(struct cp_resident *r, uint64_t address, uint64_t size,
			      uint64_t bytes[CP_RESIDENT_KINDS])
{
	uint64_t end = address + size, sums[CP_RESIDENT_KINDS] = { 0 };
	uint64_t last = size ? (end - 1) >> r->page_shift : 0, next;
	int err;

	for (uint64_t at = address; at < end; at = next) {
		uint64_t page = at >> r->page_shift;

		err = look_at_entries(r, page, last - page + 1);
		if (err)
			return err;
		next = (page + 1) << r->page_shift;
		next = next < end ? next : end;
		sums[kind_of(r->window[page - r->first])] += next - at;
	}
	memcpy(bytes, sums, sizeof(sums));
	return 0;
}

/* Add the resident part of the block, which represents BYTES, to ROW. */
static void look_at_pages(struct look *x, uint64_t address, uint64_t size, uint64_t bytes,
			  uint32_t row)
{
	struct cp_heap_row *aside = cp_heap_views_row(&x->run->aggregate, row);
	uint64_t is[CP_RESIDENT_KINDS], all;

	if (!size || cp_heap_views_resident_of(&x->resident, address, size, is))
		return;
	for (unsigned k = 0; k < CP_RESIDENT_KINDS; k++) {
		all = (uint64_t)((__uint128_t)is[k] * bytes / size);
		aside->space[k] += all;
		found.used[k] += all;
	}
}

/* Add to ROW what the allocator gave for the block, which represents BYTES. */
static void look_at_usable(struct look *x, uint64_t address, uint64_t size, uint64_t bytes,
			   uint32_t row)
{
	uint64_t usable = usable_of(size, address), is[CP_RESIDENT_KINDS], all;

	all = size ? (uint64_t)((__uint128_t)usable * bytes / size) : 0;
	cp_heap_views_row(&x->run->aggregate, row)->usable += all;
	found.usable += all;
	/* The rest has the state of the block's last page, mostly. */
	if (size && x->pages && usable > size &&
	    !cp_heap_views_resident_of(&x->resident, address + size, usable - size, is))
		found.rounded += (uint64_t)((__uint128_t)is[CP_RESIDENT] * bytes / size);
}

static void look_at(uint64_t address, const struct cp_live_block *b, void *look)
{
	struct look *x = look;
	struct cp_stack_depot_entry *e = cp_stack_depot_at(b->id);
	uint64_t objects, bytes;
	uint32_t row;

	address = cp_arch_untag(address);
	cp_memory_table_mark(&x->table, address);
	if (!cp_heap_views_belongs(e, x->run) || !e->row || e->row == CP_HEAP_VIEWS_UNPLACED)
		return;
	cp_poisson_stands_for(b->size, e->interval, &objects, &bytes);
	row = e->row - 1;
	if (x->ages && b->born)
		row = move_to_age(x, row, b->born, objects, bytes);
	if (x->pages)
		look_at_pages(x, address, b->size, bytes, row);
	if (x->usable)
		look_at_usable(x, address, b->size, bytes, row);
}

/* Is R's process one of a tree's many short ones? The kernel's table of its memory takes as long as
 * the rest of its end, and nobody wants to know how so brief a memory was divided. */
static bool is_brief(const struct cp_run *r)
{
	return !r->owner && cp_run_length_ns(r) < BRIEF_NS;
}

/* In exact mode there may be millions of blocks, so they are looked at only on request. */
void cp_heap_views_split(struct cp_run *r)
{
	struct look x = { .run = r,
			  .now = cp_sys_clock_ns(CLOCK_MONOTONIC),
			  .row = CP_INDEX_NONE,
			  .ages = cp_heap_totals.births };

	found = (struct cp_heap_views_found){ .looked = wants_resident ||
							cp_heap_totals.interval > 1 };
	found.table_error = is_brief(r) ? -ENODATA
					: cp_memory_table_read(&x.table, r->aggregate.modules,
							       cp_allocator.is_glibc);
	if (found.looked)
		found.resident_error = cp_heap_views_resident_open(&x.resident);
	x.pages = found.looked && !found.resident_error;
	x.usable = found.looked && usable_is_known();
	if (found.looked)
		cp_live_each(look_at, &x);
	if (x.pages)
		cp_heap_views_resident_close(&x.resident);
	cp_memory_table_sum(&x.table, &found.sums);
	cp_memory_table_release(&x.table);
}

void cp_heap_views_skip(void)
{
	found = (struct cp_heap_views_found){ .table_error = -ENODATA };
}
