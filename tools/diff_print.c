/* A comparison as a table: for a terminal, and in Markdown for a pull request's page. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diff.h"
#include "memory.h"
#include "numbers.h"
#include "out.h"

/* "1.19s +-2%"; to be freed. */
static char *value_text(const struct ct_diff *d, const struct ct_diff_figure *f, int side)
{
	char number[CT_NUMBER_ROOM];

	ct_format(number, ct_clamp(f->mean[side]), d->unit, d->shown_unit);
	if (d->files_of[side] < 2 || f->mean[side] <= 0)
		return ct_strdup(number);
	return ct_printf("%s \302\261%.0f%%", number, 100 * f->spread[side] / f->mean[side]);
}

static char *difference_text(const struct ct_diff *d, const struct ct_diff_figure *f)
{
	char number[CT_NUMBER_ROOM];
	double change = f->mean[CT_AFTER] - f->mean[CT_BEFORE];

	ct_format(number, ct_clamp(change), d->unit, d->shown_unit);
	return ct_printf("%s%s", change > 0 ? "+" : "", number);
}

static char *p_text(const struct ct_diff_figure *f)
{
	if (isnan(f->p))
		return ct_strdup("");
	return f->p < 0.001 ? ct_strdup("<0.001") : ct_printf("%.3f", f->p);
}

/* The cells of a row; each to be freed. */
struct cells {
	char *text[5];
};

static struct cells cells_of(const struct ct_diff *d, const struct ct_diff_figure *f)
{
	return (struct cells){ { value_text(d, f, CT_BEFORE), value_text(d, f, CT_AFTER),
				 difference_text(d, f), ct_diff_change(f), p_text(f) } };
}

static void free_cells(struct cells *c)
{
	for (int i = 0; i < 5; i++)
		free(c->text[i]);
}

/* How many columns a text of ASCII and the plus-minus sign takes. */
static int columns(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += (*text & 0xc0) != 0x80;
	return n;
}

static const int widths[] = { 15, 15, 11, 16, 7 };

static void put_cells(const struct ct_diff *d, const struct ct_diff_figure *f, const char *paint)
{
	struct cells c = cells_of(d, f);
	bool has_p = d->files_of[0] > 1 && d->files_of[1] > 1;

	for (int i = 0; i < (has_p ? 5 : 4); i++) {
		int pad = widths[i] - columns(c.text[i]);

		printf("%*s%s%s%s", pad > 0 ? pad : 0, "", i == 2 ? paint : "", c.text[i],
		       i == 3 ? ct_paint(CT_PLAIN) : "");
		putchar(' ');
	}
	free_cells(&c);
}

static const char *paint_of(const struct ct_diff_figure *f)
{
	double change = f->mean[CT_AFTER] - f->mean[CT_BEFORE];

	return ct_paint(change > 0 ? CT_RED : change < 0 ? CT_GREEN : CT_PLAIN);
}

/* Said where it was judged. */
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

static void put_table(const struct ct_diff *d, enum ct_diff_value value, const char *heading)
{
	uint32_t *order = ct_diff_order(d, value);

	printf("\n%s%s%s\n", ct_paint(CT_BOLD), heading, ct_paint(CT_PLAIN));
	for (size_t i = 0; i < rows_shown(d); i++) {
		const struct ct_diff_row *row = &d->rows[order[i]];
		const struct ct_diff_figure *f = &row->figure[value];

		if (!changed(f))
			break;
		put_cells(d, f, paint_of(f));
		putchar(' ');
		ct_out_text(stdout, ct_frame_name(&d->frames, row->frame));
		fputs(regressed(d, row, value) ? "  REGRESSION\n" : "\n", stdout);
	}
	free(order);
}

static char *total_verdict(const struct ct_diff *d, double limit)
{
	double growth = 100 * (d->total.mean[CT_AFTER] / d->total.mean[CT_BEFORE] - 1);

	if (!d->regressed && growth > limit)
		return ct_printf("fine: total %+.1f%%, above the limit of +%.4g%%, but within "
				 "chance (p = %.3f)",
				 growth, limit, d->total.p);
	return ct_printf("%s: total %+.1f%%, limit +%.4g%%", d->regressed ? "REGRESSION" : "fine",
			 growth, limit);
}

