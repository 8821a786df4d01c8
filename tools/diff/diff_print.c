/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints a comparison as a table: for a terminal, and in Markdown for the page of a pull request.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/report.h"
#include "diff/diff.h"

/* Returns the value whose unit the tables have. */
static int64_t like(const struct ct_diff *d)
{
	return ct_numbers_clamp(fmax(d->total.mean[CT_BEFORE], d->total.mean[CT_AFTER]));
}

/* Returns "1.19 s +-2%", which the caller frees. */
static char *value_text(const struct ct_diff *d, const struct ct_diff_figure *f, int side)
{
	char number[CT_NUMBER_ROOM];

	ct_numbers_text(number, ct_numbers_clamp(f->mean[side]), d->unit, like(d));
	if (d->files_of[side] < 2 || f->mean[side] <= 0)
		return ct_memory_strdup(number);
	return ct_memory_printf("%s \302\261%.0f%%", number, 100 * f->spread[side] / f->mean[side]);
}

static double change_of(const struct ct_diff_figure *f)
{
	return f->mean[CT_AFTER] - f->mean[CT_BEFORE];
}

static char *difference_text(const struct ct_diff *d, const struct ct_diff_figure *f)
{
	char number[CT_NUMBER_ROOM];
	double change = change_of(f);

	ct_numbers_text(number, ct_numbers_clamp(change), d->unit, like(d));
	return ct_memory_printf("%s%s", change > 0 ? "+" : "", number);
}

static char *p_text(const struct ct_diff_figure *f)
{
	if (isnan(f->p))
		return ct_memory_strdup("");
	return f->p < 0.001 ? ct_memory_strdup("<0.001") : ct_memory_printf("%.3f", f->p);
}

/* The cells of a row; the caller frees each. */
#define CELLS 5
struct cells {
	char *text[CELLS];
};

/* Headings of the columns. */
static const char *const headings[CELLS] = { "before", "after", "change", "", "p" };

static struct cells cells_of(const struct ct_diff *d, const struct ct_diff_figure *f)
{
	return (struct cells){ { value_text(d, f, CT_BEFORE), value_text(d, f, CT_AFTER),
				 difference_text(d, f), ct_diff_rows_change(f), p_text(f) } };
}

static void free_cells(struct cells *c)
{
	for (int i = 0; i < CELLS; i++)
		free(c->text[i]);
}

/* Changes are the same if they differ by this share. */
#define SAME_CHANGE 0.02

/* Number of columns between two cells, and before a name. */
#define GAP 2

/* Widths of the columns of all tables, so that each cell fits. */
struct widths {
	int of[CELLS];
	int count; /* columns shown */
};

static void widen_columns(struct widths *w, const struct ct_diff *d, const struct ct_diff_figure *f)
{
	struct cells c = cells_of(d, f);

	for (int i = 0; i < CELLS; i++)
		if ((int)ct_short_name_width(c.text[i]) > w->of[i])
			w->of[i] = (int)ct_short_name_width(c.text[i]);
	free_cells(&c);
}

static void put_cells(const struct ct_diff *d, const struct widths *w,
		      const struct ct_diff_figure *f, const char *paint)
{
	struct cells c = cells_of(d, f);

	for (int i = 0; i < w->count; i++)
		printf("%*s%s%s%s%*s", w->of[i] - (int)ct_short_name_width(c.text[i]), "",
		       i == 2 ? paint : "", c.text[i], i == 3 ? ct_out_paint(CT_PLAIN) : "", GAP,
		       "");
	free_cells(&c);
}

static void put_text(const char *text)
{
	ct_out_text(stdout, text);
}

static void put_name(const char *name, const struct widths *w, size_t after,
		     void (*put)(const char *))
{
	size_t columns = ct_short_name_columns(), used = after;
	char *shown;

	for (int i = 0; i < w->count; i++)
		used += (size_t)(w->of[i] + GAP);
	shown = ct_short_name_fitting(name, columns && used + 10 > columns ? columns - 10 : used);
	put(shown);
	free(shown);
}

static const char *paint_of(const struct ct_diff_figure *f)
{
	double change = change_of(f);

	if (ct_diff_test_by_chance(f))
		return ct_out_paint(CT_PLAIN);
	return ct_out_paint(change > 0 ? CT_RED : change < 0 ? CT_GREEN : CT_PLAIN);
}

/* Did it fail? The verdict's message is printed already. */
static bool regressed(const struct ct_diff *d, const struct ct_diff_row *row,
		      enum ct_diff_value value)
{
	return row->regressed && value == (d->limits.by_cum ? CT_CUM : CT_FLAT);
}

static bool changed(const struct ct_diff_figure *f)
{
	return f->mean[CT_AFTER] != f->mean[CT_BEFORE];
}

