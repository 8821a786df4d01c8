/* SPDX-License-Identifier: BSD-3-Clause */
/* The gate: did something grow above the limit, and can these profiles tell? See diff.h.
 *
 * A growth counts only if chance doesn't explain it. With several files on each side, Welch's test
 * says so; with -scope=function it tests many functions at once, so p is corrected for their number
 * (Holm). With one file on a side, the sampling's own chance is known. Where a sample more or less
 * decides, the total is not judged at all, and a function's growth may be chance.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diff/diff.h"

/* A smaller limit demands exact counts, so it needs no more samples than this one. */
#define FINEST_LIMIT 0.01

static bool grew(const struct ct_diff *d, const struct ct_diff_figure *f)
{
	return d->limits.fail_over >= 0 && f->mean[CT_AFTER] > 0 &&
	       f->mean[CT_AFTER] > f->mean[CT_BEFORE] * (1 + d->limits.fail_over);
}

bool ct_diff_verdict_is_worth(const struct ct_diff *d, const struct ct_diff_figure *f)
{
	for (int side = 0; side < 2; side++)
		if (f->mean[side] > 0 && f->mean[side] >= d->limits.min * d->total.mean[side])
			return true;
	return false;
}

/* ---- the total ---- */

/* Returns what one sample of SIDE's files represents; 0 if their totals don't depend on when the
 * samples came. */
static double sample_of(const struct ct_diff *d, unsigned side)
{
	double sum = 0;

	for (size_t i = 0; i < d->file_count; i++)
		if (d->files[i].side == side && d->files[i].by_time && d->files[i].sample > 0)
			sum += d->files[i].sample * d->files[i].scale;
	return sum / (double)d->files_of[side];
}

/* Samples come at times, so a run's total is a sample too high or too low by chance. Returns the
 * error of the mean of F on SIDE. */
static double error_of(const struct ct_diff *d, const struct ct_diff_figure *f, unsigned side)
{
	/* A wall profile covers a thread's whole life, so its total has no such error. */
	if (f == &d->total && !strcmp(d->type, "wall"))
		return 0;
	return sample_of(d, side) / sqrt((double)d->files_of[side]);
}

static double limit_of(const struct ct_diff *d)
{
	return fmax(d->limits.fail_over, FINEST_LIMIT);
}

static bool has_few_samples(const struct ct_diff *d, const struct ct_diff_figure *f, unsigned side)
{
	return error_of(d, f, side) > limit_of(d) * f->mean[side];
}

/* Would another sample on each side change the answer, and are there too few of them? */
static bool is_too_coarse(const struct ct_diff *d, const struct ct_diff_figure *f)
{
	double before = f->mean[CT_BEFORE], after = f->mean[CT_AFTER];
	double b = error_of(d, f, CT_BEFORE), a = error_of(d, f, CT_AFTER);
	double factor = 1 + d->limits.fail_over;

	if (after - a > factor * (before + b) || after + a <= factor * (before - b))
		return false;
	return has_few_samples(d, f, CT_BEFORE) || has_few_samples(d, f, CT_AFTER);
}

static enum ct_diff_verdict judge_total(const struct ct_diff *d)
{
	if (d->limits.fail_over < 0)
		return CT_FINE;
	if (is_too_coarse(d, &d->total) ||
	    (grew(d, &d->total) && ct_diff_test_by_chance(&d->total)))
		return CT_TOO_FEW;
	if (!grew(d, &d->total))
		return CT_FINE;
	return isnan(d->total.p) || d->total.p < d->limits.alpha ? CT_REGRESSION : CT_BY_CHANCE;
}

/* ---- functions ---- */

static struct ct_diff_figure *figure_of(const struct ct_diff *d, struct ct_diff_row *row)
{
	return &row->figure[d->limits.by_cum ? CT_CUM : CT_FLAT];
}

struct test {
	struct ct_diff_row *row;
	double p;
};

static int by_p(const void *x, const void *y)
{
	const struct test *a = x, *b = y;

	return (a->p > b->p) - (a->p < b->p);
}

/* Returns the tests of the functions that are judged, those with the smallest p first. The caller
 * frees them. */
static struct test *tests_of(struct ct_diff *d, size_t *count)
{
	struct test *tests = ct_memory_realloc(NULL, d->row_count + 1, sizeof(*tests));

	*count = 0;
	for (size_t i = 0; i < d->row_count; i++) {
		const struct ct_diff_figure *f = figure_of(d, &d->rows[i]);

		if (ct_diff_verdict_is_worth(d, f))
			tests[(*count)++] = (struct test){ &d->rows[i], isnan(f->p) ? 0 : f->p };
	}
	qsort(tests, *count, sizeof(*tests), by_p);
	return tests;
}

/* Holm's correction: the k-th smallest of N probabilities must be below alpha / (N - k), and all
 * smaller ones, too. Then alpha is the chance of any false alarm, not that of each function. */
