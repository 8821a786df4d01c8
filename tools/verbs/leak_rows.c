/* SPDX-License-Identifier: BSD-3-Clause */
/* Stacks that hold memory or grew; see verbs.h. */
#include "verbs/verbs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/read.h"
#include "flame/flame.h"

/* A growth by this many standard deviations isn't chance. */
#define DEVIATIONS 3

/* Returns the index of sample I's age in a detail, or -1. */
static int age_of(const struct ct_profile *p, size_t i)
{
	const struct ct_label *l = ct_model_label(p, p->samples[i].label_set, "age");

	if (!l || l->text || l->number < 0 || strcmp(ct_text(p, l->unit), "seconds"))
		return -1;
	return l->number ? 64 - __builtin_clzll((unsigned long long)l->number) : 0;
}

static void add_detail(struct ct_leak_dump *d, size_t stack, size_t i)
{
	double bytes = (double)ct_values(d->p, i)[d->space];
	double size = ct_sampling_size(d->p, i, d->space);
	double variance = d->is_sampled ? ct_sampling_variance(d->p, i, d->space) : 0;
	double turnover = bytes * size;
	int age = age_of(d->p, i);
	struct ct_leak_detail *detail;

	while (d->detail_count <= stack)
		*CT_PUSH(d->details, d->detail_count, d->detail_room) =
			(struct ct_leak_detail){ 0 };
	detail = &d->details[stack];
	detail->blocks += size > 0 ? bytes / size : 0;
	d->variance += variance;
	if (age < 0) {
		detail->ageless += variance;
		detail->ageless_turnover += turnover;
		return;
	}
	d->has_ages = true;
	detail->bytes[age] += bytes;
	detail->variance[age] += variance;
	detail->turnover[age] += turnover;
}

static int sum_up(struct ct_leak_dump *d)
{
	struct ct_own *o = ct_own_new(d->p, ct_own_asked);

	if (!o)
		return -1;
	for (size_t i = 0; i < d->p->sample_count; i++) {
		const int64_t *values = ct_values(d->p, i);
		struct ct_sum *sum;
		char *stack;

		if (!values[d->space])
			continue;
		stack = ct_own_stack_text(o, d->p, i);
		sum = ct_own_stack_sum(&d->stacks, stack);
		sum->value = ct_add(sum->value, values[d->space]);
		sum->count = ct_add(sum->count, values[d->space - 1]);
		add_detail(d, (size_t)(sum - d->stacks.list), i);
		d->bytes = ct_add(d->bytes, values[d->space]);
		d->blocks = ct_add(d->blocks, values[d->space - 1]);
		free(stack);
	}
	ct_own_free(o);
	return 0;
}

static void release_dump(struct ct_leak_dump *d)
{
	ct_own_stack_release(&d->stacks);
	free(d->details);
	ct_model_free(d->p);
}

static int read_dump(struct ct_leak_dump *d, const char *file)
{
	*d = (struct ct_leak_dump){ .p = ct_load_file(file), .file = file };
	if (!d->p)
		return -1;
	d->space = d->p->type_count ? ct_model_default_type(d->p) : 0;
	if (!d->space || strcmp(ct_text(d->p, d->p->types[d->space].unit), "bytes") != 0) {
		fprintf(stderr,
			"cprof leaks: %s is no heap profile; \"cprof run --heap -- COMMAND\" makes "
			"one\n",
			file);
		return -1;
	}
	d->is_sampled = ct_sampling_is_sampled(d->p, d->space);
	return sum_up(d);
}

static int by_time(const void *x, const void *y)
{
	const struct ct_leak_dump *a = x, *b = y;

	return (a->p->time_nanos > b->p->time_nanos) - (a->p->time_nanos < b->p->time_nanos);
}

/* Returns when dump P was written. The time of a heap file is that moment, and it has no
 * duration; files of other profilers may have a start and a duration. */
static int64_t end_of(const struct ct_profile *p)
{
	return ct_add(p->time_nanos, p->duration_nanos);
}

