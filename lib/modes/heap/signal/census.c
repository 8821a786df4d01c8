/* SPDX-License-Identifier: BSD-3-Clause */
/* The blocks of watched pages; see census.h. */
#include "modes/heap/signal/census.h"

#include "base/sys.h"
#include "modes/heap/signal/heap_signal.h"

#define BUCKET_BITS 14
#define BUCKETS (1u << BUCKET_BITS)
/* Pages in a mapping, and mappings: enough for a heap of 128 GiB at one page of 4 KiB in 256. */
#define CHUNK_PAGES 64u
#define CHUNKS 2048u
/* Blocks that begin more than a page before the watched page on which they end. */
#define FAR_SLOTS 16384u
#define FAR_WAYS 8u
#define FULL UINT8_MAX /* the number is not known any more */
/* Fibonacci hashing. */
#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)
/* The golden ratio's fraction, which is added to N. */
#define FRACTION UINT64_C(40503)
#define SIZE_MOST ((UINT64_C(1) << 40) - 1)

struct cp_census cp_census;
void (*cp_census_switch)(bool on);
uint8_t cp_census_filter[1 << CP_CENSUS_FILTER_BITS] __attribute__((aligned(64)));

static struct cp_census_page *buckets[BUCKETS];
static struct cp_census_page *chunks[CHUNKS];
static uint64_t used; /* number of pages in use */
static struct cp_census_lost lost;

/* ADDRESS 0: the slot is empty. LAST is the number of the page on which the block ends. */
static struct far {
	uint64_t address, last;
} * far_blocks;

static size_t bytes_of_blocks(void)
{
	return cp_census_page_size() / CP_CENSUS_GRAIN * sizeof(uint64_t);
}

static size_t bytes_of_page(void)
{
	return sizeof(struct cp_census_page) + bytes_of_blocks();
}

static struct cp_census_page *make_page(uint64_t number)
{
	uint64_t n = cp_add_relaxed(&used, 1), chunk = n / CHUNK_PAGES;
	struct cp_census_page *c, *none = NULL;

	if (chunk >= CHUNKS) {
		cp_store_relaxed(&used, (uint64_t)CHUNKS * CHUNK_PAGES);
		return NULL;
	}
	c = cp_load_acquire(&chunks[chunk]);
	if (!c) {
		c = cp_sys_map(CHUNK_PAGES * bytes_of_page());
		if (!c)
			return NULL;
		if (!cp_cas_acqrel(&chunks[chunk], &none, c)) {
			cp_sys_unmap(c, CHUNK_PAGES * bytes_of_page());
			c = none;
		}
	}
	c = (struct cp_census_page *)(void *)((char *)c + n % CHUNK_PAGES * bytes_of_page());
	c->number = number;
	return c;
}

static struct cp_census_page **bucket_of(uint64_t number)
{
	return &buckets[number * GOLDEN >> (64 - BUCKET_BITS)];
}

static struct cp_census_page *find_page(uint64_t number)
{
	/* Acquire: pairs with the exchange in get; the page is complete. */
	struct cp_census_page *p = cp_load_acquire(bucket_of(number));

	while (p && p->number != number)
		p = p->next;
	return p;
}

/* Returns the watched page NUMBER, new or not, or NULL without memory. */
static struct cp_census_page *get_page(uint64_t number)
{
	struct cp_census_page **bucket = bucket_of(number), *p = find_page(number), *new, *first;

	if (p)
		return p;
	new = make_page(number);
	if (!new)
		return NULL;
	first = cp_load_acquire(bucket);
	do {
		/* Another thread may have added the page meanwhile; then NEW stays unused. */
		for (p = first; p; p = p->next)
			if (p->number == number)
				return p;
		new->next = first;
	} while (!cp_cas_acqrel(bucket, &first, new));
	return new;
}

static bool is_watched(uint64_t address)
{
	return cp_census_hash(address) - cp_census.below < cp_census.below;
}

static uint64_t page_of(uint64_t address)
{
	return address >> cp_census.page_bits;
}

static uint64_t last_page(uint64_t address, uint64_t size)
{
	return page_of(address + size - (size != 0));
}

static uint64_t *slot_of(struct cp_census_page *p, uint64_t address)
{
	return &p->blocks[address % cp_census_page_size() / CP_CENSUS_GRAIN];
}

/* Return B as a word, which is never 0. */
static uint64_t word_of(const struct cp_census_block *b)
{
	uint64_t size = b->size < SIZE_MOST ? b->size : SIZE_MOST;

	return (uint64_t)b->id << 40 | (size || b->id ? size : 1);
}

static void read_word(struct cp_census_block *b, uint64_t word)
{
	b->id = cp_census_id(word);
	b->size = cp_census_size(word);
}

static void count_one(uint64_t *counter)
{
	cp_add_relaxed(counter, 1);
}

static void change_cell(uint8_t *cell, int by)
{
	uint8_t seen = cp_load_relaxed(cell);

	while (seen != FULL && !cp_cas_acqrel(cell, &seen, (uint8_t)(seen + by)))
		;
}

