/* SPDX-License-Identifier: BSD-3-Clause */
/* The values of functions on both sides, and whether a change is a regression. See diff.h. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diff/diff.h"
#include "core/report.h"

static void add_value(struct ct_diff_file *file, enum ct_diff_value what, uint32_t frame,
		      double value, int64_t samples)
{
	file->sums[what][frame] += value;
	file->samples[what][frame] += samples;
}

/* Returns the frame of a sample's innermost own function, or CT_NONE. */
static uint32_t own_frame(struct ct_own *o, const struct ct_frames_of *of,
			  const struct ct_sample *s)
{
	const struct ct_profile *p = of->profile;

	for (uint32_t k = 0; k < s->depth; k++) {
		uint32_t location = ct_frames(p, s)[k];
		const struct ct_location *l = &p->locations[location];
		int line = ct_own_line(o, l);

		if (line >= 0)
			return of->frames[of->first[location] + (uint32_t)line];
	}
	return CT_NONE;
}

/* Counts a sample once for a function, even if the function is on its stack several times. */
static void take_samples(struct ct_diff *d, struct ct_diff_file *file,
			 const struct ct_frames_of *of, size_t type, struct ct_own *own)
{
	const struct ct_profile *p = of->profile;
	bool counts = strcmp(ct_text(p, p->types[0].type), "samples") == 0;
	size_t *last = ct_memory_alloc((d->frames.count + 1) * sizeof(*last));
	uint32_t *stack = NULL;
	size_t room = 0;

	for (size_t i = 0; i < p->sample_count; i++) {
		const int64_t *values = ct_values(p, i);
		size_t depth = ct_flame_frames_stack(of, &p->samples[i], &stack, &room);
		int64_t samples = counts ? values[0] : 0;
		uint32_t mine = own ? own_frame(own, of, &p->samples[i]) : CT_NONE;

		file->total += (double)values[type];
		if (depth)
			add_value(file, CT_FLAT, stack[depth - 1], (double)values[type], samples);
		if (mine != CT_NONE) {
			add_value(file, CT_OWN, mine, (double)values[type], samples);
			d->has_own |= mine != stack[depth - 1];
		}
		for (size_t j = 0; j < depth; j++) {
			if (last[stack[j]] == i + 1)
				continue;
			last[stack[j]] = i + 1;
			add_value(file, CT_CUM, stack[j], (double)values[type], samples);
		}
	}
	free(last);
	free(stack);
}

static int refuse_type(const char *name, const char *type, const char *why)
{
	fprintf(stderr, "cprof diff: %s %s: %s\n", name, why, type);
	return -1;
}

static bool has_negative(const struct ct_profile *p, size_t type)
{
	for (size_t i = 0; i < p->sample_count; i++)
		if (ct_values(p, i)[type] < 0)
			return true;
	return false;
}

int ct_diff_rows_take(struct ct_diff *d, const struct ct_profile *p, size_t type, const char *name,
		      unsigned side)
{
	const char *type_name = ct_text(p, p->types[type].type);
	bool with_own = !d->limits.own || *d->limits.own;
	struct ct_own *own = with_own ? ct_own_new(p, d->limits.own) : NULL;
	struct ct_diff_file *file;
	struct ct_frames_of of;

	if (with_own && !own)
		return -1;
	if (has_negative(p, type)) {
		ct_own_free(own);
		return refuse_type(name, type_name, "holds values below zero");
	}

	d->files = ct_memory_realloc(d->files, d->file_count + 1, sizeof(*d->files));
	file = &d->files[d->file_count++];
	*file = (struct ct_diff_file){
		.name = name,
		.side = side,
		.sample = ct_diff_test_sample(p, type),
		.by_time = strcmp(ct_text(p, p->types[type].unit), "bytes") != 0,
	};
	d->files_of[side]++;
	ct_flame_frames_take(&d->frames, p, &of);
	file->frame_count = d->frames.count;
	for (int i = 0; i < CT_DIFF_VALUES; i++) {
		file->sums[i] = ct_memory_alloc((file->frame_count + 1) * sizeof(double));
		file->samples[i] = ct_memory_alloc((file->frame_count + 1) * sizeof(int64_t));
	}
	take_samples(d, file, &of, type, own);
	ct_flame_frames_of_release(&of);
	ct_own_free(own);
	if (!(file->total > 0) || !isfinite(file->total)) {
		refuse_type(name, type_name, "holds no samples");
		ct_siblings_say(p, name);
		return -1;
	}
	return 0;
}

/* The values of all files, those of the side before first. */
struct values {
	double *list[2];
	double variance[2]; /* variances of the sums */
	size_t count[2];
	int64_t samples;
};

