/* SPDX-License-Identifier: BSD-3-Clause */
/* `cprof leaks`: shows which stacks hold the memory that is in use at the end or, with several
 * dumps, which of them grew. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "verbs/verbs.h"

#define FEW_SHOWN 3		   /* number of shown stacks whose growth is unsure */
#define STACK_WITHOUT_TERMINAL 160 /* columns */
#define COLUMNS_BEFORE_ONE 45
#define COLUMNS_BEFORE_SEVERAL 47
#define COLUMNS_ERROR 8 /* width of the column for the sampling error */
#define COLUMNS_AGE 6	/* width of the column for the age */
#define ERROR_WIDTH 7	/* in columns; the sign takes two bytes */

static struct {
	long rows;
} my = { .rows = 10 };

static const struct ct_option options[] = {
	CT_INTEGER("nodecount", "N", &my.rows, "stacks shown (10; 0: all)"), CT_END
};
static const struct ct_option *const tables[] = { options, ct_own_options, ct_times_window_options,
						  ct_short_name_options, NULL };

/* Returns the columns left for a stack after BEFORE columns; 0: any number. */
static size_t room_for_stack(size_t before)
{
	size_t columns = ct_short_name_columns();

	if (ct_short_name_never())
		return 0;
	if (!columns || !ct_short_name_on_terminal())
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

/* Prints a stack. Its end is cut, because the innermost functions matter most. Returns whether it
 * was cut. */
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

/* Returns the width of the optional columns. */
static size_t more_columns(const struct ct_leaks *l)
{
	const struct ct_leak_dump *last = &l->dumps[l->count - 1];

	return (l->has_errors ? COLUMNS_ERROR : 0) + (last->has_ages ? COLUMNS_AGE : 0);
}

static void put_error(const struct ct_leaks *l, double value, double variance)
{
	char error[CT_NUMBER_ROOM];
	int width;

	if (!l->has_errors)
		return;
	ct_sampling_format(error, sizeof(error), value, variance);
	/* The sign is one column of two bytes. */
	width = ERROR_WIDTH + (*error ? 1 : 0);
	printf(" %*s", width, error);
}

/* Writes the age that half of R's bytes have reached, as "8s" or "2h". */
static void put_age(const struct ct_leaks *l, const struct ct_leak_row *r)
{
	static const struct {
		double seconds;
		char unit;
	} units[] = { { 86400, 'd' }, { 3600, 'h' }, { 60, 'm' }, { 1, 's' } };
	double all = 0, older = 0, seconds;
	char text[CT_NUMBER_ROOM] = "";
	unsigned i = CT_LEAK_AGES, u = 0;

	if (!l->dumps[l->count - 1].has_ages)
		return;
	for (unsigned k = 0; k < CT_LEAK_AGES; k++)
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

static bool put_held(const struct ct_leaks *l, const struct ct_leak_row *r)
{
	char bytes[CT_NUMBER_ROOM], share[CT_NUMBER_ROOM], mean[CT_NUMBER_ROOM];

	printf("%10s", bytes_text(bytes, (double)r->bytes));
	put_error(l, (double)r->bytes, r->variance);
	printf(" %s %10lld %10s", ct_numbers_percent(share, r->bytes, l->dumps[0].bytes),
	       (long long)r->blocks,
	       r->detail->blocks > 0 ? bytes_text(mean, (double)r->bytes / r->detail->blocks) : "");
	put_age(l, r);
	fputs("  ", stdout);
	return put_stack(r->stack, COLUMNS_BEFORE_ONE + more_columns(l));
}

static bool put_grown(const struct ct_leaks *l, const struct ct_leak_row *r)
{
	char more[CT_NUMBER_ROOM], rate[CT_NUMBER_ROOM], bytes[CT_NUMBER_ROOM];

	printf("%10s", bytes_text(more, r->grown));
	put_error(l, r->grown, r->variance);
	printf(" %10s %10s %10lld", l->minutes > 0 ? bytes_text(rate, r->grown / l->minutes) : "",
	       bytes_text(bytes, (double)r->bytes), (long long)r->blocks);
	put_age(l, r);
	fputs("  ", stdout);
	return put_stack(r->stack, COLUMNS_BEFORE_SEVERAL + more_columns(l));
}

/* Heap profiles of other profilers, and peak files, have other types. */
static const char *what_of(const struct ct_leak_dump *d)
{
	const char *type = ct_text(d->p, d->p->types[d->space].type);

	if (!strcmp(type, "peak_space"))
		return "In use at the peak";
	return !strcmp(type, "alloc_space") || !strcmp(type, "total_space") ? "Allocated in all"
									    : "In use";
}

static void leaks_heading(const struct ct_leaks *l)
{
	const struct ct_leak_dump *first = &l->dumps[0], *last = &l->dumps[l->count - 1];
	char a[CT_NUMBER_ROOM], b[CT_NUMBER_ROOM], c[CT_NUMBER_ROOM], d[CT_NUMBER_ROOM];

	if (l->count == 1) {
		printf("%s: %s in %lld block%s\n", what_of(last),
		       bytes_text(a, (double)last->bytes), (long long)last->blocks,
		       last->blocks == 1 ? "" : "s");
		if (!l->row_count)
			return;
		printf("%s%10s%s %6s %10s %10s%s  %s%s\n", ct_out_paint(CT_DIM), "in use",
		       l->has_errors ? "   error" : "", "share", "blocks", "each",
		       last->has_ages ? "   age" : "", "where", ct_out_paint(CT_PLAIN));
		return;
	}
	printf("In use: %s, then %s: %s %s in %s, %zu dumps\n", bytes_text(a, (double)first->bytes),
	       bytes_text(b, (double)last->bytes),
	       bytes_text(c, fabs((double)last->bytes - (double)first->bytes)),
	       last->bytes < first->bytes ? "less" : "more",
	       ct_numbers_format(d, ct_numbers_clamp(l->minutes * 60e9), "nanoseconds", "auto"),
	       l->count);
	if (l->row_count == l->few)
		printf("No stack grew by more than chance explains.\n");
	if (l->row_count)
		printf("%s%10s%s %10s %10s %10s%s  %s%s\n", ct_out_paint(CT_DIM), "grew",
		       l->has_errors ? "   error" : "", "a minute", "in use", "blocks",
		       last->has_ages ? "   age" : "", "where", ct_out_paint(CT_PLAIN));
}

static const char *plural(size_t n)
{
	return n == 1 ? "" : "s";
}

/* Shows rows FROM to before END, at most MOST. Returns whether a stack was cut. */
static bool put_rows(const struct ct_leaks *l, size_t from, size_t end, size_t most)
{
	size_t shown = most && most < end - from ? most : end - from;
	bool cut = false;

	for (size_t i = from; i < from + shown; i++)
		cut |= l->count == 1 ? put_held(l, &l->rows[i]) : put_grown(l, &l->rows[i]);
	if (from + shown < end)
		printf("%zu more stack%s\n", end - from - shown, plural(end - from - shown));
	return cut;
}

/* Returns whether nothing was in use in the only dump, as where a program frees all at its end;
 * then names the file of its high water. */
static bool say_nothing_in_use(const struct ct_leaks *l)
{
	const struct ct_leak_dump *d = &l->dumps[0];
	const char *extension = ct_run_show_extension(d->file);
	char *peak, *word;

	if (l->count > 1 || d->bytes || l->row_count)
		return false;
	peak = ct_memory_printf("%.*s.peak%s", (int)(extension - d->file), d->file, extension);
	word = ct_out_word(peak);
	if (!access(peak, R_OK))
		fprintf(stderr,
			"cprof: hint: nothing sampled was in use then; at the high water: "
			"cprof leaks %s\n",
			word);
	free(word);
	free(peak);
	return true;
}

static int print_leaks(const struct ct_leaks *l)
{
	size_t sure = l->row_count - l->few;
	size_t within = l->dumps[l->count - 1].stacks.count - l->row_count;
	struct ct_resident resident;
	bool has_table = false, cut;
	int status;

	ct_out_begin();
	leaks_heading(l);
	cut = put_rows(l, 0, sure, (size_t)my.rows);
	if (l->few) {
		puts("Unsure, perhaps chance or in use for a moment (a later dump tells):");
		cut |= put_rows(l, sure, l->row_count, my.rows ? FEW_SHOWN : 0);
	}
	if (cut)
		puts("\342\200\246: the stack goes on; -full-names shows all of it");
	if (l->count > 1 && within)
		printf("%zu other%s: no growth beyond chance\n", within, plural(within));
	if (ct_resident_read(l->dumps[l->count - 1].p, &resident)) {
		putchar('\n');
		ct_resident_print(&resident, l->dumps[l->count - 1].variance);
		has_table = true;
	}
	status = ct_out_end();
	if (!say_nothing_in_use(l) && has_table)
		ct_resident_hint(l->dumps[l->count - 1].p, &resident);
	if (l->count == 1)
		ct_siblings_say(l->dumps[0].p, l->dumps[0].file);
	return status;
}

static int verb_leaks(int argc, char **argv)
{
	struct ct_leaks l;
	int status = ct_leak_rows_make(&l, argv, (size_t)argc) ? CT_FAILED : print_leaks(&l);

	ct_leak_rows_release(&l);
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
		"\"cprof dump\", or at intervals) the stacks are shown that grew by more than "
		"chance\n"
		"explains: of two by more than sampling and a few blocks in use for a moment, of "
		"more\n"
		"by their trend, beyond what it swings by. The columns \"error\" (how far the "
		"value "
		"is\n"
		"from the truth at most, in 95 of 100 cases) and \"age\" (what half of the bytes "
		"have\n"
		"reached) are there where they are known. Last comes what the resident memory of "
		"the\n"
		"process consisted of.\n",
	.tables = tables,
	.wanted = "a heap profile is needed",
	.least = 1,
	.run = verb_leaks,
};
