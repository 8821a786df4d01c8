/* SPDX-License-Identifier: BSD-3-Clause */
/* `cprof leaks`: shows which stacks hold the memory that is in use at the end or, with several
 * dumps, which of them grew. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/numbers.h"
#include "core/options.h"
#include "core/out.h"
#include "core/read.h"
#include "core/short_name.h"
#include "flame/flame_sides.h"
#include "verbs/own_stack.h"

/* A growth by this many standard deviations of the sampling isn't chance. */
#define DEVIATIONS 3
#define COLUMNS_BEFORE_ONE 45
#define COLUMNS_BEFORE_SEVERAL 47

static struct {
	const char *own;
	long rows;
} my = { .rows = 10 };

static const struct ct_option options[] = {
	CT_TEXT("own", "REGEX", &my.own, "your code: functions and modules that match"),
	CT_INTEGER("nodecount", "N", &my.rows, "stacks shown (10; 0: all)"), CT_END
};

struct dump {
	struct ct_profile *p;
	const char *file;
	size_t space; /* index of the type in bytes; the type in blocks is before it */
	struct ct_sums stacks;
	int64_t bytes, blocks;
};

struct row {
	const char *stack;
	int64_t first, bytes, blocks; /* values in the first dump, and in the last */
	double noise; /* change that sampling alone may cause in a stack that didn't grow */
};

struct leaks {
	struct dump *dumps; /* the oldest first */
	size_t count;
	struct row *rows;
	size_t row_count;
	double minutes; /* time from the first dump to the last */
};

static int sum_up(struct dump *d)
{
	struct ct_own *o = ct_own_new(d->p, my.own);

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
		d->bytes = ct_add(d->bytes, values[d->space]);
		d->blocks = ct_add(d->blocks, values[d->space - 1]);
		free(stack);
	}
	ct_own_free(o);
	return 0;
}

static int read_dump(struct dump *d, const char *file)
{
	*d = (struct dump){ .p = ct_read_source(file), .file = file };
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
	return sum_up(d);
}

static int by_time(const void *x, const void *y)
{
	const struct dump *a = x, *b = y;

	return (a->p->time_nanos > b->p->time_nanos) - (a->p->time_nanos < b->p->time_nanos);
}

/* Returns when dump P was written. A heap file's time is the start of the run; the dumps of one run
 * differ by how long the run had lasted. */
static int64_t end_of(const struct ct_profile *p)
{
	return ct_add(p->time_nanos, p->duration_nanos);
}

static int by_end(const void *x, const void *y)
{
	const struct dump *a = x, *b = y;
	int64_t m = end_of(a->p), n = end_of(b->p);

	return m == n ? by_time(x, y) : m > n ? 1 : -1;
}

/* Returns the standard deviation of a row's sum. Each sampled byte represents one interval of
 * bytes, so the deviation of a sum of B bytes is sqrt(B * interval). */
static double noise_of(const struct leaks *l, const struct row *r)
{
	double interval = (double)l->dumps[l->count - 1].p->period;

	if (interval <= 1)
		return 0;
	return DEVIATIONS * sqrt((double)ct_add(r->first, r->bytes) * interval);
}

static double size_of_row(const struct leaks *l, const struct row *r)
{
	return l->count > 1 ? (double)r->bytes - (double)r->first : (double)r->bytes;
}

static int by_size(const void *x, const void *y, void *leaks)
{
	double a = size_of_row(leaks, x), b = size_of_row(leaks, y);

	if (a != b)
		return a > b ? -1 : 1;
	return strcmp(((const struct row *)x)->stack, ((const struct row *)y)->stack);
}

static void make_rows(struct leaks *l)
{
	struct dump *first = &l->dumps[0], *last = &l->dumps[l->count - 1];

	l->rows = ct_memory_alloc((last->stacks.count + 1) * sizeof(*l->rows));
	for (size_t i = 0; i < last->stacks.count; i++) {
		const struct ct_sum *sum = &last->stacks.list[i];
		struct row *r = &l->rows[l->row_count];

		*r = (struct row){ .stack = sum->name, .bytes = sum->value, .blocks = sum->count };
		if (l->count > 1)
			r->first = ct_own_stack_sum(&first->stacks, sum->name)->value;
		r->noise = noise_of(l, r);
		l->row_count += l->count == 1 || (r->bytes > r->first &&
						  (double)r->bytes - (double)r->first > r->noise);
	}
	qsort_r(l->rows, l->row_count, sizeof(*l->rows), by_size, l);
	l->minutes = ((double)end_of(last->p) - (double)end_of(first->p)) / 60e9;
}

/* The innermost functions matter most, so the end is cut. */
static void put_stack(const char *stack, size_t before)
{
	size_t columns = ct_short_name_columns(), n = 0;
	const char *c = stack;

	if (columns <= before) {
		ct_out_text(stdout, stack);
		putchar('\n');
		return;
	}
	for (; *c && n < columns - before; c++)
		n += ((unsigned char)c[1] & 0xc0) != 0x80;
	if (*c && n >= 1) {
		do
			c--;
		while (((unsigned char)*c & 0xc0) == 0x80);
	}
	{
		char *shown = ct_memory_printf("%.*s%s", (int)(c - stack), stack,
					       *c ? "\342\200\246" : "");

		ct_out_text(stdout, shown);
		free(shown);
	}
	putchar('\n');
}

static char *bytes_text(char *to, double bytes)
{
	return ct_numbers_format(to, ct_numbers_clamp(round(bytes)), "bytes", "auto");
}

