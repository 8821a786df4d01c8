/* SPDX-License-Identifier: BSD-3-Clause */
/* What a profile was in the window that times_window.c finds; see times.h.
 *
 * A sample's value in a window is its value times the share that the events in the window have of
 * all its events. It is the difference of the rounded values up to the window's end and up to its
 * beginning, so the sums of windows that follow each other are exact.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/report.h"
#include "core/times.h"

#define AFTER_ALL (2 * CT_TIMES_LATEST)

/* Profiles that are read later, such as those beside the first one, have the first one's window. */
static struct ct_times_window window;

/* ---- the spans ---- */

/* Where the chosen spans of each thread are: intervals[first[T] .. first[T + 1] - 1], in order and
 * apart. A span inside another one adds nothing. */
struct chosen {
	struct ct_times_span *intervals;
	size_t *first;
};

struct filtering {
	struct ct_profile *p;
	const struct ct_times_asked *asked;
	uint64_t begin, end; /* since the profile's start */
	double longer;
	bool spans;
	struct chosen chosen;
	struct row *rows;
	double zero;	    /* when the profile's times begin, since the start of the run */
	bool waits;	    /* for locks: what their holders have caused depends on them */
	double *low, *high; /* by event: which part comes before the window, and before its end,
			       by the waits that it caused; NULL: by its time */
};

static bool is_chosen(const struct filtering *f, const struct ct_times_span *s)
{
	return (double)s->duration >= f->longer && s->begin < f->end &&
	       s->begin + s->duration > f->begin &&
	       (!f->asked->in_span || !strcmp(ct_text(f->p, s->name), f->asked->in_span));
}

static void choose_spans(struct filtering *f)
{
	const struct ct_times *t = f->p->times;
	struct chosen *c = &f->chosen;
	size_t *at = ct_memory_alloc((t->thread_count + 2) * sizeof(*at)), kept = 0;

	c->intervals = ct_memory_realloc(NULL, t->span_count, sizeof(*c->intervals));
	for (size_t i = 0; i < t->span_count; i++)
		at[t->spans[i].thread + 2] += is_chosen(f, &t->spans[i]);
	for (size_t i = 2; i < t->thread_count + 2; i++)
		at[i] += at[i - 1];
	for (size_t i = 0; i < t->span_count; i++)
		if (is_chosen(f, &t->spans[i]))
			c->intervals[at[t->spans[i].thread + 1]++] = t->spans[i];
	for (size_t thread = 0; thread < t->thread_count; thread++) {
		uint64_t covered = 0;
		size_t i = at[thread];

		at[thread] = kept;
		for (; i < at[thread + 1]; i++) {
			struct ct_times_span s = c->intervals[i];
			uint64_t end = s.begin + s.duration;

			window.spans += (double)s.weight;
			window.in_spans += (double)s.weight * (double)s.duration;
			if (end <= covered)
				continue;
			s.begin = s.begin < covered ? covered : s.begin;
			s.duration = end - s.begin;
			covered = end;
			c->intervals[kept++] = s;
		}
	}
	at[t->thread_count] = kept;
	c->first = at;
}

/* ---- the events ---- */

enum measure { WEIGHT, COUNT, DURATION, MEASURES };

/* The events of a sample. */
struct row {
	double all[MEASURES];	     /* births, without deaths, as the next two */
	double before[MEASURES];     /* until the window begins */
	double until[MEASURES];	     /* until it ends */
	double deaths[MEASURES];     /* in the window */
	double born_after[MEASURES]; /* births less deaths after its end */
	uint64_t longest;
};

/* Returns which share of event E is before WHEN. */
static double before(const struct ct_event *e, uint64_t when)
{
	if (when <= e->begin)
		return 0;
	return when - e->begin >= e->duration ? 1 : (double)(when - e->begin) / (double)e->duration;
}

