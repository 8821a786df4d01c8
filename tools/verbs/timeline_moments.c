/* SPDX-License-Identifier: BSD-3-Clause */
/* Moments that differ from the rest of a run; see timeline.h.
 *
 * For each function the run is cut into bins. A window of bins counts if it holds more than chance
 * explains: if each piece of the function's events fell anywhere in the run with equal probability,
 * Chernoff's inequality bounds the probability of as much in the window, also for pieces of unequal
 * amounts. The bound times the number of windows that are tried must be below FALSE_ALARM. Of those
 * windows the ones whose amount is furthest from the expected one are kept. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/report.h"
#include "core/times.h"
#include "verbs/timeline.h"
#include "verbs/verbs.h"

#define FALSE_ALARM 0.01
#define BINS 600
#define FUNCTIONS 100  /* of a file: those with the largest sums */
#define CLASSES 64     /* of pieces, by the logarithm of their amounts */
#define TWICE 2	       /* what rises by less is not told */
#define MOSTLY 0.9     /* a function returns periodically if this share of it does */
#define MATERIAL 0.1   /* nor what is less than this of all that happens in an average window */
#define MANY_READY 0.5 /* threads that were ready to run at a moment: fewer are not told */
#define SAME 0.5       /* moments with such a share in common are one */

struct series {
	uint32_t function;
	double total, bins[BINS + 1];	       /* after sum_up: the sums before each bin */
	double number[CLASSES], most[CLASSES]; /* of pieces: their number, and the largest */
	bool periodic;
};

struct series_total {
	double total;
	uint32_t function;
};

struct finding {
	const struct ct_timeline *t;
	double from, length; /* of a bin */
	size_t bins, tries;
	struct series *series;
	size_t count;
	double all;
	unsigned char *beside; /* by function: bit I: it is on stacks with that of moment I */
};

/* ---- the bins ---- */

static int by_total(const void *x, const void *y)
{
	const struct series_total *a = x, *b = y;

	/* Of a caller and a callee the inner one has the lower number. */
	return a->total < b->total   ? 1
	       : a->total > b->total ? -1
				     : (a->function > b->function) - (a->function < b->function);
}

static void add_part(struct series *s, size_t bin, double part)
{
	int class = part > 0 ? ilogb(part) + 20 : -1;

	if (part <= 0)
		return;
	class = class < 0 ? 0 : class >= CLASSES ? CLASSES - 1 : class;
	s->bins[bin + 1] += part;
	s->number[class]++;
	s->most[class] = fmax(s->most[class], part);
}

/* AT: by function, the number of its series or CT_NONE. */
static void fill_event(struct finding *f, size_t event, const uint32_t *at)
{
	const struct ct_timeline *t = f->t;
	uint32_t sample = t->p->times->events[event].sample;

	for (size_t k = t->first_function[sample]; k < t->first_function[sample + 1]; k++) {
		struct ct_timeline_piece p = t->pieces[event];
		uint32_t series = at[t->functions[k]];
		size_t bin;
		double part;

		while (series != CT_NONE &&
		       ct_timeline_pieces_part(&p, f->from, f->length, f->bins, &bin, &part))
			add_part(&f->series[series], bin, part);
	}
}

static void fill_series(struct finding *f)
{
	const struct ct_timeline *t = f->t;
	uint32_t *at = ct_memory_realloc(NULL, t->name_count + 1, sizeof(*at));
	struct series_total *totals = ct_memory_alloc((t->name_count + 1) * sizeof(*totals));

	for (size_t i = 0; i < t->name_count; i++)
		totals[i].function = (uint32_t)i;
	for (size_t i = 0; i < t->p->times->event_count; i++) {
		uint32_t sample = t->pieces[i].event->sample;

		f->all += t->idle[sample] ? 0 : t->pieces[i].amount;
		for (size_t k = t->first_function[sample]; k < t->first_function[sample + 1]; k++)
			totals[t->functions[k]].total += t->pieces[i].amount;
	}
	qsort(totals, t->name_count, sizeof(*totals), by_total);
	f->count = t->name_count < FUNCTIONS ? t->name_count : FUNCTIONS;
	f->series = ct_memory_alloc((f->count + 1) * sizeof(*f->series));
	for (size_t i = 0; i < t->name_count; i++)
		at[totals[i].function] = i < f->count ? (uint32_t)i : CT_NONE;
	for (size_t i = 0; i < f->count; i++) {
		f->series[i].function = totals[i].function;
		f->series[i].total = totals[i].total;
	}
	for (size_t i = 0; i < t->p->times->event_count; i++)
		fill_event(f, i, at);
	for (size_t i = 0; i < f->count; i++)
		for (size_t b = 0; b < f->bins; b++)
			f->series[i].bins[b + 1] += f->series[i].bins[b];
	free(at);
	free(totals);
}