static int by_end(const void *x, const void *y)
{
	const struct ct_leak_dump *a = x, *b = y;
	int64_t m = end_of(a->p), n = end_of(b->p);

	return m == n ? by_time(x, y) : m > n ? 1 : -1;
}

/* Returns the sum of the values with an age of LEAST or more. */
static double sum_from(const double by_age[CT_LEAK_AGES], unsigned least)
{
	double sum = 0;

	for (unsigned i = least; i < CT_LEAK_AGES; i++)
		sum += by_age[i];
	return sum;
}

static double variance_of(const struct ct_leak_detail *d)
{
	return d->ageless + sum_from(d->variance, 0);
}

/* Returns the part of the variances FIRST and LAST, by age and without one, that belongs to the
 * change between the dumps. Blocks that are in both dumps are in both with the same value, so only
 * those that came or went count: of LAST, the blocks that are younger than the time between the
 * dumps; of FIRST, all but those that are still there. A power of two that covers both kinds counts
 * as young. */
static double of_change(const struct ct_leaks *l, double first, const double last[CT_LEAK_AGES],
			double last_ageless)
{
	double seconds = l->minutes * 60, old;
	unsigned least = 1;

	while (least < CT_LEAK_AGES && ldexp(1, (int)least - 1) < seconds)
		least++;
	old = sum_from(last, least);
	return last_ageless + sum_from(last, 0) - old + fmax(first - old, 0);
}

static double size_of_row(const struct ct_leaks *l, const struct ct_leak_row *r)
{
	return l->count > 1 ? r->grown : (double)r->bytes;
}

static int by_size(const void *x, const void *y, void *leaks)
{
	double a = size_of_row(leaks, x), b = size_of_row(leaks, y);
	bool few = ((const struct ct_leak_row *)x)->is_few;

	if (few != ((const struct ct_leak_row *)y)->is_few)
		return few ? 1 : -1;
	if (a != b)
		return a > b ? -1 : 1;
	return strcmp(((const struct ct_leak_row *)x)->stack,
		      ((const struct ct_leak_row *)y)->stack);
}

static const struct ct_leak_detail *detail_of(struct ct_leak_dump *d, const char *stack,
					      double *bytes)
{
	static const struct ct_leak_detail none;
	struct ct_sum *sum = ct_own_stack_sum(&d->stacks, stack);
	size_t i = (size_t)(sum - d->stacks.list);

	*bytes = (double)sum->value;
	return i < d->detail_count ? &d->details[i] : &none;
}

/* Sets R's growth from the first dump to the last, and its variance by sampling. Returns the
 * variance by blocks that come and go. */
static double compare_with_first(const struct ct_leaks *l, struct ct_leak_row *r)
{
	double bytes;
	const struct ct_leak_detail *before = detail_of(&l->dumps[0], r->stack, &bytes);

	r->grown = (double)r->bytes - bytes;
	r->variance = of_change(l, variance_of(before), r->detail->variance, r->detail->ageless);
	if (l->dumps[l->count - 1].has_ages)
		return of_change(l, before->ageless_turnover + sum_from(before->turnover, 0),
				 r->detail->turnover, r->detail->ageless_turnover);
	/* It is unknown which blocks came, so the age is that of the growth. */
	return r->blocks > 0 && r->grown > 0 ? r->grown * (double)r->bytes / (double)r->blocks : 0;
}

static bool is_beyond(const struct ct_leak_row *r, double variance)
{
	return r->bytes > 0 && r->grown > 0 && r->grown > DEVIATIONS * sqrt(variance);
}

/* ---- the trend of three dumps or more ----
 *
 * The slope is the median of the slopes between each dump and the one that comes half of all dumps
 * later (Theil's incomplete method), so no single dump decides. What fills and empties swings
 * around this line, often for many dumps in one direction, and errors that are not independent of
 * each other don't become smaller with their number. So the error of the growth is taken from the
 * whole swing, the distance from the lowest to the highest dump after the trend is taken off:
 * growth is beyond chance only if it is a multiple of the swing, a larger one where few dumps tell
 * of the swing. */

#define FEW_DUMPS 6	     /* with fewer dumps, a swing can't be told from a growth */
#define SWING_DEVIATIONS 1.5 /* deviations within a swing */

