/* SPDX-License-Identifier: BSD-3-Clause */
/* The common part of the files of wakers; see output.h. */
#include "output/output.h"

#include "base/sys.h"

#define L(x) ((unsigned long)(x))

/* The counts at the begin of the run. */
static uint64_t before[2][CP_WAKES_COUNTS];

static uint64_t counted_wakes(unsigned of, enum cp_wakes_count what)
{
	return cp_load_relaxed(&cp_wakes_counts[of >> 1][what]) - before[of >> 1][what];
}

static void begin_counts(unsigned of)
{
	for (unsigned i = 0; i < CP_WAKES_COUNTS; i++)
		before[of >> 1][i] = cp_load_relaxed(&cp_wakes_counts[of >> 1][i]);
}

void cp_wakers_start(unsigned of, struct cp_wakes_settings s)
{
	s.since = cp_sys_clock_ns(CLOCK_MONOTONIC);
	begin_counts(of);
	cp_wakes_settings[of >> 1] = s;
	cp_or_seqcst(&cp_wakes_on, of);
}

void cp_wakers_stop(unsigned of)
{
	cp_and_seqcst(&cp_wakes_on, ~of);
}

void cp_wakers_fork_child(unsigned of, struct cp_thread *keep)
{
	cp_wakes_fork_child(keep);
	if (!keep)
		cp_wakers_stop(of);
	begin_counts(of);
}

void cp_wakers_count(const struct cp_run *r, struct cp_vec *to)
{
	unsigned of = r->mode == CPROF_IO_WAKERS ? CP_WAKES_OF_IO : CP_WAKES_OF_LOCK;

	for (unsigned i = 0; cp_vec_extend(to, CP_WAKES_COUNTS) && i < CP_WAKES_COUNTS; i++)
		*CP_VEC_AT(to, uint64_t, i) = counted_wakes(of, i);
}

void cp_wakers_report(struct cp_comments *out, const struct cp_run *r, const char *waits,
		      const char *ended, const char *behind)
{
	cp_comments_line(out,
			 "wakers: %lu %s have the stack that woke them, %lu were woken by a "
			 "thread whose stack was not taken, %lu by nothing that was seen, %lu %s",
			 L(cp_comments_own(out, CP_WAKES_KNOWN)), waits,
			 L(cp_comments_own(out, CP_WAKES_NO_STACK)),
			 L(cp_comments_own(out, CP_WAKES_UNKNOWN)),
			 L(cp_comments_own(out, CP_WAKES_NOT_WOKEN)), ended);
	cp_comments_waits_lost(out, r);
	cp_comments_stacks_cost(out, r, behind);
}