/* ---- chance ---- */

/* Returns the natural logarithm of how improbable it is, at least, that pieces that each fall into
 * the window with probability Q sum up to IN there: the largest of
 * X * IN - sum(ct_log(1 + Q * (ct_exp(X * piece) - 1))) over X. It is concave in X. */
static double surprise(const struct series *s, double in, double q)
{
	double low = 0, high, best = 0, most = 0;

	for (int c = 0; c < CLASSES; c++)
		most = s->number[c] > 0 ? fmax(most, s->most[c]) : most;
	high = 600 / most;
	for (int i = 0; i < 40; i++) {
		double x = i < 30 ? sqrt(fmax(low, high * 1e-9) * high) : (low + high) / 2;
		double slope = in, value = x * in;

		for (int c = 0; c < CLASSES; c++) {
			double e = s->number[c] > 0 ? ct_exp(x * s->most[c]) : 1;

			slope -= s->number[c] * s->most[c] * q * e / (1 + q * (e - 1));
			value -= s->number[c] * log1p(q * (e - 1));
		}
		best = fmax(best, value);
		*(slope > 0 ? &low : &high) = x;
	}
	return best;
}

/* Returns how far IN of TOTAL in a share Q of the time is from the expected: the part of the
 * likelihood ratio that grows with the amount. */
static double distance(double in, double total, double q)
{
	double out = total - in;

	return in * ct_log(in / (total * q)) +
	       (out > total * 1e-9 ? out * ct_log(out / (total * (1 - q))) : 0);
}

/* Is a window apart from the moments of LIST whose functions are on the same stacks, and from their
 * surroundings? */
static bool is_apart(const struct finding *f, const struct series *s,
		     const struct ct_timeline_moment *list, size_t count, double from, double to)
{
	for (size_t i = 0; i < count; i++)
		if (f->beside[s->function] & 1 << i &&
		    fmin(to, list[i].to) - fmax(from, list[i].from) > list[i].from - list[i].to)
			return false;
	return true;
}

/* Is M at about the time of a moment of LIST? It may be within a much longer one. */
static bool is_at_time_of(const struct ct_timeline_moment *list, size_t count,
			  const struct ct_timeline_moment *m)
{
	for (size_t i = 0; i < count; i++)
		if (fmin(m->to, list[i].to) - fmax(m->from, list[i].from) >
		    SAME * fmax(m->to - m->from, list[i].to - list[i].from))
			return true;
	return false;
}

/* Lengths of windows that are tried: each number of bins up to 10, then in steps of a tenth. */
static size_t longer(size_t bins)
{
	return bins + 1 + bins / 10;
}

/* Returns the window of series S that differs most, of those that are apart from the COUNT moments
 * of LIST; without a FUNCTION if none has a score above LEAST. */
static struct ct_timeline_moment best_of(const struct finding *f, const struct series *s,
					 const struct ct_timeline_moment *list, size_t count,
					 double least)
{
	struct ct_timeline_moment best = { .score = least };

	for (size_t n = 1; n <= f->bins / 2; n = longer(n)) {
		double q = (double)n / (double)f->bins, seconds = (double)n * f->length / 1e9;

		for (size_t b = 0; b + n <= f->bins; b++) {
			double in = s->bins[b + n] - s->bins[b],
			       rest = fmax(s->total - in, 0) * q / (1 - q);
			double from = f->from + (double)b * f->length, score;

			if (in <= TWICE * rest || in - rest < MATERIAL * f->all * q)
				continue;
			score = distance(in, s->total, q) / f->all;
			if (score <= best.score * (1 + 1e-9) ||
			    !is_apart(f, s, list, count, from, from + seconds * 1e9) ||
			    surprise(s, in, q) < ct_log((double)f->tries / FALSE_ALARM))
				continue;
			best = (struct ct_timeline_moment){ .file = f->t,
							    .function = f->t->names[s->function],
							    .number = s->function,
							    .scope = CT_NONE,
							    .from = from,
							    .to = from + seconds * 1e9,
							    .rate = in / seconds,
							    .rest = rest / seconds,
							    .score = score };
		}
	}
	return best;
}

/* ---- the function ---- */

static bool is_in(const struct ct_timeline_moment *m, const struct ct_timeline_piece *p)
{
	return ct_timeline_pieces_has(m->file, p->event->sample, m->number) &&
	       ct_timeline_periods_in(m->file, p->event->thread, m->scope) &&
	       (m->every || (p->end >= m->from && p->begin < m->to));
}