/* Adds the wait E, or its chosen part from BEGIN to END. */
static void add_wait(const struct filtering *f, const struct ct_event *e, uint64_t begin,
		     uint64_t end, double weight, bool chosen)
{
	uint64_t e_end = e->begin + e->duration;

	begin = begin > e->begin ? begin : e->begin;
	end = end < e_end ? end : e_end;
	if (f->waits && begin < end)
		ct_times_waits_add(f->p, e->sample, f->zero + (double)begin, f->zero + (double)end,
				   weight, chosen);
}

/* Returns which share of E is in the chosen spans, for as many of them as they stand for. */
static double in_spans(const struct filtering *f, const struct ct_event *e)
{
	size_t low = f->chosen.first[e->thread], high = f->chosen.first[e->thread + 1];
	double share = 0;

	for (size_t end = high; low < end;) { /* the first that ends after E's begin */
		size_t middle = (low + end) / 2;
		const struct ct_times_span *s = &f->chosen.intervals[middle];

		if (s->begin + s->duration <= e->begin)
			low = middle + 1;
		else
			end = middle;
	}
	for (; low < high && f->chosen.intervals[low].begin <= e->begin + e->duration; low++) {
		const struct ct_times_span *s = &f->chosen.intervals[low];
		uint64_t begin = s->begin > f->begin ? s->begin : f->begin;
		uint64_t end = s->begin + s->duration;
		double part;

		end = end < f->end ? end : f->end;
		if (begin >= end)
			continue;
		part = (before(e, end) - before(e, begin)) * (double)s->weight;
		add_wait(f, e, begin, end, part * (double)e->weight, true);
		share += part;
	}
	return share;
}

/* Sets which part of event E, number I, is before the window, and until its end. */
static void find_parts(const struct filtering *f, size_t i, const struct ct_event *e, double *low,
		       double *high)
{
	bool by_waits = f->high && f->high[i] >= 0;

	*low = f->spans ? 0 : by_waits ? f->low[i] : before(e, f->begin);
	*high = by_waits	      ? f->high[i]
		: f->high && f->spans ? 0
		: f->spans	      ? in_spans(f, e)
				      : before(e, f->end);
}

/* Adds event E, number I, to its row. Returns which share of it is in the window. */
static double add_event(struct filtering *f, size_t i, const struct ct_event *e)
{
	double factor = f->asked->latency ? ct_times_latency_factor(f->p, e) : 1, low, high;
	double m[MEASURES] = { (double)e->weight, (double)e->count, (double)e->duration };
	struct row *r = &f->rows[e->sample];

	find_parts(f, i, e, &low, &high);
	low *= factor;
	high *= factor;
	for (unsigned k = 0; k < MEASURES; k++) {
		r->born_after[k] += e->begin < f->end ? 0 : e->death ? -m[k] : m[k];
		if (e->death) {
			r->deaths[k] += m[k] * (high - low);
			continue;
		}
		r->all[k] += m[k];
		r->before[k] += m[k] * low;
		r->until[k] += m[k] * high;
	}
	if (high > low && e->duration > r->longest)
		r->longest = e->duration;
	return high - low;
}

/* Moves event E, of which SHARE is in the window, to its part there. */
static void cut_event(const struct filtering *f, struct ct_event *e, double share)
{
	uint64_t end = e->begin + e->duration;

	end = end < f->end ? end : f->end;
	e->weight = (uint64_t)fmin(round((double)e->weight * share), 0x1p62);
	e->begin = e->begin > f->begin ? e->begin < f->end ? e->begin : f->end : f->begin;
	e->duration = end > e->begin ? end - e->begin : 0;
	e->begin -= f->begin;
}

static void take_events(struct filtering *f)
{
	struct ct_times *t = f->p->times;
	size_t kept = 0;

	for (size_t i = 0; i < t->event_count; i++) {
		struct ct_event e = t->events[i];
		double share;

		add_wait(f, &e, 0, UINT64_MAX, (double)e.weight, false);
		share = add_event(f, i, &e);
		if (share > 0) {
			cut_event(f, &e, share);
			t->events[kept++] = e;
		}
	}
	t->event_count = kept;
}

/* ---- the values ---- */

