/* SPDX-License-Identifier: BSD-3-Clause */
/* The companion for fragmentation: contents and comments of its file; see output.h. */
#include "modes/heap/heap.h"
#include "modes/heap/signal/census.h"

#define L(x) ((unsigned long)(x))

static bool wants_census(const struct cp_config *c)
{
	return cp_heap_settings_shows(cp_config_of(c, CPROF_HEAP), CP_HEAP_VIEW_FRAGMENTATION);
}

static uint64_t period_of_pages(const struct cp_run *r)
{
	return cp_pages_kernel() *
	       (cp_heap_census_sums()->one_in ? cp_heap_census_sums()->one_in : 1);
}

static int start_fragmentation(struct cp_run *r, const struct cp_config *c)
{
	return 0;
}

enum { LOST_MEMORY, LOST_UNSEEN, COUNTS };

static void count_fragmentation(const struct cp_run *r, struct cp_vec *to)
{
	struct cp_census_lost lost = cp_census_lost();

	if (!cp_vec_extend(to, COUNTS))
		return;
	*CP_VEC_AT(to, uint64_t, LOST_MEMORY) = lost.memory;
	*CP_VEC_AT(to, uint64_t, LOST_UNSEEN) = lost.unseen;
}

static void report_census(struct cp_comments *out, const struct cp_run *r,
			  const struct cp_config *c)
{
	const struct cp_heap_census_sums *s = cp_heap_census_sums();

	cp_comments_line(out,
			 "fragmentation: one page in %u is watched; %lu of them have blocks, %lu "
			 "more are swapped out; of all pages with blocks %lu bytes are free, "
			 "standard error %lu",
			 s->one_in, L(s->pages), L(s->away), L(s->held), L(s->error));
	cp_comments_line(
		out,
		"fragmentation: lost: %lu blocks for lack of memory; %lu without a stack or of "
		"an earlier run; %lu frees that were not seen",
		L(cp_comments_own(out, LOST_MEMORY)), L(s->before),
		L(cp_comments_own(out, LOST_UNSEEN) + s->stale));
	if (s->assumed)
		cp_comments_line(out, "note: which pages are in memory is not known: "
				      "/proc/thread-self/pagemap can't be read");
	if (r->late)
		cp_comments_line(out, "note: started while the program ran: blocks that were "
				      "allocated before count as free");
	cp_comments_line(out, "cost: %lu kB for pages", L(cp_census_mapped() >> 10));
}

/* What the blocks on partly used pages keep in memory. */
const struct cp_mode_ops cp_mode_fragmentation = {
	.name = "fragmentation",
	.parent = CPROF_HEAP,
	.types = { { "page_objects", "count" },
		   { "page_space", "bytes" },
		   { "held_pages", "count" },
		   { "held_space", "bytes" } },
	.type_count = 4,
	.moments = 1u << 0 | 1u << 1 | 1u << 2 | 1u << 3,
	.period_type = { "space", "bytes" },
	.drop_frames = CP_HEAP_ALLOCATES,
	.period = period_of_pages,
	.report = report_census,
	.count = count_fragmentation,
	.wanted = wants_census,
	.start = start_fragmentation,
	.mark = cp_stack_depot_take_fresh,
	.collect = cp_heap_rows_collect,
	.settle = cp_heap_rows_settle,
};