/* Moment M, number I, which was found by one function, gets the name of the innermost one that
 * differs nearly as much at that time. */
static void name_moment(struct finding *f, struct ct_timeline_moment *m, size_t i)
{
	const struct ct_timeline *t = f->t;
	double *amount = ct_memory_alloc((t->p->sample_count + 1) * sizeof(*amount));
	bool *may = ct_memory_alloc(t->name_count + 1);
	size_t b = (size_t)round((m->from - f->from) / f->length);
	size_t n = (size_t)round((m->to - m->from) / f->length);
	double q = (double)n / (double)f->bins;

	for (size_t k = 0; k < t->p->times->event_count; k++)
		if (is_in(m, &t->pieces[k]))
			amount[t->pieces[k].event->sample] += t->pieces[k].amount;
	for (size_t k = 0; k < f->count; k++) {
		const struct series *s = &f->series[k];
		double in = s->bins[b + n] - s->bins[b];

		may[s->function] =
			in > s->total * q &&
			distance(in, s->total, q) >= CT_TIMELINE_NEARLY * m->score * f->all;
	}
	for (size_t k = 0; k < t->p->sample_count; k++)
		for (size_t at = t->first_function[k];
		     at < t->first_function[k + 1] &&
		     ct_timeline_pieces_has(t, (uint32_t)k, m->number);
		     at++)
			f->beside[t->functions[at]] |= (unsigned char)(1 << i);
	ct_timeline_pieces_name(m, amount, may);
	for (size_t k = 0; k < f->count; k++) {
		const struct series *s = &f->series[k];
		double in = s->bins[b + n] - s->bins[b],
		       rest = fmax(s->total - in, 0) * q / (1 - q);

		if (s->function != m->number)
			continue;
		m->rate = in / (m->to - m->from) * 1e9;
		m->rest = rest / (m->to - m->from) * 1e9;
	}
	free(amount);
	free(may);
}

/* ---- threads ---- */

/* Names the threads that have a twentieth or more of what M is about, and limits its rate to what
 * so many threads can do. A thinned index has events of some of them only. */
static void name_threads(struct ct_timeline_moment *m)
{
	const struct ct_timeline *t = m->file;
	const struct ct_times *times = t->p->times;
	double *by = ct_memory_alloc((times->thread_count + 1) * sizeof(*by)), all = 0;
	const char *least = times->thinning > 1 ? "at least " : "";
	size_t count = 0, first = 0, stem = 0, any = 0;

	for (size_t i = 0; i < times->event_count; i++) {
		const struct ct_timeline_piece *p = &t->pieces[i];

		if (!is_in(m, p))
			continue;
		by[p->event->thread] += p->amount;
		all += p->amount;
	}
	for (size_t i = 0; i < times->thread_count; i++) {
		const char *name = ct_text(t->p, times->threads[i].name), *other;

		any += by[i] > 0;
		if (by[i] * 20 < all || !by[i])
			continue;
		other = ct_text(t->p, times->threads[count ? first : i].name);
		if (!count++)
			stem = strlen(name), first = i;
		while (stem && strncmp(name, other, stem) != 0)
			stem--;
	}
	m->threads = count == 1	 ? ct_memory_printf("thread %s",
						    ct_text(t->p, times->threads[first].name))
		     : stem >= 3 ? ct_memory_printf("%s%zu threads %.*s*", least, count, (int)stem,
						    ct_text(t->p, times->threads[first].name))
				 : ct_memory_printf("%s%zu threads", least, count);
	if (m->also) {
		char *one = m->threads;

		m->threads = ct_memory_printf("%s and %zu more", one, m->also);
		free(one);
	}
	m->thread = count == 1 && !m->also ? (uint32_t)first : CT_NONE;
	if (t->is_time && !t->is_shared)
		m->rate = fmin(m->rate, fmin((double)(any + m->also) * (double)times->thinning,
					     (double)times->thread_count) *
						1e9);
	free(by);
}

/* ---- all files ---- */

/* Returns a length of 1, 2 or 5 times a power of ten, of which at most BINS fit into LENGTH. */
static double round_length(double length)
{
	double least = fmax(length / BINS, 1e6), ten = ct_pow(10, floor(log10(least)));

	for (int i = 0; i < 4; i++)
		if (ten * (double)(int[]){ 1, 2, 5, 10 }[i] >= least * (1 - 1e-9))
			return ten * (double)(int[]){ 1, 2, 5, 10 }[i];
	return least;
}

