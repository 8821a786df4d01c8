/* SPDX-License-Identifier: BSD-3-Clause */
/* Exact counts of calls; see io_counts.h. */
#include "modes/io/signal/io_counts.h"

#include <errno.h>
#include <stddef.h>

#include "base/sys.h"
#include "sample/thread.h"

#define BLOCKS 262144u /* the most threads: thread.h */
/* Room for the cells and some ten histograms; only pages that are used take memory. */
#define BLOCK_BYTES ((size_t)96 << 10)

_Static_assert(sizeof(struct cp_io_block) + sizeof(struct cp_io_delays) <= BLOCK_BYTES, "room");

struct cp_io_block cp_io_counts_others;
static struct cp_io_block **blocks; /* by number of the thread's record */

int cp_io_counts_prepare(void)
{
	if (!blocks)
		blocks = cp_sys_map(BLOCKS * sizeof(*blocks));
	return blocks ? 0 : -ENOMEM;
}

struct cp_io_block *cp_io_counts_block(uint32_t index)
{
	struct cp_io_block *had, *made;

	if (!blocks || index >= BLOCKS)
		return NULL;
	/* Acquire: pairs with the exchange below. */
	had = cp_load_acquire(&blocks[index]);
	if (had)
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
static struct cp_io_delays *make(struct cp_io_block *b)
{
	uint64_t at = cp_add_relaxed(&b->used, sizeof(struct cp_io_delays));

	if (at + sizeof(struct cp_io_delays) <= BLOCK_BYTES)
		return (struct cp_io_delays *)(void *)((char *)b + at);
	return cp_sys_map(sizeof(struct cp_io_delays));
}

struct cp_io_delays *cp_io_counts_delays(struct cp_io_block *b, struct cp_io_cell *c)
{
	struct cp_io_delays *had = cp_load_acquire(&c->delays), *made;

	if (had || b == &cp_io_counts_others)
		return had;
	made = make(b);
	/* If a handler was faster, this room is lost: it happens once per cell at most. */
	if (!made || cp_cas_acqrel(&c->delays, &had, made))
		return made;
	return had;
}

static void add(struct cp_io_cell *to, const struct cp_io_cell *c, struct cp_io_delays *delays)
{
	const struct cp_io_delays *d = cp_load_acquire(&c->delays);
	uint64_t longest = cp_load_relaxed(&c->longest);

	to->calls += cp_load_relaxed(&c->calls);
	to->ticks += cp_load_relaxed(&c->ticks);
	to->bytes += cp_load_relaxed(&c->bytes);
	to->errors += cp_load_relaxed(&c->errors);
	if (longest > to->longest)
		to->longest = longest;
	for (unsigned i = 0; d && delays && i < CP_IO_BUCKETS; i++)
		delays->bucket[i] += cp_load_relaxed(&d->bucket[i]);
}

struct cp_io_cell cp_io_counts_sum(unsigned op, unsigned kind, struct cp_io_delays *delays)
{
	struct cp_io_cell all = { 0 };

	add(&all, &cp_io_counts_others.cell[op][kind], delays);
	for (uint32_t i = 0; blocks && i < cp_thread_limit(); i++) {
		const struct cp_io_block *b = cp_load_acquire(&blocks[i]);

		if (b)
			add(&all, &b->cell[op][kind], delays);
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

static void clear(struct cp_io_cell *c)
{
	struct cp_io_delays *d = c->delays;

	cp_store_relaxed(&c->calls, 0);
	cp_store_relaxed(&c->ticks, 0);
	cp_store_relaxed(&c->bytes, 0);
	cp_store_relaxed(&c->errors, 0);
	cp_store_relaxed(&c->longest, 0);
	for (unsigned i = 0; d && i < CP_IO_BUCKETS; i++)
		cp_store_relaxed(&d->bucket[i], 0);
}

static void clear_all(struct cp_io_block *b)
{
	for (unsigned op = 0; op < CP_IO_OPS; op++)
		for (unsigned kind = 0; kind < CP_IO_KINDS; kind++)
			if (b->cell[op][kind].calls)
				clear(&b->cell[op][kind]);
}

void cp_io_counts_forget(void)
{
	clear_all(&cp_io_counts_others);
	for (uint32_t i = 0; blocks && i < cp_thread_limit(); i++)
		if (blocks[i])
			clear_all(blocks[i]);
}

void cp_io_counts_fork_child(struct cp_io_block **part)
{
	clear_all(&cp_io_counts_others);
	for (uint32_t i = 0; blocks && i < cp_thread_limit(); i++) {
		struct cp_io_block *b = blocks[i];

		if (!b)
			continue;
		/* In this order: a handler that interrupts finds the old block or makes one. */
		cp_store_relaxed(&blocks[i], NULL);
		cp_signal_fence();
		if (part && *part == b)
			cp_store_relaxed(part, NULL);
		cp_signal_fence();
		/* Histograms beyond the mapping stay; they are few. */
		cp_sys_unmap(b, BLOCK_BYTES);
	}
}
