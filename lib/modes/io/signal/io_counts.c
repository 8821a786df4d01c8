/* SPDX-License-Identifier: BSD-3-Clause */
/* Exact counts of calls; see io_signal.h. */
#include "modes/io/signal/io_signal.h"

#include <errno.h>
#include <string.h>

#include "base/sys.h"

#define BLOCKS 262144u /* the most threads: thread.h */
/* Room for the cells and some ten histograms; only pages that are used take memory. */
#define BLOCK_BYTES ((size_t)112 << 10)

_Static_assert(sizeof(struct cp_io_block) + sizeof(struct cp_io_delays) <= BLOCK_BYTES, "room");
_Static_assert(CP_FD_KINDS <= 32, "bits");

struct cp_io_block cp_io_counts_others;
uint64_t cp_io_counts_recent[CP_IO_OPS][CP_FD_KINDS][CP_IO_SUMS];
static struct cp_io_block **blocks; /* by number of the thread's record */

int cp_io_counts_prepare(void)
{
	if (!blocks)
		blocks = cp_sys_map(BLOCKS * sizeof(*blocks));
	return blocks ? 0 : -ENOMEM;
}

struct cp_io_block *cp_io_counts_existing(uint32_t index)
{
	/* Acquire: pairs with the exchange below. */
	return blocks && index < BLOCKS ? cp_load_acquire(&blocks[index]) : NULL;
}

struct cp_io_block *cp_io_counts_block(uint32_t index)
{
	struct cp_io_block *had = cp_io_counts_existing(index), *made;

	if (had || !blocks || index >= BLOCKS)
		return had;
	made = cp_sys_map(BLOCK_BYTES);
	if (!made)
		return NULL;
	made->used = sizeof(*made);
	/* A handler may have made it meanwhile. */
	if (cp_cas_acqrel(&blocks[index], &had, made))
		return made;
	cp_sys_unmap(made, BLOCK_BYTES);
	return had;
}

/* Hand out room of the block's mapping, or map more. */
static struct cp_io_delays *make_delays(struct cp_io_block *b)
{
	uint64_t at = cp_add_relaxed(&b->used, sizeof(struct cp_io_delays));

	if (at + sizeof(struct cp_io_delays) <= BLOCK_BYTES)
		return (struct cp_io_delays *)(void *)((char *)b + at);
	return cp_sys_map(sizeof(struct cp_io_delays));
}

struct cp_io_delays *cp_io_counts_begin(struct cp_io_block *b, unsigned op, unsigned kind)
{
	struct cp_io_cell *c = &b->cell[op][kind];
	struct cp_io_delays *had = cp_load_acquire(&c->delays), *made;

	if (!(cp_load_relaxed(&b->kinds[op]) & 1u << kind))
		cp_or_seqcst(&b->kinds[op], 1u << kind);
	if (had || b == &cp_io_counts_others)
		return had;
	made = make_delays(b);
	/* If a handler was faster, this room is lost: it happens once per cell at most. */
	if (!made || cp_cas_acqrel(&c->delays, &had, made))
		return made;
	return had;
}

static void add_cell(struct cp_io_cell *to, const struct cp_io_cell *c, struct cp_io_delays *delays)
{
	const struct cp_io_delays *d = cp_load_acquire(&c->delays);
	uint64_t longest = cp_load_relaxed(&c->longest);

	for (unsigned i = 0; i < CP_IO_SUMS; i++)
		to->sums[i] += c->told[i];
	if (longest > to->longest)
		to->longest = longest;
	for (unsigned i = 0; d && delays && i < CP_IO_BUCKETS; i++)
		delays->bucket[i] += cp_load_relaxed(&d->bucket[i]);
}

struct cp_io_cell cp_io_counts_sum(unsigned op, unsigned kind, struct cp_io_delays *delays)
{
	struct cp_io_cell all = { 0 };