static void begin_file(struct finding *f, const struct ct_timeline *t, double from, double to)
{
	double length = round_length(to - from);

	*f = (struct finding){ .t = t, .length = length, .from = floor(from / length) * length };
	f->bins = (size_t)fmin(fmax(ceil((to - f->from) / length - 1e-6), 1), BINS);
	fill_series(f);
	f->beside = ct_memory_alloc(t->name_count + 1);
	for (size_t n = 1; n <= f->bins / 2; n = longer(n))
		f->tries += (f->bins - n + 1) * f->count;
}

/* Returns the moment that differs most, besides the COUNT ones of LIST; with score 0 if there is
 * none. SAME_TIME: also one at the time of one of these. */
static struct ct_timeline_moment next_moment(const struct finding *f,
					     const struct ct_timeline_moment *list, size_t count,
					     bool same_time)
{
	struct ct_timeline_moment next = { .score = 0 };

	for (size_t i = 0; i < f->count; i++) {
		struct ct_timeline_moment m;

		if (f->series[i].periodic)
			continue;
		m = best_of(f, &f->series[i], list, count, next.score);
		if (m.function && (same_time || !is_at_time_of(list, count, &m)))
			next = m;
	}
	return next;
}

/* Stores the moments of F. Those at the time of another one come last. */
static size_t find_moments(struct finding *f, struct ct_timeline_moment *to)
{
	bool same_time = false;
	size_t n = 0;

	while (n < CT_TIMELINE_MOMENTS) {
		to[n] = next_moment(f, to, n, same_time);
		if (!to[n].score && same_time)
			break;
		if (to[n].score)
			name_moment(f, &to[n], n), n++;
		else
			same_time = true;
	}
	return n;
}

/* Stores what returns periodically in F. It is no moment of F, nor is what other files show of it:
 * the COUNT ones of LIST. */
static size_t find_periods(struct finding *f, struct ct_timeline_moment *to,
			   const struct ct_timeline_moment *list, size_t count)
{
	double *with = ct_memory_alloc((f->t->name_count + 1) * sizeof(*with));
	size_t n = ct_timeline_periods_find(f->t, to, with);

	for (size_t i = 0; i < f->count; i++) {
		struct series *s = &f->series[i];

		s->periodic = with[s->function] > MOSTLY * s->total;
		for (size_t k = 0; k < count; k++)
			s->periodic |= !strcmp(list[k].function, f->t->names[s->function]);
	}
	free(with);
	return n;
}

/* ---- what several files tell of one moment ---- */

/* Is NAME, perhaps with a cause, the function FUNCTION? */
static bool is_function(const char *name, const char *function)
{
	size_t n = strcspn(function, "[");

	n = n && function[n] ? n - 1 : strlen(function);
	return !strncmp(name, function, n) && (!name[n] || !strncmp(name + n, " [", 2));
}

/* Is FUNCTION on the stacks of most of what M is about? */
static bool is_about(const struct ct_timeline_moment *m, const char *function)
{
	const struct ct_timeline *t = m->file;
	bool *is = ct_memory_alloc(t->name_count + 1);
	double all = 0, with = 0;

	for (size_t i = 0; i < t->name_count; i++)
		is[i] = is_function(t->names[i], function);
	for (size_t i = 0; i < t->p->times->event_count; i++) {
		uint32_t sample = t->pieces[i].event->sample;
		size_t k = t->first_function[sample], end = t->first_function[sample + 1];

		if (!is_in(m, &t->pieces[i]))
			continue;
		while (k < end && !is[t->functions[k]])
			k++;
		all += t->pieces[i].amount;
		with += k < end ? t->pieces[i].amount : 0;
	}
	free(is);
	return with > SAME * all;
}

/* What M is about; what is of two kinds is not the same. */
static enum { BYTES, RUNS, READY, WAITS } kind_of(const struct ct_timeline_moment *m)
{
	const struct ct_profile *p = m->file->p;

	if (!m->file->is_time)
		return BYTES;
	if (m->file->is_wall)
		return ct_ends(m->function, "[ready to run]") ? READY
		       : ct_ends(m->function, "]")	      ? WAITS
							      : RUNS;
	return strcmp(ct_text(p, p->types[m->file->type].type), "cpu") ? WAITS : RUNS;
}

/* Do A and B, of two files, tell the same? */
static bool is_same(const struct ct_timeline_moment *a, const struct ct_timeline_moment *b)
{
	double common = fmin(a->to, b->to) - fmax(a->from, b->from);

	if (a->file == b->file || !a->every != !b->every)
		return false;
	if (a->every)
		return ct_timeline_bursts_same(a, b);
	if (kind_of(a) != kind_of(b) || common < SAME * fmin(a->to - a->from, b->to - b->from))
		return false;
	return (a->lock && b->lock && !strcmp(a->lock, b->lock)) || is_about(a, b->function) ||
	       is_about(b, a->function);
}