static size_t rows_shown(const struct ct_diff *d)
{
	return d->limits.rows == 0 || (size_t)d->limits.rows > d->row_count
		       ? d->row_count
		       : (size_t)d->limits.rows;
}

struct table {
	enum ct_diff_value value;
	const char *heading;
};

/* The user's own code comes first if there is some. */
static const struct table tables[] = {
	{ CT_OWN, "your code, with the libraries that it calls" },
	{ CT_FLAT, "all functions, own value" },
	{ CT_CUM, "all functions, total with callees" },
};

#define TABLES (sizeof(tables) / sizeof(*tables))

/* May chance explain the change? Then only -all shows it. */
static bool is_noise(const struct ct_diff *d, const struct ct_diff_figure *f)
{
	return isnan(f->p) ? ct_diff_test_by_chance(f) : f->p >= d->limits.alpha;
}

/* Does the value with callees say again what the total says, as those of main and of a thread's
 * first functions do, or what the function's own value says? */
static bool is_repeated(const struct ct_diff *d, const struct ct_diff_row *row)
{
	double change = change_of(&row->figure[CT_CUM]), all = change_of(&d->total);

	return fabs(change - all) <= SAME_CHANGE * fabs(all) ||
	       fabs(change - change_of(&row->figure[CT_FLAT])) <= SAME_CHANGE * fabs(change);
}

/* Calls SEE for each row that a table shows. Returns whether there is one. */
static bool each_row(const struct ct_diff *d, enum ct_diff_value value,
		     void (*see)(const struct ct_diff *, const struct ct_diff_row *,
				 enum ct_diff_value, void *),
		     void *context)
{
	uint32_t *order = ct_diff_rows_order(d, value);
	size_t shown = 0;

	for (size_t i = 0; i < d->row_count && shown < rows_shown(d); i++) {
		const struct ct_diff_row *row = &d->rows[order[i]];
		const struct ct_diff_figure *f = &row->figure[value];

		if (!changed(f))
			break;
		if (!d->limits.all && !regressed(d, row, value) &&
		    (is_noise(d, f) || (value == CT_CUM && is_repeated(d, row))))
			continue;
		see(d, row, value, context);
		shown++;
	}
	free(order);
	return shown;
}

static void see_width(const struct ct_diff *d, const struct ct_diff_row *row,
		      enum ct_diff_value value, void *widths)
{
	widen_columns(widths, d, &row->figure[value]);
}

static void see_chance(const struct ct_diff *d, const struct ct_diff_row *row,
		       enum ct_diff_value value, void *any)
{
	(void)d;
	*(bool *)any |= ct_diff_test_by_chance(&row->figure[value]);
}

static void see_any(const struct ct_diff *d, const struct ct_diff_row *row,
		    enum ct_diff_value value, void *context)
{
	(void)d, (void)row, (void)value, (void)context;
}

static bool is_shown(const struct ct_diff *d, const struct table *t)
{
	return (t->value != CT_OWN || d->has_own) && each_row(d, t->value, see_any, NULL);
}

static struct widths widths_of(const struct ct_diff *d)
{
	bool has_p = d->files_of[0] > 1 && d->files_of[1] > 1;
	struct widths w = { .count = has_p ? CELLS : CELLS - 1 };

	for (int i = 0; i < CELLS; i++)
		w.of[i] = (int)strlen(headings[i]);
	widen_columns(&w, d, &d->total);
	for (size_t t = 0; t < TABLES; t++)
		if (is_shown(d, &tables[t]))
			each_row(d, tables[t].value, see_width, &w);
	return w;
}

/* Returns the explanation of the mark of some rows, or NULL. */
static const char *about_chance(const struct ct_diff *d)
{
	bool any = ct_diff_test_by_chance(&d->total);

	for (size_t t = 0; t < TABLES; t++)
		if (is_shown(d, &tables[t]))
			each_row(d, tables[t].value, see_chance, &any);
	return any ? "chance?: the sampling alone may differ as much; several runs of each side "
		     "tell: cprof diff BEFORE... -- AFTER..."
		   : NULL;
}

static void put_row(const struct ct_diff *d, const struct ct_diff_row *row,
		    enum ct_diff_value value, void *widths)
{
	const struct ct_diff_figure *f = &row->figure[value];
	const char *after = regressed(d, row, value) ? "  REGRESSION" : "";

	put_cells(d, widths, f, paint_of(f));
	put_name(ct_frame_name(&d->frames, row->frame), widths, strlen(after), put_text);
	puts(after);
}

/* Says so if no table has a row. BEFORE: what stands before the line. */
static void say_unchanged(const struct ct_diff *d, const char *before)
{
	bool any = false;

	for (size_t t = 0; t < TABLES; t++)
		any |= is_shown(d, &tables[t]);
	if (!any)
		printf("%sno function changed by more than chance; -all shows all changes\n",
		       before);
}

