/* What functions cost on both sides, and whether that is a regression. See diff.h. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diff.h"
#include "memory.h"
#include "regex.h"

static void add(struct ct_diff_file *file, enum ct_diff_value what, uint32_t frame, double value,
		int64_t samples)
{
	file->sums[what][frame] += value;
	file->samples[what][frame] += samples;
}

/* A function that is several times in a stack has the sample's value once. */
static void take_samples(struct ct_diff *d, struct ct_diff_file *file,
			 const struct ct_frames_of *of, size_t type)
{
	const struct ct_profile *p = of->profile;
	bool counts = strcmp(ct_text(p, p->types[0].unit), "count") == 0;
	size_t *last = ct_alloc((d->frames.count + 1) * sizeof(*last));
	uint32_t *stack = NULL;
	size_t room = 0;

	for (size_t i = 0; i < p->sample_count; i++) {
		const int64_t *values = ct_values(p, i);
		size_t depth = ct_frames_stack(of, &p->samples[i], &stack, &room);
		int64_t samples = counts ? values[0] : 1;

		file->total += (double)values[type];
		if (depth)
			add(file, CT_FLAT, stack[depth - 1], (double)values[type], samples);
		for (size_t j = 0; j < depth; j++) {
			if (last[stack[j]] == i + 1)
				continue;
			last[stack[j]] = i + 1;
			add(file, CT_CUM, stack[j], (double)values[type], samples);
		}
	}
	free(last);
	free(stack);
}

static int refuse(const char *name, const char *type, const char *why)
{
	fprintf(stderr, "cprof diff: %s %s: %s\n", name, why, type);
	return -1;
}

int ct_diff_take(struct ct_diff *d, const struct ct_profile *p, size_t type, const char *name,
		 unsigned side)
{
	const char *type_name = ct_text(p, p->types[type].type);
	struct ct_diff_file *file;
	struct ct_frames_of of;

	for (size_t i = 0; i < p->sample_count; i++)
		if (ct_values(p, i)[type] < 0)
			return refuse(name, type_name, "holds values below zero");
	d->files = ct_realloc(d->files, d->file_count + 1, sizeof(*d->files));
	file = &d->files[d->file_count++];
	*file = (struct ct_diff_file){ .name = name, .side = side };
	d->files_of[side]++;
	ct_frames_take(&d->frames, p, &of);
	file->frame_count = d->frames.count;
	for (int i = 0; i < 2; i++) {
		file->sums[i] = ct_alloc((file->frame_count + 1) * sizeof(double));
		file->samples[i] = ct_alloc((file->frame_count + 1) * sizeof(int64_t));
	}
	take_samples(d, file, &of, type);
	ct_frames_of_release(&of);
	if (!(file->total > 0) || !isfinite(file->total))
		return refuse(name, type_name, "holds no samples");
	return 0;
}

/* Values of all files in the order of the files, the side before in front. */
struct values {
	double *list[2];
	size_t count[2];
	int64_t samples;
};

static void compare(struct ct_diff_figure *f, const struct values *v)
{
	for (int side = 0; side < 2; side++) {
		f->mean[side] = ct_diff_mean(v->list[side], v->count[side]);
		f->spread[side] = ct_diff_spread(v->list[side], v->count[side]);
	}
	f->p = ct_diff_welch(v->list[0], v->count[0], v->list[1], v->count[1]);
	f->samples = v->samples;
}

/* What a file's values are multiplied with. */
static double scale_of(const struct ct_diff *d, const struct ct_diff_file *file)
{
	double sum = 0;

	if (!d->limits.normalize)
		return 1;
	for (size_t i = 0; i < d->file_count; i++)
		if (d->files[i].side == CT_BEFORE)
			sum += d->files[i].total;
	return sum / (double)d->files_of[CT_BEFORE] / file->total;
}

static void compare_row(const struct ct_diff *d, struct ct_diff_row *row, enum ct_diff_value what,
			struct values *v)
{
	v->count[0] = v->count[1] = 0;
	v->samples = 0;
	for (size_t i = 0; i < d->file_count; i++) {
		const struct ct_diff_file *file = &d->files[i];
		bool has = row->frame < file->frame_count;

		v->list[file->side][v->count[file->side]++] =
			has ? file->sums[what][row->frame] * scale_of(d, file) : 0;
		v->samples += has ? file->samples[what][row->frame] : 0;
	}
	compare(&row->figure[what], v);
}

static void compare_totals(struct ct_diff *d, struct values *v)
{
	v->count[0] = v->count[1] = 0;
	v->samples = 0;
	for (size_t i = 0; i < d->file_count; i++) {
		const struct ct_diff_file *file = &d->files[i];

		v->list[file->side][v->count[file->side]++] = file->total * scale_of(d, file);
	}
	compare(&d->total, v);
}