static enum measure measure_of(const struct ct_profile *p, size_t type, const struct row *r)
{
	size_t main = ct_times_type(p);
	const char *unit = ct_text(p, p->types[type].unit);
	enum measure m =
		type == main		 ? WEIGHT
		: !strcmp(unit, "count") ? COUNT
		: !strcmp(unit, "nanoseconds") && strcmp(ct_text(p, p->types[main].unit), unit) != 0
			? DURATION
			: WEIGHT;

	m = r->all[m] > 0 ? m : WEIGHT;
	return r->all[m] > 0 ? m : COUNT;
}

/* Returns the first type of the same unit that is of no moment; type_count: there is none. */
static size_t born_type(const struct ct_profile *p, size_t type)
{
	size_t i = 0;

	while (i < p->type_count &&
	       (strcmp(ct_text(p, p->types[i].unit), ct_text(p, p->types[type].unit)) != 0 ||
		ct_model_is_of_moment(p, i)))
		i++;
	return i;
}

/* Returns the value of a moment at the window's end. TIMED: the share of the sample that has a
 * time. */
static int64_t at_end(const struct filtering *f, size_t i, size_t type, double timed)
{
	const struct ct_profile *p = f->p;
	const struct row *r = &f->rows[i];
	int64_t value = ct_values(p, i)[type];
	size_t born = born_type(p, type);
	enum measure m = measure_of(p, type, r);
	double each, then;

	if (f->end == AFTER_ALL && !f->spans)
		return value;
	if (born == p->type_count || !ct_starts(ct_text(p, p->types[type].type), "inuse_"))
		return 0; /* it is known only at the end of the run */
	each = r->all[m] > 0 ? (double)ct_values(p, i)[born] * timed / r->all[m] : 0;
	then = f->spans ? each * (r->until[m] - r->deaths[m])
			: (double)value - each * r->born_after[m];
	return ct_numbers_clamp(round(fmax(then, 0)));
}

static int64_t in_window(const struct filtering *f, size_t i, size_t type, double timed)
{
	const struct row *r = &f->rows[i];
	enum measure m = measure_of(f->p, type, r);
	double value = (double)ct_values(f->p, i)[type] * timed;

	if (!(r->all[m] > 0))
		return 0;
	return ct_add(ct_numbers_clamp(round(value * (r->until[m] / r->all[m]))),
		      ct_negate(ct_numbers_clamp(round(value * (r->before[m] / r->all[m])))));
}

/* Gives sample I its values in the window. Returns whether any is not 0. */
static bool take_values(struct filtering *f, size_t i)
{
	struct ct_profile *p = f->p;
	uint64_t recorded = p->times->recorded[i];
	const struct row *r = &f->rows[i];
	double timed = recorded ? r->all[WEIGHT] * (double)p->times->thinning / (double)recorded
				: r->all[COUNT] > 0;
	int64_t *to = ct_memory_alloc(p->type_count * sizeof(*to)), any = 0;

	for (size_t type = 0; type < p->type_count; type++) {
		double value = fabs((double)ct_values(p, i)[type]);
		struct ct_times_sums *s = &window.sums[type];

		to[type] = ct_model_is_of_moment(p, type) ? at_end(f, i, type, timed)
							  : in_window(f, i, type, timed);
		any |= to[type];
		s->all += value;
		s->timed += value * fmin(timed, 1);
		s->in += fabs((double)to[type]);
	}
	memcpy(ct_values(p, i), to, p->type_count * sizeof(*to));
	free(to);
	return any;
}

/* The label "longest" is the longest event in the window. */
static void take_longest(const struct filtering *f, size_t i)
{
	struct ct_profile *p = f->p;
	struct ct_label_set from = p->label_sets[p->samples[i].label_set];
	struct ct_label *labels = ct_memory_alloc(from.count * sizeof(*labels));
	bool has = false;

	for (uint32_t k = 0; k < from.count; k++) {
		labels[k] = p->labels[from.first + k];
		if (strcmp(ct_text(p, labels[k].key), "longest") != 0)
			continue;
		labels[k].number = (int64_t)f->rows[i].longest;
		has = true;
	}
	if (has)
		p->samples[i].label_set = ct_model_label_set(p, labels, from.count);
	free(labels);
}

