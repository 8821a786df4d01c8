/* SPDX-License-Identifier: BSD-3-Clause */
/* The time index of combined profiles; see times.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/report.h"
#include "core/times.h"

int64_t ct_times_join_process(const struct ct_profile *p)
{
	for (size_t i = 0; i < p->comment_count; i++) {
		const char *c = ct_notes_comment(p, i), *pid = strstr(c, ", pid ");

		if (ct_starts(c, "libcprof ") && pid)
			return strtoll(pid + 6, NULL, 10);
	}
	return 0;
}

/* What is done to a source while its events are added. */
struct joining {
	struct ct_times *to;
	const struct ct_profile *from;
	const uint32_t *map;
	const unsigned *sources; /* by sample of the result: how many samples it was made of */
	double *kept;		 /* by sample of the source */
	int64_t start;		 /* of the result */
	uint64_t offset;	 /* from there to the source's */
	uint32_t first_thread;
	size_t type;
	double thinning; /* the source's, divided by the result's */
};

static uint64_t later(const struct joining *j, uint64_t when)
{
	uint64_t sum = when + j->offset;

	return sum < CT_TIMES_LATEST ? sum : CT_TIMES_LATEST;
}

/* Samples that become one may differ in what a unit of weight is worth. So their weights become
 * amounts of the result's value. */
static double worth(const struct joining *j, size_t i)
{
	double v = (double)ct_abs(ct_values(j->from, i)[j->type]);
	uint64_t recorded = j->from->times->recorded[i];

	return j->sources[j->map[i]] > 1 && recorded && v > 0 ? v / (double)recorded : 1;
}

static void join_events(struct joining *j)
{
	const struct ct_times *t = j->from->times;
	double *sums = ct_memory_alloc(t->recorded_count * sizeof(*sums));

	for (size_t i = 0; i < t->event_count; i++) {
		struct ct_event e = t->events[i];
		double weight;

		if (j->map[e.sample] == CT_NONE)
			continue;
		weight = round((double)e.weight * worth(j, e.sample) * j->thinning);
		sums[e.sample] += e.death ? 0 : weight;
		e.weight = (uint64_t)fmin(weight, 0x1p62);
		e.count = (uint32_t)fmin((double)e.count * j->thinning, 0x1p31);
		e.begin = later(j, e.begin);
		e.thread += j->first_thread;
		e.sample = j->map[e.sample];
		j->to->events[j->to->event_count++] = e;
	}
	for (size_t i = 0; i < t->recorded_count; i++) {
		double all = (double)t->recorded[i];

		if (j->map[i] == CT_NONE)
			continue;
		/* The sum of what was rounded, if all of it is here. */
		all = all == j->kept[i] ? sums[i] : round(all * worth(j, i));
		j->to->recorded[j->map[i]] += (uint64_t)fmin(all, 0x1p62);
	}
	free(sums);
}

static void join_others(struct joining *j, struct ct_profile *to, bool several)
{
	const struct ct_times *t = j->from->times;
	int64_t process = several ? ct_times_join_process(j->from) : 0;

	for (size_t i = 0; i < t->thread_count; i++) {
		struct ct_times_thread one = t->threads[i];

		one.name = ct_model_string(to, ct_text(j->from, one.name));
		one.begin = later(j, one.begin);
		one.end = one.end ? later(j, one.end) : several ? later(j, t->end) : 0;
		one.process = one.process ? one.process : process;
		j->to->threads[j->to->thread_count++] = one;
	}
	for (size_t i = 0; i < t->span_count; i++) {
		struct ct_times_span s = t->spans[i];

		s.name = ct_model_string(to, ct_text(j->from, s.name));
		s.begin = later(j, s.begin);
		s.thread += j->first_thread;
		j->to->spans[j->to->span_count++] = s;
	}
	for (size_t i = 0; i < t->wake_count; i++) {
		struct ct_times_wake w = t->wakes[i];

		w.when = later(j, w.when);
		w.woken += j->first_thread;
		w.waker += j->first_thread;
		w.sample = w.sample == CT_NONE ? CT_NONE : j->map[w.sample];
		j->to->wakes[j->to->wake_count++] = w;
	}
	for (size_t i = 0; i < t->counter_count; i++) {
		struct ct_times_counter n = t->counters[i];

		n.when = later(j, n.when);
		j->to->counters[j->to->counter_count++] = n;
	}
}