static void put_table(const struct ct_diff *d, const struct table *t, struct widths *w)
{
	printf("\n%s%s%s\n", ct_out_paint(CT_BOLD), t->heading, ct_out_paint(CT_PLAIN));
	each_row(d, t->value, put_row, w);
}

static bool for_run, only_total;

void ct_diff_print_for_run(bool total)
{
	for_run = true;
	only_total = total;
}

/* One line, and the rows of one table if some changed by more than chance. */
static void print_for_run(const struct ct_diff *d)
{
	const struct table *t = &tables[d->has_own ? 0 : 1];
	bool rows = !only_total && is_shown(d, t);
	struct widths w = widths_of(d);
	struct cells c = cells_of(d, &d->total);
	char *chance = strstr(c.text[3], " chance?");

	fputs("cprof: against the run before, ", stdout);
	put_text(d->files[0].name);
	if (chance && !rows)
		*chance = '\0';
	printf(": %s %s, then %s, %s%s\n", d->type, c.text[0], c.text[1], c.text[3],
	       only_total ? " (waits differ from run to run)"
	       : rows	  ? ""
	       : chance	  ? ", no more than chance explains"
			  : "; no function changed by more than chance explains");
	if (rows)
		each_row(d, t->value, put_row, &w);
	free_cells(&c);
}

void ct_diff_print_text(const struct ct_diff *d)
{
	char *text = ct_diff_verdict_text(d);
	const char *chance = about_chance(d);
	struct widths w = widths_of(d);

	if (for_run) {
		free(text);
		print_for_run(d);
		return;
	}
	if (text)
		printf("%s%s%s\n\n",
		       ct_out_paint(d->verdict == CT_REGRESSION ? CT_RED
				    : d->verdict == CT_FINE	? CT_GREEN
								: CT_BOLD),
		       text, ct_out_paint(CT_PLAIN));
	printf("%s, %zu file%s before, %zu after%s%s\n%s", d->type, d->files_of[0],
	       d->files_of[0] == 1 ? "" : "s", d->files_of[1],
	       d->limits.normalize ? ", scaled to equal totals" : "",
	       w.count == CELLS ? "; p: Welch's t-test" : "", ct_out_paint(CT_DIM));
	for (int i = 0; i < w.count; i++)
		printf("%*s%*s", w.of[i], headings[i], GAP, "");
	puts(ct_out_paint(CT_PLAIN));
	put_cells(d, &w, &d->total, paint_of(&d->total));
	puts("total");
	for (size_t t = 0; t < TABLES; t++)
		if (is_shown(d, &tables[t]))
			put_table(d, &tables[t], &w);
	say_unchanged(d, "");
	if (chance)
		printf("\n%s%s%s\n", ct_out_paint(CT_DIM), chance, ct_out_paint(CT_PLAIN));
	free(text);
}

/* Writes a name as code, so that it contains no markup and is readable even if the Markdown is not
 * rendered. Only a bar would end the table's cell. The fence is longer than any in the name. */
static void put_code(const char *text)
{
	size_t longest = 0, run = 0;
	bool spaced;

	for (const char *c = text; *c; c++) {
		run = *c == '`' ? run + 1 : 0;
		if (run > longest)
			longest = run;
	}
	spaced = longest > 0;
	for (size_t i = 0; i <= longest; i++)
		putchar('`');
	fputs(spaced ? " " : "", stdout);
	for (; *text; text++) {
		if (*text == '|')
			putchar('\\');
		putchar((unsigned char)*text < 0x20 || *text == 0x7f ? ' ' : *text);
	}
	fputs(spaced ? " " : "", stdout);
	for (size_t i = 0; i <= longest; i++)
		putchar('`');
}

static void markdown_cells(const struct ct_diff *d, const struct widths *w,
			   const struct ct_diff_figure *f)
{
	struct cells c = cells_of(d, f);

	for (int i = 0; i < w->count; i++)
		printf("| %*s%s ", w->of[i] - (int)ct_short_name_width(c.text[i]), "", c.text[i]);
	free_cells(&c);
}

static void markdown_heading(const struct widths *w, const char *last)
{
	for (int i = 0; i < w->count; i++)
		printf("| %*s ", w->of[i], headings[i]);
	printf("| %s |\n", last);
	for (int i = 0; i < w->count; i++) {
		fputs("|", stdout);
		for (int k = 0; k <= w->of[i]; k++)
			putchar('-');
		putchar(':');
	}
	puts("|:---|");
}

static void markdown_row(const struct ct_diff *d, const struct ct_diff_row *row,
			 enum ct_diff_value value, void *widths)
{
	const char *strong = regressed(d, row, value) ? "**" : "";

