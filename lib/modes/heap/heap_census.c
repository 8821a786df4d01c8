/* SPDX-License-Identifier: BSD-3-Clause */
/* Fragmentation by stack; see heap.h. */
#include "modes/heap/heap.h"

#include "unwind/unwind.h"
#include "modes/heap/signal/census.h"
#include "modes/heap/signal/heap_signal.h"

static struct {
	uint32_t one_in; /* 0: off */
	uint64_t seed;
	bool exact; /* the blocks are in the table of live blocks */
} my;
static struct cp_heap_census_sums last;

volatile uint32_t cp_heap_census_pages = 256;

void cp_heap_census_prepare(void)
{
	struct cp_loaded_object own;
	void (*here)(void) = cp_heap_census_prepare;
	void *f;

	memcpy(&f, &here, sizeof(f));
	if (!cp_loaded_at(f, &own))
		return;
	cp_heap_stack_own_low = own.low;
	cp_heap_stack_own_high = own.high;
}

static void begin_census(void)
{
	cp_census_begin(my.one_in, (unsigned)__builtin_ctzl(cp_pages_kernel()), my.seed);
}

void cp_heap_census_start(const struct cp_heap_settings *s, uint64_t seed)
{
	my.one_in = 0;
	if (!cp_heap_shows(s, CP_HEAP_VIEW_FRAGMENTATION) || !cp_census_switch)
		return;
	my.one_in = cp_heap_census_pages;
	my.seed = cp_poisson_seed(seed, my.one_in);
	my.exact = s->interval <= 1;
	if (my.exact)
		return;
	begin_census();
	cp_census_switch(true);
}

void cp_heap_census_stop(void)
{
	if (my.one_in && !my.exact) {
		cp_census_switch(false);
		cp_census_end();
	}
}

const struct cp_heap_census_sums *cp_heap_census_sums(void)
{
	return &last;
}

/* The blocks of a page, by address. The collector's lock is held. */
static struct on_page {
	uint32_t id;
	uint64_t begin, bytes; /* the part of the block that is on the page */
	bool starts;	       /* the block begins on this page */
} blocks[CP_ARCH_PAGE_MAX / CP_CENSUS_GRAIN + 1];

struct look {
	struct cp_run *run; /* NULL: only SUMS are wanted */
	struct cp_heap_census_sums *sums;
	struct cp_resident resident;
	uint64_t squares; /* sum over the pages of the squares of their unused bytes */
	unsigned count;	  /* of BLOCKS */
};

/* A block that reaches into the next one was freed without a call that we see. */
static void append_gap(struct look *x, uint64_t word, uint64_t begin, uint64_t end, bool starts)
{
	while (x->count && blocks[x->count - 1].begin + blocks[x->count - 1].bytes > begin) {
		x->count--;
		x->sums->stale++;
	}
	blocks[x->count++] = (struct on_page){ cp_census_id(word), begin, end - begin, starts };
}

static void gather(struct look *x, const struct cp_census_page *p)
{
	uint64_t start = p->number << cp_census.page_bits, end = start + cp_census_page_size();
	uint64_t before = cp_load_acquire(&p->before), word, stop;

	x->count = 0;
	if (before) {
		word = cp_load_relaxed(&p->before_word);
		stop = before + cp_census_size(word);
		if (stop > start)
			append_gap(x, word, start, stop < end ? stop : end, false);
	}
	for (uint64_t at = start; at < end; at += CP_CENSUS_GRAIN) {
		word = cp_load_acquire(&p->blocks[(at - start) / CP_CENSUS_GRAIN]);
		if (!word)
			continue;
		stop = at + cp_census_size(word);
		append_gap(x, word, at, stop < end ? stop : end, true);
	}
}

/* In exact mode the row is that of another mode, if the stack's modules are still there. */
static uint32_t row_of(struct look *x, struct cp_stack_depot_entry *e)
{
	struct cp_aggregate *a = &x->run->aggregate;
	uint32_t row;

	if (cp_load_relaxed(&e->seen.epoch) < cp_heap_totals.first_epoch)
		return CP_INDEX_NONE;
	if (!my.exact)
		return e->row && e->row != CP_HEAP_VIEWS_UNPLACED ? e->row - 1 : CP_INDEX_NONE;
	if (!cp_stack_depot_is_found(e))
		return CP_INDEX_NONE;
	row = cp_heap_views_row_of(a, e, e->labels, 0);
	if (row != CP_INDEX_NONE)
		cp_heap_views_row(a, row)->base = row;
	return row;
}

