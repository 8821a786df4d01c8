/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a run alone: cprof_dump_last, CPROF_DUMP_ON; see output.h. `cprof top -last` computes
 * the same from the file of the whole run (tools/core/times_filter.c). */
#include "output/output.h"

#include <errno.h>
#include <string.h>

enum measure { WEIGHT, COUNT, MEASURES };

/* The sums of the events of a row. */
struct known {
	double all[MEASURES], in[MEASURES]; /* IN: of the file's time */
};

double cp_cut_event(struct cp_time_event *e, uint64_t from)
{
	uint64_t end = e->begin_ns + (e->is_death ? 0 : e->duration_ns);
	double share = 1;

	if (e->begin_ns < from) {
		if (end <= from)
			return 0;
		share = (double)(end - from) / (double)e->duration_ns;
		e->weight = (uint64_t)((double)e->weight * share + 0.5);
		e->duration_ns = end - from;
		e->begin_ns = from;
	}
	e->begin_ns -= from;
	return share;
}

static void add_events(const struct cp_run_times *run, const struct cp_vec *rows)
{
	struct cp_times_reader r = cp_times_read(run->times);
	struct cp_time_event e;

	while (cp_times_next(&r, &e)) {
		double weight = (double)e.weight, share;
		struct known *k;

		if (e.is_death || e.row >= rows->count)
			continue;
		k = CP_VEC_AT(rows, struct known, e.row);
		share = cp_times_is_old(run->times, &e, run->now.ns - run->start_ns)
				? 0
				: cp_cut_event(&e, run->from);
		k->all[WEIGHT] += weight;
		k->all[COUNT] += e.count;
		k->in[WEIGHT] += weight * share;
		k->in[COUNT] += e.count * share;
	}
}

/* Returns what the events in the file's time have of NOW, which is the row's value V. */
static uint64_t share_of(const struct cp_run *r, uint32_t row, unsigned v, const struct known *k,
			 uint64_t now)
{
	const struct cp_times *t = &r->times;
	uint64_t all = row < t->recorded.count ? *CP_VEC_AT(&t->recorded, uint64_t, row) : 0;
	enum measure m = strcmp(r->ops->types[v].unit, "count") ? WEIGHT : COUNT;
	double kept = 1;

	m = k->all[m] > 0 ? m : WEIGHT;
	m = k->all[m] > 0 ? m : COUNT;
	if (!(k->all[m] > 0))
		return 0;
	if (t->sums && all)
		kept = k->all[WEIGHT] * (double)(UINT64_C(1) << t->level) / (double)all;
	return (uint64_t)((double)now * kept * (k->in[m] / k->all[m]) + 0.5);
}

int cp_cut_rows(const struct cp_run *r, const struct cp_run_times *times, struct cp_vec *base)
{
	const struct cp_aggregate *a = &r->rows->aggregate;
	struct cp_vec rows = { .size = sizeof(struct known) };
	bool ok = cp_vec_extend(&rows, a->stacks.count) && cp_vec_extend(base, a->stacks.count);

	if (ok)
		add_events(times, &rows);
	for (uint32_t i = 0; ok && i < a->stacks.count; i++) {
		const uint64_t *now = cp_aggregate_row_at(a, i)->values;
		uint64_t *before = CP_VEC_AT(base, struct cp_aggregate_base, i)->values;
		const struct known *k = CP_VEC_AT(&rows, struct known, i);

		for (unsigned v = 0; v < r->ops->type_count; v++)
			if (!(r->ops->moments & 1u << v))
				before[v] = now[v] - share_of(r, i, v, k, now[v]);
	}
	cp_vec_release(&rows);
	return ok ? 0 : -ENOMEM;
}
