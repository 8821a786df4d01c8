/* SPDX-License-Identifier: BSD-3-Clause */
/* When resident memory jumped; see timeline.h.
 *
 * A few steps between the counters' moments are jumps if each of them is many times as large as
 * every other step upwards, and as the steps are usually. So memory that grows steadily, that
 * fluctuates, or that is taken and returned in turns has no jump. */
#include <math.h>
#include <stdlib.h>

#include "core/times.h"
#include "verbs/timeline.h"

#define LEAST_STEPS 6
#define LEAST_BYTES 1e6
#define MATERIAL 0.1 /* of the most memory in use, of a jump: what is smaller is not told */
#define USUAL 3	     /* times the median step: what every step may be */
#define SHARE 10     /* at most one step in so many belongs to a jump; STEPS may always */
#define STEPS 3
#define MOST 0.5 /* a function explains a jump if it allocated this share of it */

static int by_size(const void *x, const void *y)
{
	const double *a = x, *b = y;

	return *a > *b ? -1 : *a < *b;
}

/* Returns how many times as large as the others a step of a jump is, among COUNT steps. A few may
 * differ much by chance. */
static double ratio(size_t count)
{
	return 4 + 80 / (double)count;
}

static double step_at(const struct ct_times_counter *c, size_t i)
{
	return (double)c[i + 1].resident - (double)c[i].resident;
}

/* Returns the size from which on a step belongs to a jump; INFINITY: none does. */
static double jump_step(const struct ct_times_counter *c, size_t steps)
{
	double *up = ct_memory_alloc(steps * sizeof(*up)),
	       *all = ct_memory_alloc(steps * sizeof(*all));
	double found = INFINITY, usual;
	size_t most = steps / SHARE > STEPS ? steps / SHARE : STEPS;

	for (size_t i = 0; i < steps; i++) {
		up[i] = fmax(step_at(c, i), 0);
		all[i] = fabs(step_at(c, i));
	}
	qsort(up, steps, sizeof(*up), by_size);
	qsort(all, steps, sizeof(*all), by_size);
	usual = USUAL * all[steps / 2];
	for (size_t m = 1; m <= most && m < steps; m++)
		if (up[m - 1] > 0 && up[m - 1] >= ratio(steps) * fmax(up[m], usual))
			found = up[m - 1];
	free(up);
	free(all);
	return found;
}

size_t ct_timeline_memory_jumps(const struct ct_times_counter *c, size_t count,
				struct ct_timeline_jump *to)
{
	double step = count > LEAST_STEPS ? jump_step(c, count - 1) : INFINITY, most = 0;
	struct ct_timeline_jump jump;
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		most = fmax(most, (double)c[i].resident);
	for (size_t i = 0; i + 1 < count; i++) {
		if (step_at(c, i) < step)
			continue;
		jump = (struct ct_timeline_jump){ .from = (double)c[i].when };
		for (; i + 1 < count && step_at(c, i) >= step; i++)
			jump.bytes += step_at(c, i);
		jump.to = (double)c[i].when;
		if (jump.bytes < fmax(LEAST_BYTES, MATERIAL * most))
			continue;
		if (n == CT_TIMELINE_JUMPS)
			return 0;
		to[n++] = jump;
	}
	return n;
}

/* Adds what the events of T between FROM and TO change in use to AMOUNT, by sample. */
static void add_growth(const struct ct_timeline *t, double from, double to, double *amount)
{
	for (size_t i = 0; i < t->p->times->event_count; i++) {
		const struct ct_event *e = &t->p->times->events[i];
		double at = t->offset + (double)e->begin;
		double bytes = ct_times_weight(t->p->times, e) * t->worth[e->sample];

		if (at >= from && at <= to)
			amount[e->sample] += e->death ? -bytes : bytes;
	}
}

/* Narrows M to when its function allocated, by the stacks with a material part of AMOUNT, and a
 * little around that. */
static void find_time(const struct ct_timeline *t, const double *amount,
		      struct ct_timeline_moment *m)
{
	double from = m->to, to = m->from, margin;

	for (size_t i = 0; i < t->p->times->event_count; i++) {
		const struct ct_timeline_piece *p = &t->pieces[i];

		if (p->begin < m->from || p->begin > m->to || !(p->amount > 0) ||
		    amount[p->event->sample] < MATERIAL * m->rate ||
		    !ct_timeline_pieces_has(t, p->event->sample, m->number))
			continue;
		from = fmin(from, p->begin);
		to = fmax(to, p->begin);
	}
	margin = fmax((to - from) / 10, 1e6);
	m->from = fmax(from - margin, 0);
	m->to = to + margin;
}

bool ct_timeline_memory_cause(const struct ct_timeline *t, const struct ct_timeline_jump *j,
			      struct ct_timeline_moment *m)
{
	double *amount = ct_memory_alloc((t->p->sample_count + 1) * sizeof(*amount));
	double *by = ct_memory_alloc((t->name_count + 1) * sizeof(*by));
	bool *may = ct_memory_alloc(t->name_count + 1);

	*m = (struct ct_timeline_moment){ .file = t, .from = j->from, .to = j->to };
	add_growth(t, j->from, j->to, amount);
	for (size_t i = 0; i < t->p->sample_count; i++)
		for (size_t k = t->first_function[i]; k < t->first_function[i + 1]; k++)
			by[t->functions[k]] += amount[i];
	for (uint32_t i = 0; i < t->name_count; i++)
		m->number = by[i] > by[m->number] ? i : m->number;
	for (uint32_t i = 0; i < t->name_count; i++)
		may[i] = by[i] >= CT_TIMELINE_NEARLY * by[m->number];
	m->rate = t->name_count ? by[m->number] : 0;
	if (m->rate >= MOST * j->bytes) {
		ct_timeline_pieces_name(m, amount, may);
		m->rate = by[m->number];
		find_time(t, amount, m);
	}
	free(amount);
	free(by);
	free(may);
	return m->rate >= MOST * j->bytes;
}
