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
#include "core/resident.h"
#include "core/sampling.h"
#include "core/short_name.h"
#include "flame/flame_sides.h"
#include "verbs/own_stack.h"

/* A growth by this many standard deviations isn't chance. */
#define DEVIATIONS 3
#define FEW_SHOWN 3		   /* stacks with few blocks more */
#define STACK_WITHOUT_TERMINAL 160 /* columns */
#define COLUMNS_BEFORE_ONE 45
#define COLUMNS_BEFORE_SEVERAL 47
#define COLUMNS_ERROR 8 /* of the column for the sampling error */
#define COLUMNS_AGE 6	/* of the column for the age */
#define ERROR_WIDTH 7	/* in columns; the sign takes two bytes */

#define AGES 65 /* a count for each power of two seconds, and one for blocks of under a second */

static struct {
	const char *own;
	long rows;
} my = { .rows = 10 };

static const struct ct_option options[] = {
	CT_TEXT("own", "REGEX", &my.own, "your code: functions and modules that match"),
	CT_INTEGER("nodecount", "N", &my.rows, "stacks shown (10; 0: all)"), CT_END
};

/* What is known of a stack's bytes besides their number, by age. */
struct detail {
	double bytes[AGES], variance[AGES]; /* [0] is under a second, [n] from 2^(n-1) seconds on */
	double ageless;			    /* variance of the bytes whose age isn't known */
	/* The same of the number of blocks, if they come and go at random: the sum of the squares
	 * of their sizes. */
	double turnover[AGES], ageless_turnover;
};

struct dump {
	struct ct_profile *p;
	const char *file;
	size_t space; /* index of the type in bytes; the type in blocks is before it */
	struct ct_sums stacks;
	struct detail *details; /* one for each of STACKS */
	size_t detail_count, detail_room;
	int64_t bytes, blocks;
	bool has_ages, is_sampled;
};

struct row {
	const char *stack;
	int64_t first, bytes, blocks; /* values in the first dump, and in the last */
	const struct detail *detail;  /* in the last dump */
	double variance; /* of the bytes or, with several dumps, of the change by sampling */
	double turnover; /* variance of the change by blocks that come and go */
	/* Has grown by few blocks, which may be in use for a moment only. */
	bool is_few;
};

struct leaks {
	struct dump *dumps; /* the oldest first */
	size_t count;
	struct row *rows;
	size_t row_count; /* the last FEW are of stacks with few blocks more */
	size_t few;
	double minutes; /* time from the first dump to the last */
};

/* Returns the index in a detail of sample I's age, or -1. */
static int age_of(const struct ct_profile *p, size_t i)
{
	const struct ct_label_set *set = &p->label_sets[p->samples[i].label_set];

	for (uint32_t k = 0; k < set->count; k++) {
		const struct ct_label *l = &p->labels[set->first + k];

		if (!l->text && l->number >= 0 && !strcmp(ct_text(p, l->key), "age") &&
		    !strcmp(ct_text(p, l->unit), "seconds"))
			return l->number ? 64 - __builtin_clzll((unsigned long long)l->number) : 0;
	}
	return -1;
}