static void take_samples(struct filtering *f)
{
	struct ct_profile *p = f->p;
	uint32_t *map = ct_memory_alloc(p->sample_count * sizeof(*map));
	size_t kept = 0;

	for (size_t i = 0; i < p->sample_count; i++) {
		map[i] = CT_NONE;
		if (!take_values(f, i))
			continue;
		take_longest(f, i);
		memmove(ct_values(p, kept), ct_values(p, i), p->type_count * sizeof(*p->values));
		p->samples[kept] = p->samples[i];
		map[i] = (uint32_t)kept++;
	}
	ct_times_map(p, map, p->sample_count, kept);
	free(map);
	p->sample_count = kept;
}

/* ---- the index, which is of the window from now on ---- */

static void cut_index(struct filtering *f)
{
	struct ct_times *t = f->p->times;
	int64_t start = ct_times_start(f->p);
	uint64_t begin = f->begin < t->end ? f->begin : t->end;
	uint64_t end = f->end < t->end ? f->end : t->end;
	size_t n = 0;

#define CUT(list, count, time)                                                                     \
	n = 0;                                                                                     \
	for (size_t i = 0; i < (count); i++) {                                                     \
		if ((list)[i].time >= f->begin && (list)[i].time < f->end) {                       \
			(list)[n] = (list)[i];                                                     \
			(list)[n++].time -= begin;                                                 \
		}                                                                                  \
	}                                                                                          \
	(count) = n
	CUT(t->spans, t->span_count, begin);
	CUT(t->counters, t->counter_count, when);
	CUT(t->wakes, t->wake_count, when);
#undef CUT
	for (size_t i = 0; i < t->thread_count; i++) {
		struct ct_times_thread *one = &t->threads[i];

		one->begun_before |= one->begin < begin;
		one->begin = one->begin > begin ? one->begin - begin : 0;
		one->end =
			one->end && one->end <= end ? (one->end > begin ? one->end - begin : 1) : 0;
		if (one->end && one->end < one->begin)
			one->end = one->begin;
	}
	memset(t->recorded, 0, t->recorded_count * sizeof(*t->recorded));
	for (size_t i = 0; i < t->event_count; i++)
		if (!t->events[i].death)
			t->recorded[t->events[i].sample] += t->events[i].weight * t->thinning;
	t->start = ct_add(start, (int64_t)begin);
	t->from = t->from > begin ? t->from - begin : 0;
	t->end = end > begin ? end - begin : 0;
	t->from = t->from < t->end ? t->from : t->end;
	if (f->p->duration_nanos) {
		f->p->time_nanos = ct_add(f->p->time_nanos, (int64_t)begin);
		f->p->duration_nanos = (int64_t)t->end + !t->end;
	} else {
		f->p->time_nanos = ct_add(start, (int64_t)(begin + t->end));
	}
}

/* The end of the run is after what happens at it, for windows that end there or begin later. */
static uint64_t since_start(const struct ct_profile *p, int64_t when)
{
	int64_t since = ct_times_between(ct_times_start(p), when);

	return since < 0 ? 0 : (uint64_t)since < p->times->end ? (uint64_t)since : AFTER_ALL;
}

static void filter(struct ct_profile *p, double longer)
{
	struct filtering f = { .p = p, .asked = ct_times_window_asked(), .longer = longer };

	f.begin = since_start(p, window.start);
	f.end = since_start(p, window.end);
	f.spans = ct_times_window_by_spans();
	if (f.end != AFTER_ALL || f.spans)
		ct_times_ages_join(p);
	f.rows = ct_memory_alloc(p->sample_count * sizeof(*f.rows));
	f.zero = (double)ct_times_between(window.run_start, ct_times_start(p));
	f.waits = ct_times_waits_are(p);
	if (ct_times_waits_have_holders(p)) {
		f.low = ct_times_waits_parts(p, f.zero, fmax(f.zero + (double)f.begin, 0));
		f.high = ct_times_waits_parts(p, f.zero,
					      f.spans ? -1 : fmax(f.zero + (double)f.end, 0));
	} else if (f.spans) {
		choose_spans(&f);
	}
	take_events(&f);
	take_samples(&f);
	cut_index(&f);
	free(f.rows);
	free(f.chosen.intervals);
	free(f.chosen.first);
	free(f.low);
	free(f.high);
}

