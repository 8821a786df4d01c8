/* SPDX-License-Identifier: BSD-3-Clause */
/* Settles the time of rows; see wall.h. Each thread has a stratum for each state. */
#include "base/start_data.h"
#include "collect/collect.h"
#include "modes/wall/wall.h"

struct cp_wall cp_wall CP_START_DATA;

/* Time that the rows have not got yet. Its samples are ns of visits: a thread's rows in a state get
 * its exact time in that state, in proportion to them. */
static struct cp_strata strata CP_START_DATA = { .estimates = true };

/* Return T's label. A libc thread leaves its name when it ends, and its name is read at each dump.
 * Any other thread may be gone by then, so its name is read now. Reading a name costs a third of a
 * first visit. */
uint32_t cp_wall_strata_label(struct cp_run *r, struct cp_thread *t)
{
	return t->foreign ? cp_drain_label(r, t) : cp_drain_unnamed(r, t);
}

void cp_wall_strata_sample(struct cp_run *r, struct cp_thread *t, enum cp_wall_state state,
			   uint32_t row, uint64_t ns)
{
	/* What visits find is off by a part of a visit's span, however long the thread then stays
	 * in that state: only that much of a long wait bears what the states' totals differ by. */
	const uint64_t span = cp_wall.step * cp_wall.tick_ns, edge = ns < span ? ns : span;
	const uint64_t surely[CP_VALUES] = { 0, ns - edge };
	const double share[CP_VALUES] = { (double)ns, (double)edge };

	cp_wall_of(t)->sampled[state] += ns;
	if (cp_strata_sampled(&strata, row, cp_wall_strata_label(r, t), CP_WALL_ROW_TAG(state, 0),
			      surely, share))
		r->aggregate.records++;
}

void cp_wall_strata_exact(struct cp_run *r, struct cp_thread *t, enum cp_wall_state state,
			  uint64_t ns)
{
	uint64_t values[CP_VALUES] = { (cp_wall.uncounted + ns) / cp_wall.period_ns, ns };

	cp_wall.uncounted = (cp_wall.uncounted + ns) % cp_wall.period_ns;
	if (cp_strata_exact(&strata, cp_wall_strata_label(r, t), CP_WALL_ROW_TAG(state, 0), values))
		cp_wall.counts.given += ns;
	else
		cp_wall.counts.unsampled += ns;
}

void cp_wall_strata_settle(struct cp_run *r)
{
	uint64_t lost = cp_strata_settle(&strata, &r->aggregate, NULL);

	cp_wall.counts.given -= lost;
	cp_wall.counts.unsampled += lost;
}

void cp_wall_strata_forget(bool abandon)
{
	if (abandon)
		strata = (struct cp_strata){ .estimates = true };
	else
		cp_strata_release(&strata);
}