/* Returns the chance that Student's t of K degrees of freedom is between -T and T. */
static double chance_within(double t, size_t k)
{
	double all = (double)k + t * t, square = (double)k / all, sine = t / sqrt(all), sum = 0;
	double term = k % 2 ? sqrt(square) : 1;

	for (size_t i = k % 2; i + 2 <= k; i += 2) {
		sum += term;
		term *= square * ((double)i + 1) / ((double)i + 2);
	}
	return k % 2 ? M_2_PI * (asin(sine) + sine * sum) : sine * sum;
}

/* Returns Student's quantile for COUNT dumps that corresponds to the normal quantile Z. */
static double quantile(double z, size_t count)
{
	double low = z, high = 100 * z; /* for three dumps it is 79 times Z, if Z is 3 */

	for (int i = 0; i < 40; i++) {
		double middle = (low + high) / 2;

		if (chance_within(middle, count - 2) < erf(z / M_SQRT2))
			low = middle;
		else
			high = middle;
	}
	return high;
}

static double time_of(const struct ct_leaks *l, size_t i)
{
	/* Dumps without times are in the order of the operands. */
	return l->minutes > 0
		       ? ((double)end_of(l->dumps[i].p) - (double)end_of(l->dumps[0].p)) / 60e9
		       : (double)i;
}

static int by_value(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return (a > b) - (a < b);
}

/* Returns the growth per unit of time; BYTES has the bytes of each dump. */
static double slope_of(const struct ct_leaks *l, const double *bytes)
{
	size_t half = (l->count + 1) / 2, n = 0;
	double *slopes = ct_memory_alloc(l->count * sizeof(*slopes)), median = 0;

	for (size_t i = 0; i + half < l->count; i++) {
		double passed = time_of(l, i + half) - time_of(l, i);

		if (passed > 0)
			slopes[n++] = (bytes[i + half] - bytes[i]) / passed;
	}
	qsort(slopes, n, sizeof(*slopes), by_value);
	if (n)
		median = (slopes[(n - 1) / 2] + slopes[n / 2]) / 2;
	free(slopes);
	return median;
}

static double swing_of(const struct ct_leaks *l, const double *bytes, double slope)
{
	double low = bytes[0], high = bytes[0];

	for (size_t i = 1; i < l->count; i++) {
		double rest = bytes[i] - slope * time_of(l, i);

		low = fmin(low, rest);
		high = fmax(high, rest);
	}
	return high - low;
}

/* Have blocks stayed, as those of a leak do? In a leak that always grows, half of the growth is
 * older than half of the time. Blocks that pass through a queue are young. */
static bool has_stayed(const struct ct_leaks *l, const struct ct_leak_row *r)
{
	unsigned least = 1;

	if (!l->dumps[l->count - 1].has_ages)
		return true;
	while (least + 1 < CT_LEAK_AGES && ldexp(1, (int)least - 1) < l->minutes * 60 / 4)
		least++;
	return sum_from(r->detail->bytes, least) > r->grown / 4;
}

static bool never_less(const struct ct_leaks *l, const double *bytes)
{
	bool never = true;

	for (size_t i = 1; i < l->count; i++)
		never &= bytes[i] >= bytes[i - 1];
	return never;
}

/* Did R probably grow: is its error smaller than the growth? */
static bool is_likely(const struct ct_leak_row *r)
{
	return r->bytes > 0 && r->grown > CT_SAMPLING_95 * sqrt(r->variance);
}

/* Returns whether R has grown; it is unsure where chance may explain it. */
static bool follow_trend(struct ct_leaks *l, struct ct_leak_row *r)
{
	double *bytes = ct_memory_alloc(l->count * sizeof(*bytes)), slope, deviation;
	bool has_stayed_on, has_grown, rises;

	for (size_t i = 0; i < l->count; i++)
		detail_of(&l->dumps[i], r->stack, &bytes[i]);
	compare_with_first(l, r);
	slope = slope_of(l, bytes);
	r->grown = slope * time_of(l, l->count - 1);
	deviation = swing_of(l, bytes, slope) / SWING_DEVIATIONS;
	has_stayed_on = has_stayed(l, r);
	has_grown = is_beyond(r, r->variance) && has_stayed_on;
	/* A queue that fills also rises. */
	rises = has_grown && l->count <= FEW_DUMPS && never_less(l, bytes);
	free(bytes);
	/* The same error as the one that is shown. */
	r->variance += pow(deviation * quantile(CT_SAMPLING_95, l->count) / CT_SAMPLING_95, 2);
	if (has_grown && r->grown > quantile(DEVIATIONS, l->count) * deviation)
		return true;
	r->is_few = rises || (has_stayed_on && is_likely(r));
	return r->is_few;
}