/* A file beside others with an index, such as that of a process that had no events. */
static void leave_out(struct ct_profile *p, const char *name)
{
	if (p->sample_count)
		fprintf(stderr, "cprof: %s has no time index: its values are left out\n", name);
	for (size_t type = 0; type < p->type_count && type < CT_TIMES_TYPES; type++)
		for (size_t i = 0; i < p->sample_count; i++)
			window.sums[type].all += fabs((double)ct_values(p, i)[type]);
	p->sample_count = 0;
}

static bool lacked;

bool ct_times_filter_lacked(void)
{
	return lacked;
}

/* Is P what a running process did for a while, by cprof record or a scraper? The library says so.
 */
static bool is_window(const struct ct_profile *p)
{
	for (size_t i = 0; i < p->comment_count; i++)
		if (ct_starts(ct_notes_comment(p, i), "dump: a window "))
			return true;
	return false;
}

bool ct_times_filter_has(const struct ct_profile *p, const char *name)
{
	if (!p->times && is_window(p))
		fprintf(stderr,
			"cprof: %s is a window of a running process, which has no time index; "
			"\"cprof start PID\" and then \"cprof dump -last=30s PID\" write a file "
			"that has one\n",
			name);
	else if (!p->times && p->times_fault)
		fprintf(stderr, "cprof: no time is known of %s: its index %s\n", name,
			p->times_fault);
	else if (!p->times)
		fprintf(stderr,
			"cprof: %s has no time index (CPROF_TIMES=off, a window, or an older "
			"version)\n",
			name);
	return p->times != NULL;
}

static int check(const struct ct_profile *p, const char *name)
{
	const char *type = p->type_count ? ct_text(p, p->types[ct_times_type(p)].type) : "";

	lacked = !ct_times_filter_has(p, name);
	if (lacked || !ct_times_window_asked()->latency || !strcmp(type, "cpu") ||
	    !strcmp(type, "wall"))
		return lacked ? -1 : 0;
	fprintf(stderr, "cprof: -latency is for CPU and wall profiles: %s is none\n", name);
	return -1;
}

int ct_times_filter(struct ct_profile *const *profiles, const char *const *names, size_t count)
{
	const struct ct_times_asked *asked = ct_times_window_asked();
	const struct ct_profile *first = NULL;
	double longer = 0;

	if (!ct_times_window_active())
		return 0;
	for (size_t i = 0; i < count; i++)
		first = first || !profiles[i]->times ? first : profiles[i];
	for (size_t i = 0; i < count; i++)
		if ((!first || profiles[i]->times) && check(profiles[i], names[i]))
			return -1;
	if (ct_times_moment_duration("span-longer", asked->span_longer, &longer) ||
	    (!window.known && ct_times_window_find(profiles, count, &window)))
		return -1;
	window.spans = window.in_spans = 0;
	memset(window.sums, 0, sizeof(window.sums));
	if (asked->latency)
		ct_times_latency_count(profiles, count);
	for (size_t i = 0; i < count; i++) {
		uint64_t thinning = profiles[i]->times ? profiles[i]->times->thinning : 1;

		ct_idle_learn(profiles[i]);
		window.thinning = thinning > window.thinning ? thinning : window.thinning;
		if (profiles[i]->times)
			filter(profiles[i], longer);
		else
			leave_out(profiles[i], names[i]);
	}
	ct_times_window_show(&window);
	if (window.spans || !ct_times_window_by_spans() || ct_times_waits_have_holders(first))
		return 0;
	ct_times_window_no_span(first);
	return -1;
}

void ct_times_filter_forget(void)
{
	window.known = false;
}