/* Is it more than the limit, and (where there are files enough to tell) not by chance? */
static bool is_regression(const struct ct_diff *d, const struct ct_diff_figure *f)
{
	if (d->limits.fail_over < 0 || f->mean[CT_AFTER] <= 0)
		return false;
	if (f->mean[CT_AFTER] <= f->mean[CT_BEFORE] * (1 + d->limits.fail_over))
		return false;
	return isnan(f->p) || f->p < d->limits.alpha;
}

static bool is_worth(const struct ct_diff *d, const struct ct_diff_figure *f)
{
	for (int side = 0; side < 2; side++)
		if (f->mean[side] > 0 && f->mean[side] >= d->limits.min * d->total.mean[side])
			return true;
	return false;
}

static void judge_row(struct ct_diff *d, struct ct_diff_row *row)
{
	const struct ct_diff_figure *f = &row->figure[d->limits.by_cum ? CT_CUM : CT_FLAT];

	row->regressed = d->limits.by_function && is_worth(d, f) && is_regression(d, f);
	d->regressed = d->regressed || row->regressed;
}

int ct_diff_judge(struct ct_diff *d)
{
	struct values v = { .list = { ct_alloc((d->files_of[0] + 1) * sizeof(double)),
				      ct_alloc((d->files_of[1] + 1) * sizeof(double)) } };
	struct ct_regex *ignore = NULL;

	if (d->limits.ignore)
		ignore = ct_regex_new("ignore", d->limits.ignore);
	if (!d->limits.ignore || ignore) {
		compare_totals(d, &v);
		d->total_regressed = !d->limits.by_function && is_regression(d, &d->total);
		d->regressed = d->total_regressed;
		d->rows = ct_alloc((d->frames.count + 1) * sizeof(*d->rows));
		for (size_t i = 0; i < d->frames.count; i++) {
			struct ct_diff_row *row = &d->rows[d->row_count];

			row->frame = i;
			if (ignore && ct_regex_match(ignore, ct_frame_name(&d->frames, i)))
				continue;
			compare_row(d, row, CT_FLAT, &v);
			compare_row(d, row, CT_CUM, &v);
			/* With its callees it is never less than alone. */
			if (!is_worth(d, &row->figure[CT_CUM]))
				continue;
			judge_row(d, row);
			d->row_count++;
		}
	}
	free(v.list[0]);
	free(v.list[1]);
	if (d->limits.ignore && !ignore)
		return -1;
	ct_regex_free(ignore);
	return 0;
}

struct order {
	const struct ct_diff *d;
	enum ct_diff_value value;
};

static int by_change(const void *a, const void *b, void *context)
{
	const struct order *o = context;
	const struct ct_diff_row *x = &o->d->rows[*(const uint32_t *)a];
	const struct ct_diff_row *y = &o->d->rows[*(const uint32_t *)b];
	double m = fabs(x->figure[o->value].mean[1] - x->figure[o->value].mean[0]);
	double n = fabs(y->figure[o->value].mean[1] - y->figure[o->value].mean[0]);

	if (m != n)
		return m > n ? -1 : 1;
	return strcmp(ct_frame_name(&o->d->frames, x->frame),
		      ct_frame_name(&o->d->frames, y->frame));
}

uint32_t *ct_diff_order(const struct ct_diff *d, enum ct_diff_value value)
{
	uint32_t *order = ct_realloc(NULL, d->row_count + 1, sizeof(*order));

	for (size_t i = 0; i < d->row_count; i++)
		order[i] = i;
	qsort_r(order, d->row_count, sizeof(*order), by_change, &(struct order){ d, value });
	return order;
}

char *ct_diff_change(const struct ct_diff_figure *f)
{
	if (f->mean[CT_BEFORE] > 0 && f->mean[CT_AFTER] > 0)
		return ct_printf("%+.1f%%", 100 * (f->mean[CT_AFTER] / f->mean[CT_BEFORE] - 1));
	if (f->mean[CT_AFTER] > 0)
		return ct_printf("0 -> %" PRId64 " samples", f->samples);
	if (f->mean[CT_BEFORE] > 0)
		return ct_printf("%" PRId64 " -> 0 samples", f->samples);
	return ct_strdup("0.0%");
}

void ct_diff_release(struct ct_diff *d)
{
	for (size_t i = 0; i < d->file_count; i++) {
		for (int j = 0; j < 2; j++) {
			free(d->files[i].sums[j]);
			free(d->files[i].samples[j]);
		}
	}
	free(d->files);
	free(d->rows);
	ct_frames_release(&d->frames);
}