/* SHARE of ALL is the block's part of the page, of which UNUSED bytes are held. */
static void add_block(struct look *x, const struct on_page *b, uint64_t share, uint64_t all,
		      uint64_t unused)
{
	struct cp_stack_depot_entry *e = b->id ? cp_stack_depot_at(b->id) : NULL;
	uint32_t row = e ? row_of(x, e) : CP_INDEX_NONE;
	uint64_t n = cp_census.weight, *v;

	if (row == CP_INDEX_NONE) {
		x->sums->before++;
		return;
	}
	v = cp_aggregate_row_at(&x->run->aggregate, row)->values;
	v[0] += b->starts ? n << CP_POISSON_ONE_SHIFT >> CP_CENSUS_ONE_BITS : 0;
	v[1] += n * b->bytes >> CP_CENSUS_ONE_BITS;
	v[2] += (n << CP_POISSON_ONE_SHIFT >> CP_CENSUS_ONE_BITS) * share / all;
	v[3] += n * unused * share / all >> CP_CENSUS_ONE_BITS;
}

static bool is_away(struct look *x, const struct cp_census_page *p)
{
	uint64_t is[CP_RESIDENT_KINDS];

	return !x->sums->assumed &&
	       !cp_heap_views_resident_of(&x->resident, p->number << cp_census.page_bits,
					  cp_census_page_size(), is) &&
	       !is[CP_RESIDENT];
}

static void look_at(const struct cp_census_page *p, void *look)
{
	struct look *x = look;
	uint64_t used = 0, all = 0, unused;

	gather(x, p);
	if (!x->count)
		return;
	if (is_away(x, p)) {
		x->sums->away++;
		return;
	}
	/* A block that has no bytes on the page also keeps it in memory. */
	for (unsigned i = 0; i < x->count; i++) {
		used += blocks[i].bytes;
		all += blocks[i].bytes + 1;
	}
	unused = cp_census_page_size() - used;
	x->sums->pages++;
	x->sums->held += unused;
	x->squares += unused * unused;
	for (unsigned i = 0; x->run && i < x->count; i++)
		add_block(x, &blocks[i], blocks[i].bytes + 1, all, unused);
}

static uint64_t root(uint64_t square)
{
	uint64_t r = 0;

	for (int bit = 31; bit >= 0; bit--) {
		uint64_t more = r | UINT64_C(1) << bit;

		r = more * more <= square ? more : r;
	}
	return r;
}

static void track(uint64_t address, const struct cp_live_block *b, void *unused)
{
	if (cp_census_is_on(address, b->size))
		cp_census_add(address, &(struct cp_census_block){ b->size, b->id });
}

static void look_at_pages(struct cp_run *r, struct cp_heap_census_sums *to)
{
	struct look x = { .run = r, .sums = to };

	*to = (struct cp_heap_census_sums){ .one_in = my.one_in };
	if (!my.one_in)
		return;
	if (my.exact) {
		begin_census();
		cp_live_each(track, NULL);
	}
	to->assumed = cp_heap_views_resident_open(&x.resident) != 0;
	cp_census_each(look_at, &x);
	if (!to->assumed)
		cp_heap_views_resident_close(&x.resident);
	to->held = to->held * cp_census.weight >> CP_CENSUS_ONE_BITS;
	to->error = my.one_in > 1 ? cp_census.weight * root(x.squares) >> CP_CENSUS_ONE_BITS : 0;
	if (my.exact)
		cp_census_end();
}

void cp_heap_census_look(struct cp_heap_census_sums *to)
{
	look_at_pages(NULL, to);
}

uint64_t cp_heap_census_add(struct cp_run *r)
{
	last = (struct cp_heap_census_sums){ .one_in = my.one_in };
	/* A child that has no blocks of its own doesn't pay for a look at its parent's. */
	if (!r->aggregate.stacks.count && !my.exact)
		return 0;
	cp_modules_want(r->aggregate.modules);
	look_at_pages(r, &last);
	return r->aggregate.stacks.count ? 1 + last.pages + last.held : 0;
}