static void judge_functions(struct ct_diff *d)
{
	bool significant = true;
	size_t count;
	struct test *tests = tests_of(d, &count);

	for (size_t k = 0; k < count; k++) {
		struct ct_diff_row *row = tests[k].row;
		const struct ct_diff_figure *f = figure_of(d, row);

		significant = significant && tests[k].p < d->limits.alpha / (double)(count - k);
		if (!grew(d, f))
			continue;
		row->regressed = !is_too_coarse(d, f) &&
				 (isnan(f->p) ? !ct_diff_test_by_chance(f) : significant);
		d->functions_regressed += row->regressed;
		d->functions_by_chance += !row->regressed;
	}
	d->functions_judged = count;
	free(tests);
}

void ct_diff_verdict_judge(struct ct_diff *d)
{
	if (!d->limits.by_function) {
		d->verdict = judge_total(d);
		return;
	}
	judge_functions(d);
	d->verdict = d->functions_regressed				       ? CT_REGRESSION
		     : d->limits.fail_over >= 0 && is_too_coarse(d, &d->total) ? CT_TOO_FEW
		     : d->functions_by_chance				       ? CT_BY_CHANCE
									       : CT_FINE;
}

/* ---- the words ---- */

const char *ct_diff_verdict_word(const struct ct_diff *d)
{
	static const char *const words[] = { [CT_FINE] = "fine",
					     [CT_REGRESSION] = "REGRESSION",
					     [CT_BY_CHANCE] = "undecided",
					     [CT_TOO_FEW] = "undecided" };

	return words[d->verdict];
}

/* Few bytes were allocated: the variance limits the certainty, not the times of the samples. */
static char *few_by_chance(const struct ct_diff *d)
{
	double change = 100 * d->total.chance / d->total.mean[CT_BEFORE];

	return ct_memory_printf(
		"undecided: total %+.1f%%, above the limit of +%.4g%%, but sampling alone may "
		"change it by %.1f%%: sample more often (for a heap profile "
		"CPROF_HEAP_INTERVAL=1 counts exactly)",
		100 * (d->total.mean[CT_AFTER] / d->total.mean[CT_BEFORE] - 1),
		100 * d->limits.fail_over, change);
}

static char *few_samples(const struct ct_diff *d)
{
	unsigned side = has_few_samples(d, &d->total, CT_BEFORE) ? CT_BEFORE : CT_AFTER;
	double files = (double)d->files_of[side], one = sample_of(d, side);
	double need = ceil(1 / (limit_of(d) * sqrt(files)) - 1e-9);
	const char *rate = strcmp(d->type, "cpu") == 0
				   ? ": CPUPROFILE_FREQUENCY=4000 CPROF_CPU_ENGINE=perf"
				   : "";

	return ct_memory_printf(
		"undecided: only %.3g sample%s in a run %s: a limit of +%.4g%% needs %.0f%s; let "
		"it run longer, repeat its work, or sample more often%s",
		d->total.mean[side] / one, d->total.mean[side] / one == 1 ? "" : "s",
		side == CT_BEFORE ? "before" : "after", 100 * d->limits.fail_over, need,
		files > 1 ? " in each" : "", rate);
}

static char *total_text(const struct ct_diff *d)
{
	double before = d->total.mean[CT_BEFORE];
	double growth = 100 * (d->total.mean[CT_AFTER] / before - 1);

	if (d->verdict == CT_TOO_FEW)
		return is_too_coarse(d, &d->total) ? few_samples(d) : few_by_chance(d);
	if (d->verdict == CT_BY_CHANCE)
		return ct_memory_printf(
			"undecided: total %+.1f%%, above the limit of +%.4g%%, but within chance "
			"(p = %.3f): these runs can tell growth of %+.1f%% or more; more runs on "
			"each side can detect smaller growth",
			growth, 100 * d->limits.fail_over, d->total.p, 100 * d->telling / before);
	return ct_memory_printf("%s: total %+.1f%%, limit +%.4g%%", ct_diff_verdict_word(d), growth,
				100 * d->limits.fail_over);
}

static char *functions_text(const struct ct_diff *d)
{
	char *more = d->functions_by_chance
			     ? ct_memory_printf("; %zu more may be chance", d->functions_by_chance)
			     : ct_memory_strdup("");
	char *text = ct_memory_printf("%s: %zu function%s above the limit of +%.4g%%%s (of %zu)",
				      ct_diff_verdict_word(d), d->functions_regressed,
				      d->functions_regressed == 1 ? "" : "s",
				      100 * d->limits.fail_over, more, d->functions_judged);

	free(more);
	return text;
}

char *ct_diff_verdict_text(const struct ct_diff *d)
{
	if (d->limits.fail_over < 0)
		return NULL;
	return d->limits.by_function && d->verdict != CT_TOO_FEW ? functions_text(d)
								 : total_text(d);
}