static void compare_values(struct ct_diff_figure *f, const struct values *v)
{
	for (int side = 0; side < 2; side++) {
		f->mean[side] = ct_diff_test_mean(v->list[side], v->count[side]);
		f->spread[side] = ct_diff_test_spread(v->list[side], v->count[side]);
	}
	f->p = ct_diff_test_welch(v->list[0], v->count[0], v->list[1], v->count[1]);
	f->samples = v->samples;
	f->chance = ct_diff_test_chance(
		(const double[]){ v->variance[0] / ((double)v->count[0] * (double)v->count[0]),
				  v->variance[1] / ((double)v->count[1] * (double)v->count[1]) });
}

static void clear_values(struct values *v)
{
	for (int side = 0; side < 2; side++) {
		v->count[side] = 0;
		v->variance[side] = 0;
	}
	v->samples = 0;
}

/* Returns the factor for a file's values. */
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

static void put_row(const struct ct_diff *d, struct values *v, const struct ct_diff_file *file,
		    double value)
{
	double scale = file->scale;

	v->list[file->side][v->count[file->side]++] = value * scale;
	v->variance[file->side] += ct_diff_test_variance(file, value) * scale * scale;
}

static void compare_row(const struct ct_diff *d, struct ct_diff_row *row, enum ct_diff_value what,
			struct values *v)
{
	clear_values(v);
	for (size_t i = 0; i < d->file_count; i++) {
		const struct ct_diff_file *file = &d->files[i];
		bool has = row->frame < file->frame_count;

		put_row(d, v, file, has ? file->sums[what][row->frame] : 0);
		v->samples += has ? file->samples[what][row->frame] : 0;
	}
	compare_values(&row->figure[what], v);
}

static void compare_totals(struct ct_diff *d, struct values *v)
{
	clear_values(v);
	for (size_t i = 0; i < d->file_count; i++)
		put_row(d, v, &d->files[i], d->files[i].total);
	compare_values(&d->total, v);
	d->telling = ct_diff_test_telling(v->list[0], v->count[0], v->list[1], v->count[1],
					  d->limits.alpha);
}

int ct_diff_rows_make(struct ct_diff *d)
{
	struct values v = { .list = { ct_memory_alloc((d->files_of[0] + 1) * sizeof(double)),
				      ct_memory_alloc((d->files_of[1] + 1) * sizeof(double)) } };
	struct ct_regex *ignore = NULL;

	if (d->limits.ignore)
		ignore = ct_regex_new("ignore", d->limits.ignore);
	if (!d->limits.ignore || ignore) {
		for (size_t i = 0; i < d->file_count; i++)
			d->files[i].scale = scale_of(d, &d->files[i]);
		compare_totals(d, &v);
		d->rows = ct_memory_alloc((d->frames.count + 1) * sizeof(*d->rows));
		for (size_t i = 0; i < d->frames.count; i++) {
			struct ct_diff_row *row = &d->rows[d->row_count];

			row->frame = i;
			if (ignore && ct_regex_match(ignore, ct_frame_name(&d->frames, i)))
				continue;
			compare_row(d, row, CT_FLAT, &v);
			compare_row(d, row, CT_CUM, &v);
			compare_row(d, row, CT_OWN, &v);
			/* The value with callees is never less than the value alone. */
			d->row_count += ct_diff_verdict_is_worth(d, &row->figure[CT_CUM]);
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

uint32_t *ct_diff_rows_order(const struct ct_diff *d, enum ct_diff_value value)
{
	uint32_t *order = ct_memory_realloc(NULL, d->row_count + 1, sizeof(*order));

	for (size_t i = 0; i < d->row_count; i++)
		order[i] = i;
	qsort_r(order, d->row_count, sizeof(*order), by_change, &(struct order){ d, value });
	return order;
}

char *ct_diff_rows_change(const struct ct_diff_figure *f)
{
	const char *chance = ct_diff_test_by_chance(f) ? " chance?" : "";

	if (f->mean[CT_BEFORE] > 0 && f->mean[CT_AFTER] > 0)
		return ct_memory_printf("%+.1f%%%s",
					100 * (f->mean[CT_AFTER] / f->mean[CT_BEFORE] - 1), chance);
	if (!f->samples && f->mean[CT_AFTER] != f->mean[CT_BEFORE])
		return ct_memory_printf("%s%s", f->mean[CT_AFTER] > 0 ? "new" : "gone", chance);
	if (f->mean[CT_AFTER] > 0)
		return ct_memory_printf("0 -> %" PRId64 " samples%s", f->samples, chance);
	if (f->mean[CT_BEFORE] > 0)
		return ct_memory_printf("%" PRId64 " -> 0 samples%s", f->samples, chance);
	return ct_memory_strdup("0.0%");
}

void ct_diff_rows_release(struct ct_diff *d)
{
	for (size_t i = 0; i < d->file_count; i++) {
		for (int j = 0; j < CT_DIFF_VALUES; j++) {
			free(d->files[i].sums[j]);
			free(d->files[i].samples[j]);
		}
	}
	free(d->files);
	free(d->rows);
	ct_flame_frames_release(&d->frames);
}
