/* SPDX-License-Identifier: BSD-3-Clause */
/* What was waited for each lock, up to any moment; see times.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/report.h"
#include "core/times.h"

/* From WHEN on, so much more is waited per ns (or less): by all, and in what was chosen. */
struct edge {
	double when, rate, chosen;
	double waited, chosen_waited; /* until WHEN */
};

static struct lock {
	char *name;
	struct edge *edges;
	size_t count, room;
	bool summed;
} * locks;
static size_t lock_count, lock_room;

/* Parts of one unlock's waits may be told apart. */
#define SAME_UNLOCK 1e6

static const char *lock_of(const struct ct_profile *p, size_t sample)
{
	const struct ct_label *l = ct_model_label(p, p->samples[sample].label_set, "lock");

	return l ? ct_text(p, l->text) : "";
}

static size_t number_of(const char *name)
{
	size_t i = 0;

	while (i < lock_count && strcmp(locks[i].name, name) != 0)
		i++;
	if (i == lock_count)
		*CT_PUSH(locks, lock_count, lock_room) =
			(struct lock){ .name = ct_memory_strdup(name) };
	return i;
}

/* Returns the lock of P's SAMPLE. Finding another one may move it. */
static struct lock *find_lock(const struct ct_profile *p, size_t sample)
{
	static const struct ct_profile *of;
	static size_t *numbers, count; /* by label set, from 1; 0 = not looked for */
	uint32_t set = p->samples[sample].label_set;

	if (of != p || count != p->label_set_count) {
		free(numbers);
		of = p;
		count = p->label_set_count;
		numbers = ct_memory_alloc((count + 1) * sizeof(*numbers));
	}
	if (!numbers[set])
		numbers[set] = number_of(lock_of(p, sample)) + 1;
	return &locks[numbers[set] - 1];
}

bool ct_times_waits_are(const struct ct_profile *p)
{
	return p->type_count == 2 && !strcmp(ct_text(p, p->types[0].type), "contentions");
}

bool ct_times_waits_have_holders(const struct ct_profile *p)
{
	return lock_count && p->type_count == 2 &&
	       !strcmp(ct_text(p, p->types[1].type), "blocking");
}

void ct_times_waits_add(const struct ct_profile *p, size_t sample, double begin, double end,
			double weight, bool chosen)
{
	struct lock *l = find_lock(p, sample);
	double rate = weight / (end - begin);

	if (!(end > begin))
		return;
	*CT_PUSH(l->edges, l->count, l->room) = (struct edge){ .when = begin,
							       .rate = chosen ? 0 : rate,
							       .chosen = chosen ? rate : 0 };
	*CT_PUSH(l->edges, l->count, l->room) = (struct edge){ .when = end,
							       .rate = chosen ? 0 : -rate,
							       .chosen = chosen ? -rate : 0 };
	l->summed = false;
}

static int by_when(const void *x, const void *y)
{
	const struct edge *a = x, *b = y;

	return a->when < b->when ? -1 : a->when > b->when;
}

/* Afterwards, an edge's rates are those from it on. */
static void sum_up(struct lock *l)
{
	struct edge before = { 0 };

	if (l->summed || !l->count)
		return;
	qsort(l->edges, l->count, sizeof(*l->edges), by_when);
	before.when = l->edges[0].when;
	for (size_t i = 0; i < l->count; i++) {
		struct edge *e = &l->edges[i];
		double passed = e->when - before.when;

		e->waited = before.waited + before.rate * passed;
		e->chosen_waited = before.chosen_waited + before.chosen * passed;
		e->rate += before.rate;
		e->chosen += before.chosen;
		before = *e;
	}
	l->summed = true;
}

/* Returns what was waited for L until WHEN. */
static double until(const struct lock *l, double when, bool chosen)
{
	size_t low = 0, high = l->count;

	while (low < high) { /* the first edge after WHEN */
		size_t middle = (low + high) / 2;

		if (l->edges[middle].when <= when)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return 0;
	return chosen ? l->edges[low - 1].chosen_waited +
				l->edges[low - 1].chosen * (when - l->edges[low - 1].when)
		      : l->edges[low - 1].waited +
				l->edges[low - 1].rate * (when - l->edges[low - 1].when);
}

struct unlock {
	struct lock *lock;
	double end;
	size_t event;
};

static int by_lock(const void *x, const void *y)
{
	const struct unlock *a = x, *b = y;

	if (a->lock != b->lock)
		return a->lock < b->lock ? -1 : 1;
	return a->end < b->end ? -1 : a->end > b->end;
}

static struct unlock *sort_unlocks(const struct ct_profile *p, double zero)
{
	const struct ct_times *t = p->times;
	struct unlock *all = ct_memory_realloc(NULL, t->event_count, sizeof(*all));

	for (size_t i = 0; i < p->sample_count; i++)
		sum_up(find_lock(p, i));
	for (size_t i = 0; i < t->event_count; i++)
		all[i] = (struct unlock){ .lock = find_lock(p, t->events[i].sample),
					  .end = zero + (double)t->events[i].begin +
						 (double)t->events[i].duration,
					  .event = i };
	qsort(all, t->event_count, sizeof(*all), by_lock);
	return all;
}

/* Returns the part of what was waited for L from FROM to TO that was before WHEN; of the chosen
 * waits, if WHEN is negative. -1: nothing was waited. */
static double part(const struct lock *l, double from, double to, double when)
{
	double all = until(l, to, false) - until(l, from, false), some;

	if (!(all > 0.5))
		return -1;
	if (when < 0)
		some = until(l, to, true) - until(l, from, true);
	else
		some = until(l, to < when ? to : when, false) -
		       until(l, from < when ? from : when, false);
	return some < 0 ? 0 : some < all ? some / all : 1;
}

double *ct_times_waits_parts(const struct ct_profile *p, double zero, double when)
{
	const struct ct_times *t = p->times;
	double *parts = ct_memory_alloc(t->event_count * sizeof(*parts));
	struct unlock *all = sort_unlocks(p, zero);
	double from = -INFINITY;

	for (size_t i = 0; i < t->event_count; i++) {
		const struct unlock *u = &all[i], *last = i ? u - 1 : NULL;
		const struct ct_event *e = &t->events[u->event];

		if (!last || last->lock != u->lock)
			from = -INFINITY;
		else if (u->end - last->end > SAME_UNLOCK ||
			 t->events[last->event].sample != e->sample)
			from = last->end;
		parts[u->event] = part(u->lock, from, u->end, when);
	}
	free(all);
	return parts;
}