static struct far *far_at(uint64_t address, unsigned way)
{
	uint64_t hash = (address >> 4) * GOLDEN >> 32;

	return &far_blocks[(hash + way) % FAR_SLOTS];
}

static struct far *find_far(uint64_t address)
{
	if (!cp_load_acquire(&far_blocks))
		return NULL;
	for (unsigned i = 0; i < FAR_WAYS; i++)
		if (cp_load_acquire(&far_at(address, i)->address) == address)
			return far_at(address, i);
	return NULL;
}

static bool have_far(void)
{
	struct far *f, *none = NULL;

	if (cp_load_acquire(&far_blocks))
		return true;
	f = cp_sys_map(FAR_SLOTS * sizeof(*f));
	if (!f)
		return false;
	if (!cp_cas_acqrel(&far_blocks, &none, f))
		cp_sys_unmap(f, FAR_SLOTS * sizeof(*f));
	return true;
}

/* Remember on which page the block at ADDRESS ends. */
static bool add_far(uint64_t address, uint64_t last)
{
	if (!have_far())
		return false;
	for (unsigned i = 0; i < FAR_WAYS; i++) {
		struct far *f = far_at(address, i);
		uint64_t none = 0;

		/* The low bit marks a slot that isn't complete. */
		if (cp_load_relaxed(&f->address) || !cp_cas_acqrel(&f->address, &none, 1))
			continue;
		cp_store_relaxed(&f->last, last);
		cp_store_release(&f->address, address);
		change_cell(cp_census_cell(cp_census_hash(address)), 1);
		cp_add_relaxed(&cp_census.far, UINT64_C(1));
		return true;
	}
	return false;
}

static void end_far(struct far *f, uint64_t address)
{
	cp_store_release(&f->address, 0);
	change_cell(cp_census_cell(cp_census_hash(address)), -1);
	cp_add_relaxed(&cp_census.far, UINT64_MAX);
}

/* Take the block at ADDRESS from the page NUMBER, on which it ends. Returns its word, or 0. */
static uint64_t take_before(uint64_t number, uint64_t address)
{
	struct cp_census_page *p = find_page(number);
	uint64_t word;

	if (!p || cp_load_acquire(&p->before) != address)
		return 0;
	word = cp_load_relaxed(&p->before_word);
	/* Another block may have taken its place: then the free of this one wasn't seen. */
	return cp_cas_acqrel(&p->before, &address, 0) ? word : 0;
}

/* Returns the block's word, or 0 if the block isn't tracked. */
static uint64_t take_block(uint64_t address)
{
	struct cp_census_page *p = is_watched(address) ? find_page(page_of(address)) : NULL;
	uint64_t word = p ? cp_exchange_acqrel(slot_of(p, address), 0) : 0, other;
	struct far *f;

	/* An empty slot has the address 0, too. */
	if (!address)
		return 0;
	other = is_watched(address + cp_census_page_size())
			? take_before(page_of(address) + 1, address)
			: 0;
	f = cp_load_relaxed(&cp_census.far) ? find_far(address) : NULL;
	if (f) {
		other = take_before(cp_load_relaxed(&f->last), address);
		end_far(f, address);
	}
	return word ? word : other;
}

/* The calling thread's block covers the slots of P from FIRST to before END, an offset in the page:
 * blocks that begin there were freed without a call of remove. So of two blocks that overlap, the
 * one at the lower address is the older one, which heap_census.c leaves out. */
static void clear_slots(struct cp_census_page *p, uint64_t first, uint64_t end)
{
	for (uint64_t i = first; i * CP_CENSUS_GRAIN < end; i++)
		if (cp_load_relaxed(&p->blocks[i]) && cp_exchange_acqrel(&p->blocks[i], 0))
			count_one(&lost.unseen);
}

static bool put_before(uint64_t number, uint64_t address, uint64_t word)
{
	struct cp_census_page *p = get_page(number);
	uint64_t old;

	if (!p)
		return false;
	if (number - page_of(address) > 1 && !add_far(address, number))
		return false;
	old = cp_exchange_acqrel(&p->before, 0);
	cp_store_relaxed(&p->before_word, word);
	cp_store_release(&p->before, address);
	if (old)
		count_one(&lost.unseen);
	clear_slots(p, 0, (address + cp_census_size(word) - 1) % cp_census_page_size() + 1);
	return true;
}

bool cp_census_is_on(uint64_t address, uint64_t size)
{
	address = cp_arch_untag(address);
	return is_watched(address) || (last_page(address, size) != page_of(address) &&
				       is_watched(last_page(address, size) << cp_census.page_bits));
}

