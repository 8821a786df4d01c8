/* SPDX-License-Identifier: BSD-3-Clause */
/* How many threads run at a moment, for -latency; see times.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/report.h"
#include "core/times.h"

/* The integral of 1 / running threads over time, since the start of the first profile: SUM up to
 * WHEN, growing with SLOPE from there on. */
struct step {
	double when, sum, slope;
	int change;
};

static struct {
	struct step *steps;
	size_t count, room;
	int64_t start;
} running;

/* Returns whether a thread ran in event E, and when. A sample of CPU time is for the time before.
 */
static bool runs(const struct ct_profile *p, const struct ct_event *e, double *begin, double *end)
{
	const struct ct_label *state = ct_model_label(p, p->samples[e->sample].label_set, "state");
	double at = (double)e->begin + (double)ct_times_between(running.start, ct_times_start(p));

	*begin = e->duration ? at : fmax(at - ct_times_weight(p->times, e), 0);
	*end = at + (double)e->duration;
	return !e->death && (!state || !strcmp(ct_text(p, state->text), "running"));
}

static int by_when(const void *x, const void *y)
{
	const struct step *a = x, *b = y;

	return a->when < b->when ? -1 : a->when > b->when;
}

void ct_times_latency_count(struct ct_profile *const *profiles, size_t count)
{
	double sum = 0, threads = 0;

	running.count = 0;
	running.start = INT64_MAX;
	for (size_t k = 0; k < count; k++)
		if (profiles[k]->times && ct_times_start(profiles[k]) < running.start)
			running.start = ct_times_start(profiles[k]);
	for (size_t k = 0; k < count; k++) {
		const struct ct_times *t = profiles[k]->times;

		for (size_t i = 0; t && i < t->event_count; i++) {
			struct step begin = { .change = 1 }, end = { .change = -1 };

			if (!runs(profiles[k], &t->events[i], &begin.when, &end.when))
				continue;
			*CT_PUSH(running.steps, running.count, running.room) = begin;
			*CT_PUSH(running.steps, running.count, running.room) = end;
		}
	}
	qsort(running.steps, running.count, sizeof(*running.steps), by_when);
	for (size_t i = 0; i < running.count; i++) {
		struct step *s = &running.steps[i];

		sum += i ? (s->when - s[-1].when) * s[-1].slope : 0;
		threads += s->change;
		s->sum = sum;
		s->slope = threads > 0 ? 1 / threads : 0;
	}
}

static double running_until(double when)
{
	size_t low = 0, high = running.count;

	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		if (running.steps[middle].when <= when)
			low = middle;
		else
			high = middle;
	}
	return running.steps[low].sum + (when - running.steps[low].when) * running.steps[low].slope;
}

double ct_times_latency_factor(const struct ct_profile *p, const struct ct_event *e)
{
	double begin, end;

	if (!runs(p, e, &begin, &end))
		return 0;
	return end > begin ? (running_until(end) - running_until(begin)) / (end - begin) : 1;
}