	if (cp_load_relaxed(&cp_io_counts_others.kinds[op]) & 1u << kind)
		add_cell(&all, &cp_io_counts_others.cell[op][kind], delays);
	for (uint32_t i = 0; i < cp_thread_limit(); i++) {
		const struct cp_io_block *b = cp_io_counts_existing(i);

		if (b && cp_load_relaxed(&b->kinds[op]) & 1u << kind)
			add_cell(&all, &b->cell[op][kind], delays);
	}
	return all;
}

static uint64_t middle_of(unsigned bucket)
{
	unsigned sub = 1u << CP_IO_BUCKET_BITS, shift;

	if (bucket < sub)
		return bucket;
	shift = bucket / sub - 1;
	return ((uint64_t)(sub + bucket % sub) << shift) + ((UINT64_C(1) << shift) >> 1);
}

uint64_t cp_io_counts_quantile(const struct cp_io_delays *d, unsigned per_mille)
{
	uint64_t count = 0, below = 0, rank;

	for (unsigned i = 0; i < CP_IO_BUCKETS; i++)
		count += d->bucket[i];
	rank = count / 1000 * per_mille + (count % 1000 * per_mille + 999) / 1000;
	for (unsigned i = 0; i < CP_IO_BUCKETS && count; i++) {
		below += d->bucket[i];
		if (below >= rank && below)
			return middle_of(i);
	}
	return 0;
}

static void clear_cell(struct cp_io_cell *c)
{
	struct cp_io_delays *d = c->delays;

	for (unsigned i = 0; i < CP_IO_SUMS; i++)
		cp_store_relaxed(&c->sums[i], 0);
	memset(c->told, 0, sizeof(c->told));
	cp_store_relaxed(&c->longest, 0);
	c->points = (struct cp_io_points){ 0 };
	for (unsigned i = 0; d && i < CP_IO_BUCKETS; i++)
		cp_store_relaxed(&d->bucket[i], 0);
	if (d)
		d->sampler = (struct cp_io_sampler){ 0 };
}

static void clear_all(struct cp_io_block *b)
{
	for (unsigned op = 0; op < CP_IO_OPS; op++)
		for (unsigned kind = 0; kind < CP_FD_KINDS; kind++)
			if (b->kinds[op] & 1u << kind)
				clear_cell(&b->cell[op][kind]);
}

/* A store of 0 where there is 0 would be a page that a fork's child copies. */
void cp_io_counts_forget_recent(bool half)
{
	uint64_t *recent = &cp_io_counts_recent[0][0][0];

	for (size_t i = 0; i < sizeof(cp_io_counts_recent) / sizeof(*recent); i++)
		if (cp_load_relaxed(&recent[i]))
			cp_store_relaxed(&recent[i], half ? recent[i] / 2 : 0);
}

void cp_io_counts_forget(void)
{
	cp_io_counts_forget_recent(false);
	clear_all(&cp_io_counts_others);
	for (uint32_t i = 0; i < cp_thread_limit(); i++) {
		struct cp_io_block *b = cp_io_counts_existing(i);

		if (b)
			clear_all(b);
	}
}

/* In this order: a handler that interrupts finds the old block or makes one. */
static void give_up(struct cp_io_block **b, struct cp_io_block **kept)
{
	struct cp_io_block *had = *b;

	cp_store_relaxed(b, NULL);
	cp_signal_fence();
	if (kept && *kept == had)
		cp_store_relaxed(kept, NULL);
	cp_signal_fence();
	/* Histograms beyond the mapping stay; they are few. */
	cp_sys_unmap(had, BLOCK_BYTES);
}

void cp_io_counts_fork_child(struct cp_io_block **kept)
{
	cp_io_counts_forget_recent(false);
	clear_all(&cp_io_counts_others);
	for (uint32_t i = 0; i < cp_thread_limit(); i++)
		if (cp_io_counts_existing(i))
			give_up(&blocks[i], kept);
}