/* Returns how much M tells: of a wait its cause, of what runs how many processors it had. */
static int worth_of(const struct ct_timeline_moment *m)
{
	return m->other ? 3 : m->lock ? 2 : m->file->is_wall == (kind_of(m) == WAITS);
}

/* Notes in M how many threads were ready to run at that time, if they were many more than usual. */
static void count_ready(const struct ct_timeline_view *v, struct ct_timeline_moment *m)
{
	const struct ct_timeline *t = v->files;
	double in = 0, all = 0, length = m->to - m->from, rest;

	while (t < v->files + v->count && !t->is_wall)
		t++;
	for (size_t i = 0; t < v->files + v->count && i < t->p->times->event_count; i++) {
		const struct ct_timeline_piece *p = &t->pieces[i];

		if (!ct_timeline_pieces_is_ready(t->p, p->event->sample))
			continue;
		all += p->amount;
		in += p->amount * ct_timeline_pieces_within(m, p->begin, p->end - p->begin);
	}
	rest = fmax(all - in, 0) / fmax(v->to - v->from - length, 1);
	if (in / length < MANY_READY || in / length < TWICE * rest)
		return;
	m->ready = in / length * 1e9;
	m->ready_rest = rest * 1e9;
}

/* That threads are ready to run is not told once more where it is a moment of its own. */
static void drop_ready(struct ct_timeline_moment *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < count && kind_of(&list[i]) == READY; k++)
			if (list[i].from < list[k].to && list[k].from < list[i].to)
				list[k].ready = 0;
}

void ct_timeline_moments_release(struct ct_timeline_moment *m)
{
	free(m->threads);
	free(m->lock);
	free(m->other);
}

/* Adds M to LIST, unless it is there already: then the one that tells more of the cause stays. */
static void add(struct ct_timeline_moment *list, size_t *count, const struct ct_timeline_view *v,
		struct ct_timeline_moment m)
{
	struct ct_timeline_moment *other = list;

	name_threads(&m);
	m.lock = ct_timeline_locks_name(&m);
	m.other = m.lock ? ct_timeline_locks_other(&m, m.lock, v->zero) : NULL;
	if (!m.every)
		count_ready(v, &m);
	while (other < list + *count && !is_same(other, &m))
		other++;
	if (other == list + *count) {
		list[(*count)++] = m;
		return;
	}
	m.score = fmax(m.score, other->score);
	other->score = m.score;
	if (worth_of(&m) > worth_of(other)) {
		ct_timeline_moments_release(other);
		*other = m;
	} else {
		ct_timeline_moments_release(&m);
	}
}

static int by_score(const void *x, const void *y)
{
	const struct ct_timeline_moment *a = x, *b = y;

	if (!a->every != !b->every)
		return a->every ? 1 : -1;
	return (a->score < b->score) - (a->score > b->score);
}

/* Are the holders or the wakers of another file's locks in file I? They are told with its moments.
 */
static bool is_companion(const struct ct_timeline_view *v, size_t i)
{
	bool is = false;

	for (size_t k = 0; k < 2 * v->count && !is; k++) {
		char *name = ct_run_show_beside(v->files[k / 2].name, k % 2 ? "holders" : "wakers");

		is = !strcmp(name, v->files[i].name);
		free(name);
	}
	return is;
}

size_t ct_timeline_moments_find(const struct ct_timeline_view *v, struct ct_timeline_moment *found,
				size_t *periodic)
{
	struct finding *all = ct_memory_alloc(v->count * sizeof(*all));
	struct ct_timeline_moment one[CT_TIMELINE_MOMENTS];
	size_t count = 0, n;

	for (size_t i = 0; i < v->count; i++) {
		begin_file(&all[i], &v->files[i], v->from, v->to);
		n = find_periods(&all[i], one, found, count);
		for (size_t k = 0; k < n; k++)
			add(found, &count, v, one[k]);
	}
	*periodic = count;
	for (size_t i = 0; i < v->count; i++) {
		n = is_companion(v, i) ? 0 : find_moments(&all[i], one);
		for (size_t k = 0; k < n; k++)
			add(found, &count, v, one[k]);
		free(all[i].series);
		free(all[i].beside);
	}
	free(all);
	drop_ready(found, count);
	if (count)
		qsort(found, count, sizeof(*found), by_score);
	return count;
}