void cp_census_add(uint64_t address, const struct cp_census_block *b)
{
	uint64_t last, word = word_of(b), end;
	struct cp_census_page *p;

	address = cp_arch_untag(address);
	last = last_page(address, b->size);
	if (take_block(address))
		count_one(&lost.unseen);
	if (last != page_of(address) && is_watched(last << cp_census.page_bits) &&
	    !put_before(last, address, word))
		count_one(&lost.memory);
	if (!is_watched(address))
		return;
	p = get_page(page_of(address));
	if (!p) {
		count_one(&lost.memory);
		return;
	}
	end = address % cp_census_page_size() + b->size;
	clear_slots(p, address % cp_census_page_size() / CP_CENSUS_GRAIN + 1,
		    end < cp_census_page_size() ? end : cp_census_page_size());
	cp_store_release(slot_of(p, address), word);
}

bool cp_census_has(uint64_t address, uint64_t size)
{
	struct cp_census_page *p;

	address = cp_arch_untag(address);
	if (is_watched(address)) {
		p = find_page(page_of(address));
		return p && cp_load_relaxed(slot_of(p, address)) &&
		       cp_census_size(cp_load_relaxed(slot_of(p, address))) >= size;
	}
	p = find_page(last_page(address, size));
	return p && cp_load_acquire(&p->before) == address &&
	       cp_census_size(cp_load_relaxed(&p->before_word)) >= size;
}

bool cp_census_remove(uint64_t address, struct cp_census_block *b)
{
	uint64_t word = take_block(cp_arch_untag(address));

	if (word)
		read_word(b, word);
	return word != 0;
}

/* Returns the number of the calling thread's stack, or 0. */
static uint32_t stack_id(void)
{
	const struct cp_heap_sample s = { .interval = CP_STACK_DEPOT_CENSUS };
	const struct cp_thread *t = cp_self.thread;
	struct cp_stack_depot_entry *e;
	struct cp_unwind_input in;

	if (cp_self.heap.guard || cp_self.heap.lent || (t && cp_load_relaxed(&t->paused)))
		return 0;
	cp_regs_here(&in.regs);
	e = cp_heap_stack_find(&s, &in);
	return e ? e->id : 0;
}

__attribute__((noinline)) void *cp_census_track(void *p, size_t size)
{
	if (p && cp_census_is_on((uintptr_t)p, size))
		cp_census_add((uintptr_t)p, &(struct cp_census_block){ size, stack_id() });
	return p;
}

__attribute__((noinline)) void *cp_census_track_new(void *p, size_t size)
{
	return !p || cp_census_has((uintptr_t)p, size) ? p : cp_census_track(p, size);
}

void cp_census_each(void (*visit)(const struct cp_census_page *page, void *arg), void *arg)
{
	for (unsigned i = 0; i < BUCKETS; i++)
		for (struct cp_census_page *p = cp_load_acquire(&buckets[i]); p; p = p->next)
			visit(p, arg);
}

/* The pages stay in their buckets, but their blocks belong to another salt and are forgotten. */
static void forget_blocks(void)
{
	for (unsigned i = 0; i < BUCKETS; i++)
		for (struct cp_census_page *p = buckets[i]; p; p = p->next) {
			p->before = 0;
			memset(p->blocks, 0, bytes_of_blocks());
		}
	if (far_blocks)
		memset(far_blocks, 0, FAR_SLOTS * sizeof(*far_blocks));
	memset(cp_census_filter, 0, sizeof(cp_census_filter));
	cp_census.far = 0;
}

void cp_census_begin(uint32_t one_in, unsigned page_bits, uint64_t seed)
{
	uint64_t weight = ((uint64_t)one_in << CP_CENSUS_ONE_BITS) + (one_in > 1 ? FRACTION : 0);
	uint64_t below = 1;

	/* 2^64 * CP_CENSUS_ONE / WEIGHT, in two steps. */
	if (one_in > 1)
		below = (UINT64_MAX / weight << CP_CENSUS_ONE_BITS) +
			(UINT64_MAX % weight << CP_CENSUS_ONE_BITS) / weight;
	cp_census.page_bits = page_bits;
	forget_blocks();
	lost = (struct cp_census_lost){ 0 };
	cp_census.weight = weight;
	cp_census.below = below;
	cp_census.factor = one_in > 1 ? below : 0;
	cp_census.after = one_in > 1 ? seed : 1;
	/* Last: from here on pages are watched. */
	cp_store_release(&cp_census.twice, one_in > 2 || one_in == 1 ? below * 2 : UINT64_MAX);
}

void cp_census_end(void)
{
	cp_store_release(&cp_census.twice, 0);
	cp_census.below = 0;
}

struct cp_census_lost cp_census_lost(void)
{
	return (struct cp_census_lost){ cp_load_relaxed(&lost.memory),
					cp_load_relaxed(&lost.unseen) };
}

uint64_t cp_census_mapped(void)
{
	uint64_t n = cp_load_relaxed(&far_blocks) ? FAR_SLOTS * sizeof(*far_blocks) : 0;

	for (unsigned i = 0; i < CHUNKS && cp_load_relaxed(&chunks[i]); i++)
		n += CHUNK_PAGES * bytes_of_page();
	return n;
}