/* Makes an index for TO that has room for the contents of all sources, but is empty. */
static struct ct_times *make_room(struct ct_profile *to, struct ct_profile *const *from,
				  size_t count)
{
	struct ct_times n = { .from = UINT64_MAX }, *t;

	for (size_t i = 0; i < count; i++) {
		const struct ct_times *s = from[i]->times;

		if (!s)
			continue;
		n.event_count += s->event_count;
		n.span_count += s->span_count;
		n.thread_count += s->thread_count;
		n.counter_count += s->counter_count;
		n.wake_count += s->wake_count;
		n.thinning = !n.thinning || n.thinning == s->thinning ? s->thinning : 1;
	}
	t = ct_times_new(to);
	t->thinning = n.thinning;
	t->from = n.from;
	t->recorded_count = to->sample_count;
	t->recorded = ct_memory_alloc(to->sample_count * sizeof(*t->recorded));
	t->events = ct_memory_realloc(NULL, n.event_count, sizeof(*t->events));
	t->spans = ct_memory_realloc(NULL, n.span_count, sizeof(*t->spans));
	t->threads = ct_memory_realloc(NULL, n.thread_count, sizeof(*t->threads));
	t->counters = ct_memory_realloc(NULL, n.counter_count, sizeof(*t->counters));
	t->wakes = ct_memory_realloc(NULL, n.wake_count, sizeof(*t->wakes));
	return t;
}

static void join_one(struct joining *j, struct ct_profile *to, bool several)
{
	const struct ct_times *t = j->from->times;

	j->offset = (uint64_t)ct_times_between(j->start, ct_times_start(j->from));
	j->first_thread = (uint32_t)j->to->thread_count;
	j->thinning = (double)t->thinning / (double)j->to->thinning;
	j->kept = ct_times_kept(t);
	join_events(j);
	free(j->kept);
	join_others(j, to, several);
	if (later(j, t->from) < j->to->from)
		j->to->from = later(j, t->from);
	if (later(j, t->end) > j->to->end)
		j->to->end = later(j, t->end);
	j->to->seen += t->seen;
	j->to->budget += t->budget;
	j->to->keep = t->keep > j->to->keep ? t->keep : j->to->keep;
}

/* Values of a profile without an index have no time, but are in the sums of samples that have. */
static void join_untimed(struct joining *j)
{
	for (size_t i = 0; i < j->from->sample_count; i++)
		if (j->map[i] != CT_NONE && j->sources[j->map[i]] > 1)
			j->to->recorded[j->map[i]] +=
				(uint64_t)ct_abs(ct_values(j->from, i)[j->type]);
}

void ct_times_join(struct ct_profile *to, struct ct_profile *const *from, uint32_t *const *maps,
		   size_t count)
{
	struct joining j = { .type = ct_times_type(to), .start = INT64_MAX };
	unsigned *sources;

	for (size_t k = 0; k < count; k++)
		if (from[k]->times && ct_times_start(from[k]) < j.start)
			j.start = ct_times_start(from[k]);
	if (j.start == INT64_MAX)
		return;
	sources = ct_memory_alloc(to->sample_count * sizeof(*sources));
	for (size_t k = 0; k < count; k++)
		for (size_t i = 0; i < from[k]->sample_count; i++)
			if (maps[k][i] != CT_NONE)
				sources[maps[k][i]]++;
	j.to = make_room(to, from, count);
	j.to->start = j.start;
	j.sources = sources;
	for (size_t k = 0; k < count; k++) {
		j.from = from[k];
		j.map = maps[k];
		if (from[k]->times)
			join_one(&j, to, count > 1);
		else
			join_untimed(&j);
	}
	free(sources);
	to->time_nanos = to->duration_nanos ? j.start : ct_add(j.start, (int64_t)j.to->end);
	ct_times_sort(j.to);
}