/* The same for two dumps. */
static bool compare_two(const struct ct_leaks *l, struct ct_leak_row *r)
{
	double turnover = compare_with_first(l, r);

	r->is_few = !is_beyond(r, r->variance + turnover);
	return is_likely(r);
}

static bool is_shown(struct ct_leaks *l, struct ct_leak_row *r)
{
	return l->count == 1 || (l->count == 2 ? compare_two(l, r) : follow_trend(l, r));
}

static void make_rows(struct ct_leaks *l)
{
	struct ct_leak_dump *first = &l->dumps[0], *last = &l->dumps[l->count - 1];

	l->minutes = ((double)end_of(last->p) - (double)end_of(first->p)) / 60e9;
	l->rows = ct_memory_alloc((last->stacks.count + 1) * sizeof(*l->rows));
	for (size_t i = 0; i < last->stacks.count; i++) {
		const struct ct_sum *sum = &last->stacks.list[i];
		struct ct_leak_row *r = &l->rows[l->row_count];

		*r = (struct ct_leak_row){ .stack = sum->name,
					   .bytes = sum->value,
					   .blocks = sum->count,
					   .detail = &last->details[i] };
		r->variance = variance_of(r->detail);
		if (!is_shown(l, r))
			continue;
		l->few += r->is_few;
		l->row_count++;
		l->has_errors |= r->variance > 0;
	}
	qsort_r(l->rows, l->row_count, sizeof(*l->rows), by_size, l);
}

static bool is_of_memory_in_use(const struct ct_leak_dump *d)
{
	return ct_model_type(d->p, "inuse_space") < d->p->type_count;
}

/* Leaves out the views beside the dumps (NAME.peak.EXT and its like), which NAME.*.EXT names, too.
 * Views alone stay. */
static void leave_out_views(struct ct_leaks *l)
{
	size_t dumps = 0, kept = 0;
	const char *view = NULL;

	for (size_t i = 0; i < l->count; i++)
		dumps += is_of_memory_in_use(&l->dumps[i]);
	if (!dumps || dumps == l->count)
		return;
	for (size_t i = 0; i < l->count; i++) {
		if (is_of_memory_in_use(&l->dumps[i])) {
			l->dumps[kept++] = l->dumps[i];
			continue;
		}
		view = l->dumps[i].file;
		release_dump(&l->dumps[i]);
	}
	fprintf(stderr, "cprof leaks: without %s%s: no dump of the memory in use\n", view,
		l->count - kept > 1 ? " and others" : "");
	l->count = kept;
}

int ct_leak_rows_make(struct ct_leaks *l, char *const *files, size_t count)
{
	*l = (struct ct_leaks){ .dumps = ct_memory_alloc(count * sizeof(*l->dumps)) };
	for (size_t i = 0; i < count; i++) {
		l->count++;
		if (read_dump(&l->dumps[i], files[i]))
			return -1;
	}
	leave_out_views(l);
	for (size_t i = 1; i < l->count; i++)
		if (!ct_flame_sides_same_types(l->dumps[0].p, l->dumps[0].file, l->dumps[i].p,
					       l->dumps[i].file))
			return -1;
	qsort(l->dumps, l->count, sizeof(*l->dumps), by_end);
	make_rows(l);
	return 0;
}

void ct_leak_rows_release(struct ct_leaks *l)
{
	for (size_t i = 0; i < l->count; i++)
		release_dump(&l->dumps[i]);
	free(l->dumps);
	free(l->rows);
}