/* One line, to be freed; NULL without a limit. */
static char *verdict(const struct ct_diff *d)
{
	double limit = 100 * d->limits.fail_over;
	size_t functions = 0;

	if (d->limits.fail_over < 0)
		return NULL;
	if (!d->limits.by_function)
		return total_verdict(d, limit);
	for (size_t i = 0; i < d->row_count; i++)
		functions += d->rows[i].regressed;
	return ct_printf("%s: %zu function%s above the limit of +%.4g%%",
			 d->regressed ? "REGRESSION" : "fine", functions, functions == 1 ? "" : "s",
			 limit);
}

void ct_diff_text(const struct ct_diff *d)
{
	char *text = verdict(d);
	bool has_p = d->files_of[0] > 1 && d->files_of[1] > 1;

	printf("%s, %zu file%s before, %zu after%s%s\n", d->type, d->files_of[0],
	       d->files_of[0] == 1 ? "" : "s", d->files_of[1],
	       d->limits.normalize ? ", scaled to equal totals" : "",
	       has_p ? "; p: Welch's t-test" : "");
	printf("%s%15s %15s %11s %16s %s%s\n", ct_paint(CT_DIM), "before", "after", "change", "",
	       has_p ? "      p" : "", ct_paint(CT_PLAIN));
	put_cells(d, &d->total, paint_of(&d->total));
	puts(" total");
	put_table(d, CT_FLAT, "largest changes of own value (flat)");
	put_table(d, CT_CUM, "largest changes with callees (cum)");
	if (text)
		printf("\n%s%s%s\n", ct_paint(d->regressed ? CT_RED : CT_GREEN), text,
		       ct_paint(CT_PLAIN));
	free(text);
}

/* Nothing of a name is markup. */
static void put_escaped(const char *text)
{
	for (; *text; text++) {
		if (strchr("\\`*_{}[]()#+-.!|<>&~", *text))
			printf("&#%d;", *text);
		else
			putchar((unsigned char)*text < 0x20 ? ' ' : *text);
	}
}

static void markdown_cells(const struct ct_diff *d, const struct ct_diff_figure *f)
{
	struct cells c = cells_of(d, f);

	for (int i = 0; i < 5; i++)
		printf("| %s ", c.text[i]);
	free_cells(&c);
}

static void markdown_table(const struct ct_diff *d, enum ct_diff_value value, const char *heading)
{
	uint32_t *order = ct_diff_order(d, value);

	printf("\n**%s**\n\n| before | after | change | | p | function |\n"
	       "|---:|---:|---:|---:|---:|:---|\n",
	       heading);
	for (size_t i = 0; i < rows_shown(d); i++) {
		const struct ct_diff_row *row = &d->rows[order[i]];

		if (!changed(&row->figure[value]))
			break;
		markdown_cells(d, &row->figure[value]);
		fputs(regressed(d, row, value) ? "| **" : "| ", stdout);
		put_escaped(ct_frame_name(&d->frames, row->frame));
		fputs(regressed(d, row, value) ? "** |\n" : " |\n", stdout);
	}
	free(order);
}

void ct_diff_markdown(const struct ct_diff *d)
{
	char *text = verdict(d);

	fputs("### Profile: ", stdout);
	put_escaped(d->type);
	printf("\n\n%s%s%s", text ? "**" : "", text ? text : "", text ? "**\n\n" : "");
	puts("| before | after | change | | p | |\n|---:|---:|---:|---:|---:|:---|");
	markdown_cells(d, &d->total);
	puts("| total |");
	markdown_table(d, CT_FLAT, "Largest changes of own value");
	markdown_table(d, CT_CUM, "Largest changes with callees");
	printf("\nFiles: %zu before, %zu after.%s\n", d->files_of[0], d->files_of[1],
	       d->files_of[0] > 1 && d->files_of[1] > 1
		       ? " \302\261: standard deviation; p: Welch's t-test."
		       : "");
	free(text);
}