static void put_held(const struct leaks *l, const struct row *r)
{
	char bytes[CT_NUMBER_ROOM], share[CT_NUMBER_ROOM], mean[CT_NUMBER_ROOM];

	printf("%10s %s %10lld %10s  ", bytes_text(bytes, (double)r->bytes),
	       ct_numbers_percent(share, r->bytes, l->dumps[0].bytes), (long long)r->blocks,
	       r->blocks ? bytes_text(mean, (double)r->bytes / (double)r->blocks) : "");
	put_stack(r->stack, COLUMNS_BEFORE_ONE);
}

static void put_grown(const struct leaks *l, const struct row *r)
{
	double grown = (double)r->bytes - (double)r->first;
	char more[CT_NUMBER_ROOM], rate[CT_NUMBER_ROOM], bytes[CT_NUMBER_ROOM];

	printf("%10s %10s %10s %10lld  ", bytes_text(more, grown),
	       l->minutes > 0 ? bytes_text(rate, grown / l->minutes) : "",
	       bytes_text(bytes, (double)r->bytes), (long long)r->blocks);
	put_stack(r->stack, COLUMNS_BEFORE_SEVERAL);
}

/* Heap profiles of other profilers, and peak files, have other types. */
static const char *what_of(const struct dump *d)
{
	const char *type = ct_text(d->p, d->p->types[d->space].type);

	if (!strcmp(type, "peak_space"))
		return "In use at the peak";
	return !strcmp(type, "alloc_space") || !strcmp(type, "total_space") ? "Allocated in all"
									    : "In use at the end";
}

static void heading(const struct leaks *l)
{
	const struct dump *first = &l->dumps[0], *last = &l->dumps[l->count - 1];
	char a[CT_NUMBER_ROOM], b[CT_NUMBER_ROOM], c[CT_NUMBER_ROOM];

	if (l->count == 1) {
		printf("%s: %s in %lld block%s\n", what_of(last),
		       bytes_text(a, (double)last->bytes), (long long)last->blocks,
		       last->blocks == 1 ? "" : "s");
		printf("%s%10s %6s %10s %10s  %s%s\n", ct_out_paint(CT_DIM), "in use", "share",
		       "blocks", "each", "where", ct_out_paint(CT_PLAIN));
		return;
	}
	printf("In use: %s, then %s: %s %s in %.3g minutes, %zu dumps\n",
	       bytes_text(a, (double)first->bytes), bytes_text(b, (double)last->bytes),
	       bytes_text(c, fabs((double)last->bytes - (double)first->bytes)),
	       last->bytes < first->bytes ? "less" : "more", l->minutes, l->count);
	if (!l->row_count)
		printf("No stack grew by more than what sampling lets it vary.\n");
	else
		printf("%s%10s %10s %10s %10s  %s%s\n", ct_out_paint(CT_DIM), "grew", "a minute",
		       "in use", "blocks", "where", ct_out_paint(CT_PLAIN));
}

static int print(const struct leaks *l)
{
	size_t shown = my.rows && (size_t)my.rows < l->row_count ? (size_t)my.rows : l->row_count;
	size_t within = l->dumps[l->count - 1].stacks.count - l->row_count;

	ct_short_name_columns();
	ct_out_begin();
	heading(l);
	for (size_t i = 0; i < shown; i++) {
		if (l->count == 1)
			put_held(l, &l->rows[i]);
		else
			put_grown(l, &l->rows[i]);
	}
	if (shown < l->row_count)
		printf("%zu more stack%s\n", l->row_count - shown,
		       l->row_count - shown == 1 ? "" : "s");
	if (l->count > 1 && within)
		printf("%zu other%s: no growth beyond what sampling lets vary\n", within,
		       within == 1 ? "" : "s");
	return ct_out_end();
}

static int show(struct leaks *l, char *const *files, size_t count)
{
	l->dumps = ct_memory_alloc(count * sizeof(*l->dumps));
	for (size_t i = 0; i < count; i++) {
		l->count++;
		if (read_dump(&l->dumps[i], files[i]))
			return CT_FAILED;
		if (i &&
		    !ct_flame_sides_same_types(l->dumps[0].p, files[0], l->dumps[i].p, files[i]))
			return CT_FAILED;
	}
	qsort(l->dumps, count, sizeof(*l->dumps), by_end);
	make_rows(l);
	return print(l);
}

static int run(int argc, char **argv)
{
	const struct ct_option *const tables[] = { options, ct_short_name_options, NULL };
	int first = ct_options_parse(&ct_verb_leaks, argc, argv, tables), status;
	struct leaks l = { 0 };

	if (first < 0)
		return ct_options_status(first);
	if (argc == first)
		return ct_options_wrong(&ct_verb_leaks, "a heap profile is needed");
	status = show(&l, argv + first, (size_t)(argc - first));
	for (size_t i = 0; i < l.count; i++) {
		ct_own_stack_release(&l.dumps[i].stacks);
		ct_model_free(l.dumps[i].p);
	}
	free(l.dumps);
	free(l.rows);
	return status;
}

const struct ct_verb ct_verb_leaks = {
	.name = "leaks",
	.operands = "FILE...",
	.summary = "The stacks that hold memory at the end or, with several dumps, that grew",
	.details =
		"FILEs are heap profiles. Stacks are those of your own code, the innermost "
		"function\n"
		"first, without allocators and libraries. Of several dumps of a program (made by\n"
		"\"cprof dump\", or at intervals) the stacks are shown that grew from the first "
		"to\n"
		"the last by more than the sampling lets them vary.\n",
	.run = run,
};
