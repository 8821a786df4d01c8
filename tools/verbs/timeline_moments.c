/* SPDX-License-Identifier: BSD-3-Clause */
/* Moments that differ from the rest of a run; see verbs.h.
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
#include "verbs/verbs.h"

#define FALSE_ALARM 0.01
#define BINS 600
#define FUNCTIONS 100 /* of a file: those with the largest sums */
#define CLASSES 64    /* of pieces, by the logarithm of their amounts */
#define TWICE 2	      /* what rises by less is not told */
#define MOSTLY 0.9    /* a function returns periodically if this share of it does */
#define MATERIAL 0.1  /* nor what is less than this of all that happens in an average window */

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
 * X * IN - sum(log(1 + Q * (exp(X * piece) - 1))) over X. It is concave in X. */
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
			double e = s->number[c] > 0 ? exp(x * s->most[c]) : 1;

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

	return in * log(in / (total * q)) +
	       (out > total * 1e-9 ? out * log(out / (total * (1 - q))) : 0);
}

/* Is a window apart from the moments of LIST, and from the surroundings of those of the same
 * function? */
static bool is_apart(const struct ct_timeline_moment *list, size_t count, const char *function,
		     double from, double to)
{
	for (size_t i = 0; i < count; i++) {
		double margin = strcmp(list[i].function, function) ? 0 : list[i].to - list[i].from;

		if (from < list[i].to + margin && list[i].from - margin < to)
			return false;
	}
	return true;
}

/* Lengths of windows that are tried: each number of bins up to 10, then in steps of a tenth. */
static size_t longer(size_t bins)
{
	return bins + 1 + bins / 10;
}

/* Improves BEST by the windows of series S that are apart from the COUNT moments of LIST. */
static void try_series(const struct finding *f, const struct series *s,
		       const struct ct_timeline_moment *list, size_t count,
		       struct ct_timeline_moment *best)
{
	for (size_t n = 1; n <= f->bins / 2; n = longer(n)) {
		double q = (double)n / (double)f->bins, seconds = (double)n * f->length / 1e9;

		for (size_t b = 0; b + n <= f->bins; b++) {
			double in = s->bins[b + n] - s->bins[b],
			       rest = fmax(s->total - in, 0) * q / (1 - q);
			double from = f->from + (double)b * f->length, score;

			if (in <= TWICE * rest || in - rest < MATERIAL * f->all * q)
				continue;
			score = distance(in, s->total, q) / f->all;
			if (score <= best->score * (1 + 1e-9) ||
			    !is_apart(list, count, f->t->names[s->function], from,
				      from + seconds * 1e9) ||
			    surprise(s, in, q) < log((double)f->tries / FALSE_ALARM))
				continue;
			*best = (struct ct_timeline_moment){ .file = f->t,
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
}

/* ---- threads ---- */

/* Names the threads that have a twentieth or more of what M is about, and limits its rate to what
 * so many threads can do. */
static void name_threads(struct ct_timeline_moment *m)
{
	const struct ct_timeline *t = m->file;
	const struct ct_times *times = t->p->times;
	double *by = ct_memory_alloc((times->thread_count + 1) * sizeof(*by)), all = 0;
	size_t count = 0, first = 0, stem = 0, any = 0;

	for (size_t i = 0; i < times->event_count; i++) {
		const struct ct_timeline_piece *p = &t->pieces[i];

		if (!ct_timeline_pieces_has(t, p->event->sample, m->number) ||
		    !ct_timeline_periods_in(t, p->event->thread, m->scope) ||
		    (!m->every && (p->end < m->from || p->begin >= m->to)))
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
		     : stem >= 3 ? ct_memory_printf("%zu threads %.*s*", count, (int)stem,
						    ct_text(t->p, times->threads[first].name))
				 : ct_memory_printf("%zu threads", count);
	if (m->also) {
		char *one = m->threads;

		m->threads = ct_memory_printf("%s and %zu more", one, m->also);
		free(one);
	}
	m->thread = count == 1 && !m->also ? (uint32_t)first : CT_NONE;
	if (t->is_time && !t->is_shared)
		m->rate = fmin(m->rate, (double)(any + m->also) * 1e9);
	free(by);
}

/* ---- all files ---- */

/* Returns a length of 1, 2 or 5 times a power of ten, of which at most BINS fit into LENGTH. */
static double round_length(double length)
{
	double least = fmax(length / BINS, 1e6), ten = pow(10, floor(log10(least)));

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
	for (size_t n = 1; n <= f->bins / 2; n = longer(n))
		f->tries += (f->bins - n + 1) * f->count;
}

/* Puts M into LIST of at most CT_TIMELINE_MOMENTS, the largest score first. */
static void keep_largest(struct ct_timeline_moment *list, size_t *count,
			 const struct ct_timeline_moment *m)
{
	size_t at = *count < CT_TIMELINE_MOMENTS ? (*count)++ : CT_TIMELINE_MOMENTS;

	for (; at && list[at - 1].score < m->score; at--)
		if (at < CT_TIMELINE_MOMENTS)
			list[at] = list[at - 1];
	if (at < CT_TIMELINE_MOMENTS)
		list[at] = *m;
}

/* Adds the functions of file F that return periodically to LIST, but for those that another file
 * has shown, too. */
static void find_periods(struct finding *f, struct ct_timeline_moment *list, size_t *count)
{
	struct ct_timeline_moment one[CT_TIMELINE_MOMENTS];
	double *with = ct_memory_alloc((f->t->name_count + 1) * sizeof(*with));
	size_t n = ct_timeline_periods_find(f->t, one, with);

	for (size_t i = 0; i < n; i++) {
		bool known = false;

		for (size_t k = 0; k < *count && !known; k++)
			known = list[k].file != f->t && ct_timeline_periods_same(&list[k], &one[i]);
		if (!known)
			keep_largest(list, count, &one[i]);
	}
	for (size_t i = 0; i < f->count; i++) {
		const struct series *s = &f->series[i];

		f->series[i].periodic = with[s->function] > MOSTLY * s->total;
		for (size_t k = 0; k < *count; k++)
			f->series[i].periodic |=
				!strcmp(list[k].function, f->t->names[s->function]);
	}
	free(with);
}

size_t ct_timeline_moments_find(const struct ct_timeline *files, size_t count, double from,
				double to, struct ct_timeline_moment *found, size_t *periodic)
{
	struct finding *all = ct_memory_alloc(count * sizeof(*all));
	struct ct_timeline_moment returning[CT_TIMELINE_MOMENTS];
	size_t n = 0;

	*periodic = 0;
	for (size_t i = 0; i < count; i++) {
		begin_file(&all[i], &files[i], from, to);
		find_periods(&all[i], returning, periodic);
	}
	for (; n < CT_TIMELINE_MOMENTS; n++) {
		found[n].score = 0;
		for (size_t i = 0; i < count; i++)
			for (size_t s = 0; s < all[i].count; s++)
				if (!all[i].series[s].periodic)
					try_series(&all[i], &all[i].series[s], found, n, &found[n]);
		if (!found[n].score)
			break;
	}
	memcpy(found + n, returning, *periodic * sizeof(*found));
	n += *periodic;
	for (size_t i = 0; i < n; i++)
		name_threads(&found[i]);
	for (size_t i = 0; i < count; i++)
		free(all[i].series);
	free(all);
	return n;
}