static void add_detail(struct dump *d, size_t stack, size_t i)
{
	double bytes = (double)ct_values(d->p, i)[d->space];
	double blocks = (double)ct_values(d->p, i)[d->space - 1];
	double variance = d->is_sampled ? ct_sampling_variance(d->p, i, d->space) : 0;
	double turnover = blocks > 0 ? bytes * bytes / blocks : 0;
	int age = age_of(d->p, i);
	struct detail *detail;

	while (d->detail_count <= stack)
		*CT_PUSH(d->details, d->detail_count, d->detail_room) = (struct detail){ 0 };
	detail = &d->details[stack];
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
		add_detail(d, (size_t)(sum - d->stacks.list), i);
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
	d->is_sampled = ct_sampling_is_sampled(d->p, d->space);
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

/* Returns the sum of what has an age of LEAST or more. */
static double sum_from(const double by_age[AGES], unsigned least)
{
	double sum = 0;

	for (unsigned i = least; i < AGES; i++)
		sum += by_age[i];
	return sum;
}

static double variance_of(const struct detail *d)
{
	return d->ageless + sum_from(d->variance, 0);
}

/* Returns the part of the variances FIRST and LAST, by age and without one, that belongs to the
 * change between the dumps. Blocks that are in both dumps are in both with the same value, so only
 * those that came or went count: of LAST, the blocks that are younger than the time between the
 * dumps; of FIRST, all but those that are still there. A power of two that covers both kinds counts
 * as young. */
static double of_change(const struct leaks *l, double first, const double last[AGES],
			double last_ageless)
{
	double seconds = l->minutes * 60, old;
	unsigned least = 1;

	while (least < AGES && ldexp(1, (int)least - 1) < seconds)
		least++;
	old = sum_from(last, least);
	return last_ageless + sum_from(last, 0) - old + fmax(first - old, 0);
}

static double size_of_row(const struct leaks *l, const struct row *r)
{
	return l->count > 1 ? (double)r->bytes - (double)r->first : (double)r->bytes;
}

static int by_size(const void *x, const void *y, void *leaks)
{
	double a = size_of_row(leaks, x), b = size_of_row(leaks, y);
	bool few = ((const struct row *)x)->is_few;

	if (few != ((const struct row *)y)->is_few)
		return few ? 1 : -1;
	if (a != b)
		return a > b ? -1 : 1;
	return strcmp(((const struct row *)x)->stack, ((const struct row *)y)->stack);
}

static void compare_with(const struct leaks *l, struct row *r, struct dump *first)
{
	static const struct detail none;
	struct ct_sum *sum = ct_own_stack_sum(&first->stacks, r->stack);
	size_t i = (size_t)(sum - first->stacks.list);
	const struct detail *before = i < first->detail_count ? &first->details[i] : &none;

	r->first = sum->value;
	r->variance = of_change(l, variance_of(before), r->detail->variance, r->detail->ageless);
	r->turnover = of_change(l, before->ageless_turnover + sum_from(before->turnover, 0),
				r->detail->turnover, r->detail->ageless_turnover);
}

static bool is_beyond(const struct row *r, double variance)
{
	double grown = (double)r->bytes - (double)r->first;

	return r->bytes > r->first && grown > DEVIATIONS * sqrt(variance);
}

static void make_rows(struct leaks *l)
{
	struct dump *first = &l->dumps[0], *last = &l->dumps[l->count - 1];

	l->minutes = ((double)end_of(last->p) - (double)end_of(first->p)) / 60e9;
	l->rows = ct_memory_alloc((last->stacks.count + 1) * sizeof(*l->rows));
	for (size_t i = 0; i < last->stacks.count; i++) {
		const struct ct_sum *sum = &last->stacks.list[i];
		struct row *r = &l->rows[l->row_count];

		*r = (struct row){ .stack = sum->name,
				   .bytes = sum->value,
				   .blocks = sum->count,
				   .detail = &last->details[i] };
		r->variance = variance_of(r->detail);
		if (l->count > 1)
			compare_with(l, r, first);
		if (l->count > 1 && !is_beyond(r, r->variance))
			continue;
		r->is_few = l->count > 1 && !is_beyond(r, r->variance + r->turnover);
		l->few += r->is_few;
		l->row_count++;
	}
	qsort_r(l->rows, l->row_count, sizeof(*l->rows), by_size, l);
}

/* Returns the columns that there are for a stack after BEFORE columns; 0: any number. */
static size_t room_for_stack(size_t before)
{
	size_t columns = ct_short_name_columns();

	if (ct_short_name_never())
		return 0;
	if (!columns)
		return STACK_WITHOUT_TERMINAL;
	return columns > before ? columns - before : 0;
}

/* Returns the length in bytes of the first N columns of TEXT, one less if that isn't all of it. */
static size_t cut_at(const char *text, size_t n)
{
	const char *c = text;

	for (; *c && n; c++)
		n -= ((unsigned char)c[1] & 0xc0) != 0x80;
	if (*c)
		do
			c--;
		while (((unsigned char)*c & 0xc0) == 0x80);
	return (size_t)(c - text);
}

/* The innermost functions matter most, so the end is cut. Returns whether it was. */
static bool put_stack(const char *stack, size_t before)
{
	size_t room = room_for_stack(before), n = room ? cut_at(stack, room) : strlen(stack);
	char *shown = ct_memory_printf("%.*s%s", (int)n, stack, stack[n] ? "\342\200\246" : "");
	bool is_cut = stack[n];

	ct_out_text(stdout, shown);
	putchar('\n');
	free(shown);
	return is_cut;
}

static char *bytes_text(char *to, double bytes)
{
	return ct_numbers_format(to, ct_numbers_clamp(round(bytes)), "bytes", "auto");
}

/* Returns the columns that the optional ones take. */
static size_t more_columns(const struct leaks *l)
{
	const struct dump *last = &l->dumps[l->count - 1];

	return (last->is_sampled ? COLUMNS_ERROR : 0) + (last->has_ages ? COLUMNS_AGE : 0);
}

static void put_error(const struct leaks *l, double value, double variance)
{
	char error[CT_NUMBER_ROOM];
	int width;

	if (!l->dumps[l->count - 1].is_sampled)
		return;
	ct_sampling_format(error, sizeof(error), value, variance);
	/* The sign is one column of two bytes. */
	width = ERROR_WIDTH + (*error ? 1 : 0);
	printf(" %*s", width, error);
}

/* Writes the age that half of R's bytes have reached, as "8s" or "2h". */
static void put_age(const struct leaks *l, const struct row *r)
{
	static const struct {
		double seconds;
		char unit;
	} units[] = { { 86400, 'd' }, { 3600, 'h' }, { 60, 'm' }, { 1, 's' } };
	double all = 0, older = 0, seconds;
	char text[CT_NUMBER_ROOM] = "";
	unsigned i = AGES, u = 0;

	if (!l->dumps[l->count - 1].has_ages)
		return;
	for (unsigned k = 0; k < AGES; k++)
		all += r->detail->bytes[k];
	while (all > 0 && i > 0 && older < all / 2)
		older += r->detail->bytes[--i];
	seconds = i ? ldexp(1, (int)i - 1) : 0;
	while (u < 3 && seconds < units[u].seconds)
		u++;
	if (all > 0 && !i)
		snprintf(text, sizeof(text), "<1s");
	else if (all > 0)
		snprintf(text, sizeof(text), "%.0f%c", floor(seconds / units[u].seconds),
			 units[u].unit);
	printf(" %5s", text);
}

static bool put_held(const struct leaks *l, const struct row *r)
{
	char bytes[CT_NUMBER_ROOM], share[CT_NUMBER_ROOM], mean[CT_NUMBER_ROOM];

	printf("%10s", bytes_text(bytes, (double)r->bytes));
	put_error(l, (double)r->bytes, r->variance);
	printf(" %s %10lld %10s", ct_numbers_percent(share, r->bytes, l->dumps[0].bytes),
	       (long long)r->blocks,
	       r->blocks ? bytes_text(mean, (double)r->bytes / (double)r->blocks) : "");
	put_age(l, r);
	fputs("  ", stdout);
	return put_stack(r->stack, COLUMNS_BEFORE_ONE + more_columns(l));
}

static bool put_grown(const struct leaks *l, const struct row *r)
{
	double grown = (double)r->bytes - (double)r->first;
	char more[CT_NUMBER_ROOM], rate[CT_NUMBER_ROOM], bytes[CT_NUMBER_ROOM];

	printf("%10s", bytes_text(more, grown));
	put_error(l, grown, r->variance);
	printf(" %10s %10s %10lld", l->minutes > 0 ? bytes_text(rate, grown / l->minutes) : "",
	       bytes_text(bytes, (double)r->bytes), (long long)r->blocks);
	put_age(l, r);
	fputs("  ", stdout);
	return put_stack(r->stack, COLUMNS_BEFORE_SEVERAL + more_columns(l));
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
		printf("%s%10s%s %6s %10s %10s%s  %s%s\n", ct_out_paint(CT_DIM), "in use",
		       last->is_sampled ? "   error" : "", "share", "blocks", "each",
		       last->has_ages ? "   age" : "", "where", ct_out_paint(CT_PLAIN));
		return;
	}
	printf("In use: %s, then %s: %s %s in %.3g minutes, %zu dumps\n",
	       bytes_text(a, (double)first->bytes), bytes_text(b, (double)last->bytes),
	       bytes_text(c, fabs((double)last->bytes - (double)first->bytes)),
	       last->bytes < first->bytes ? "less" : "more", l->minutes, l->count);
	if (l->row_count == l->few)
		printf("No stack grew by more than chance explains.\n");
	else
		printf("%s%10s%s %10s %10s %10s%s  %s%s\n", ct_out_paint(CT_DIM), "grew",
		       last->is_sampled ? "   error" : "", "a minute", "in use", "blocks",
		       last->has_ages ? "   age" : "", "where", ct_out_paint(CT_PLAIN));
}