	markdown_cells(d, widths, &row->figure[value]);
	printf("| %s", strong);
	put_name(ct_frame_name(&d->frames, row->frame), widths, 0, put_code);
	printf("%s |\n", strong);
}

static void markdown_table(const struct ct_diff *d, const struct table *t, struct widths *w)
{
	printf("\n**%c%s**\n\n", toupper((unsigned char)t->heading[0]), t->heading + 1);
	markdown_heading(w, "function");
	each_row(d, t->value, markdown_row, w);
}

void ct_diff_print_markdown(const struct ct_diff *d)
{
	char *text = ct_diff_verdict_text(d);
	const char *chance = about_chance(d);
	struct widths w = widths_of(d);

	printf("%s%s%s", text ? "**" : "", text ? text : "", text ? "**\n\n" : "");
	fputs("### Profile: ", stdout);
	put_code(d->type);
	fputs("\n\n", stdout);
	markdown_heading(&w, "");
	markdown_cells(d, &w, &d->total);
	puts("| total |");
	for (size_t t = 0; t < TABLES; t++)
		if (is_shown(d, &tables[t]))
			markdown_table(d, &tables[t], &w);
	say_unchanged(d, "\n");
	if (chance)
		printf("\n%s.\n", chance);
	printf("\nFiles: %zu before, %zu after.%s\n", d->files_of[0], d->files_of[1],
	       d->files_of[0] > 1 && d->files_of[1] > 1
		       ? " \302\261: standard deviation; p: Welch's t-test."
		       : "");
	free(text);
}

/* ---- JSON; values are in the profile's unit ---- */

static void figure(struct ct_json *j, const char *key, const struct ct_diff_figure *f)
{
	double before = f->mean[CT_BEFORE], after = f->mean[CT_AFTER];

	ct_json_open(j, key, '{');
	ct_json_number(j, "before", before);
	ct_json_number(j, "after", after);
	ct_json_number(j, "before_spread", f->spread[CT_BEFORE]);
	ct_json_number(j, "after_spread", f->spread[CT_AFTER]);
	ct_json_number(j, "change", after - before);
	/* null if the value before was 0. */
	ct_json_number(j, "ratio", before > 0 ? after / before : NAN);
	ct_json_number(j, "p", f->p);
	/* null if unknown. */
	ct_json_number(j, "chance", f->chance);
	ct_json_close(j, '}');
}

static void files(struct ct_json *j, const struct ct_diff *d, const char *key, unsigned side)
{
	ct_json_open(j, key, '[');
	for (size_t i = 0; i < d->file_count; i++)
		if (d->files[i].side == side)
			ct_json_text(j, NULL, d->files[i].name);
	ct_json_close(j, ']');
}

static void json_rows(struct ct_json *j, const struct ct_diff *d)
{
	uint32_t *order = ct_diff_rows_order(d, d->limits.by_cum ? CT_CUM : CT_FLAT);

	ct_json_open(j, "functions", '[');
	for (size_t i = 0; i < d->row_count; i++) {
		const struct ct_diff_row *row = &d->rows[order[i]];

		ct_json_open(j, NULL, '{');
		ct_json_text(j, "name", ct_frame_name(&d->frames, row->frame));
		figure(j, "flat", &row->figure[CT_FLAT]);
		figure(j, "cum", &row->figure[CT_CUM]);
		if (d->has_own)
			figure(j, "own", &row->figure[CT_OWN]);
		ct_json_bool(j, "regressed", row->regressed);
		ct_json_close(j, '}');
	}
	ct_json_close(j, ']');
	free(order);
}

void ct_diff_print_json(const struct ct_diff *d)
{
	struct ct_json j = ct_json_to(stdout);

	ct_json_open(&j, NULL, '{');
	ct_json_text(&j, "verdict",
		     d->limits.fail_over < 0	   ? "none"
		     : d->verdict == CT_REGRESSION ? "regression"
		     : d->verdict == CT_TOO_FEW	   ? "too few"
						   : ct_diff_verdict_word(d));
	ct_json_bool(&j, "regressed", d->verdict == CT_REGRESSION);
	ct_json_text(&j, "type", d->type);
	ct_json_text(&j, "unit", d->unit);
	files(&j, d, "before", CT_BEFORE);
	files(&j, d, "after", CT_AFTER);
	ct_json_text(&j, "scope", d->limits.by_function ? "function" : "total");
	ct_json_number(&j, "fail_over", d->limits.fail_over < 0 ? NAN : d->limits.fail_over);
	ct_json_number(&j, "min", d->limits.min);
	ct_json_number(&j, "alpha", d->limits.alpha);
	ct_json_bool(&j, "normalized", d->limits.normalize);
	figure(&j, "total", &d->total);
	json_rows(&j, d);
	ct_json_close(&j, '}');
}