static const char *plural(size_t n)
{
	return n == 1 ? "" : "s";
}

/* Shows rows FROM to before END, at most MOST. Returns whether a stack was cut. */
static bool put_rows(const struct leaks *l, size_t from, size_t end, size_t most)
{
	size_t shown = most && most < end - from ? most : end - from;
	bool cut = false;

	for (size_t i = from; i < from + shown; i++)
		cut |= l->count == 1 ? put_held(l, &l->rows[i]) : put_grown(l, &l->rows[i]);
	if (from + shown < end)
		printf("%zu more stack%s\n", end - from - shown, plural(end - from - shown));
	return cut;
}

static int print(const struct leaks *l)
{
	size_t sure = l->row_count - l->few;
	size_t within = l->dumps[l->count - 1].stacks.count - l->row_count;
	struct ct_resident resident;
	bool has_table = false, cut;
	int status;

	ct_short_name_columns();
	ct_out_begin();
	heading(l);
	cut = put_rows(l, 0, sure, (size_t)my.rows);
	if (l->few) {
		printf("Few blocks more, maybe in use for a moment (a later dump tells):\n");
		cut |= put_rows(l, sure, l->row_count, my.rows ? FEW_SHOWN : 0);
	}
	if (cut)
		puts("\342\200\246: the stack goes on; -full-names shows all of it");
	if (l->count > 1 && within)
		printf("%zu other%s: no growth beyond chance\n", within, plural(within));
	if (ct_resident_read(l->dumps[l->count - 1].p, &resident)) {
		putchar('\n');
		ct_resident_print(&resident);
		has_table = true;
	}
	status = ct_out_end();
	if (has_table)
		ct_resident_hint(&resident);
	return status;
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
		free(l.dumps[i].details);
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
		"the last by more than the sampling lets them vary. The columns \"error\" (how "
		"far\n"
		"a sampled value is from the truth at most, in 95 of 100 cases) and \"age\" (what\n"
		"half of the bytes have reached) are there where the file has them. Last comes "
		"what\n"
		"the resident memory of the process consisted of.\n",
	.run = run,
};
