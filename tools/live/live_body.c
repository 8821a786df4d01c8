/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of functions, and the threads; see live.h. */
#include <stdlib.h>
#include <string.h>

#include "live/live.h"

/* Most rows of the user's code. */
#define MOST_OWN 10
#define LEAST_OWN 3
/* Columns of a row's figures and of its bar. */
#define FIGURES 35
#define BAR 10
#define WIDE_BAR 20
#define WIDE 120

/* ---- lines ---- */

struct line {
	char *heading;		       /* heading of the line, or NULL */
	const struct ct_live_row *row; /* row of the line, or NULL */
};

struct lines {
	struct line *items;
	size_t count, room;
};

static void add_row(struct lines *to, char *heading, const struct ct_live_row *row)
{
	*CT_PUSH(to->items, to->count, to->room) = (struct line){ heading, row };
}

/* Returns the number of rows that match and were left out. */
static size_t add_rows(struct lines *to, const struct ct_live *l, const struct ct_live_row *rows,
		       size_t count, size_t most)
{
	size_t left_out = 0;

	for (size_t i = 0; i < count; i++) {
		if (!ct_live_matches(l, rows[i].name))
			continue;
		if (most) {
			add_row(to, NULL, &rows[i]);
			most--;
		} else {
			left_out++;
		}
	}
	return left_out;
}

static void add_own(struct lines *to, const struct ct_live *l)
{
	const struct ct_live_table *t = &l->table;
	size_t most = (size_t)ct_live_draw_body_rows() / 3, left_out;
	char a[CT_NUMBER_ROOM], b[CT_NUMBER_ROOM];

	if (!t->own_count)
		return;
	most = most > MOST_OWN ? MOST_OWN : most < LEAST_OWN ? LEAST_OWN : most;
	add_row(to,
		ct_memory_printf("Your code: %s, %s", ct_live_table_value(t, a, t->inside),
				 ct_numbers_percent(b, t->inside, t->sum) + strspn(b, " ")),
		NULL);
	left_out = add_rows(to, l, t->own, t->own_count, most);
	if (left_out)
		add_row(to, ct_memory_printf("%*s%zu more", FIGURES, "", left_out), NULL);
}

static void put_bar(int row, int column, int columns, const struct ct_live_row *r, int64_t sum)
{
	bool blocks = ct_live_screen_has_blocks();
	char text[4 * WIDE_BAR + 1] = "", *at = text;
	double self = sum > 0 ? (double)r->self / (double)sum : 0;
	double total = sum > 0 ? (double)r->total / (double)sum : 0;

	for (int i = 0; i < columns; i++) {
		double middle = (i + 0.5) / columns;

		if (middle < self)
			at = stpcpy(at, blocks ? "\342\226\210" : "#");
		else if (middle < total)
			at = stpcpy(at, blocks ? "\342\226\221" : "-");
	}
	ct_live_screen_put(row, column, columns, CT_LOOK_BAR, text);
}

static void put_row(const struct ct_live *l, int row, const struct ct_live_row *r)
{
	const struct ct_live_table *t = &l->table;
	char a[CT_NUMBER_ROOM], b[CT_NUMBER_ROOM], c[CT_NUMBER_ROOM], d[CT_NUMBER_ROOM];
	int columns = ct_live_screen_columns(), bar = columns >= WIDE ? WIDE_BAR : BAR;
	int before = FIGURES + bar + 1;
	char *figures = ct_memory_printf("%9s %6s %9s %6s", ct_live_table_value(t, a, r->self),
					 ct_numbers_percent(b, r->self, t->sum),
					 ct_live_table_value(t, c, r->total),
					 ct_numbers_percent(d, r->total, t->sum));
	char *name = ct_short_name(r->name, columns > before ? (size_t)(columns - before) : 1);

	ct_live_screen_put(row, 0, FIGURES - 1, CT_LOOK_PLAIN, figures);
	put_bar(row, FIGURES, bar, r, t->sum);
	ct_live_screen_put(row, before, columns - before, CT_LOOK_BOLD, name);
	free(name);
	free(figures);
}

/* Returns the first line to show. Corrects a scroll that went too far. */
static size_t first_line(struct ct_live *l, size_t count)
{
	size_t rows = (size_t)ct_live_draw_body_rows(), most = count > rows ? count - rows : 0;

	if (l->scroll > most)
		l->scroll = most;
	return l->scroll;
}

static void put_lines(struct ct_live *l, const struct lines *lines)
{
	int columns = ct_live_screen_columns(), rows = ct_live_draw_body_rows();
	size_t first = first_line(l, lines->count);

	for (int i = 0; i < rows && first + (size_t)i < lines->count; i++) {
		const struct line *at = &lines->items[first + (size_t)i];

		if (at->row)
			put_row(l, CT_LIVE_BODY + i, at->row);
		else
			ct_live_screen_put(CT_LIVE_BODY + i, 0, columns, CT_LOOK_DIM, at->heading);
	}
}

static char *columns_text(const struct ct_live *l, const char *self)
{
	char a[16], b[16];

	snprintf(a, sizeof(a), l->by_total ? "%s" : "%s*", self);
	snprintf(b, sizeof(b), l->by_total ? "%s*" : "%s", "total");
	return ct_memory_printf("%9s %6s %9s %6s  all functions", a, "", b, "");
}

static void draw_table(struct ct_live *l)
{
	struct lines lines = { 0 };

	add_own(&lines, l);
	add_row(&lines, columns_text(l, "own"), NULL);
	add_rows(&lines, l, l->table.all, l->table.all_count, SIZE_MAX);
	put_lines(l, &lines);
	for (size_t i = 0; i < lines.count; i++)
		free(lines.items[i].heading);
	free(lines.items);
}

/* ---- threads ---- */

static void draw_threads(struct ct_live *l)
{
	int columns = ct_live_screen_columns(), rows = ct_live_draw_body_rows();
	size_t first = first_line(l, l->line_count);

	for (int i = 0; i < rows && first + (size_t)i < l->line_count; i++) {
		const char *text = l->lines[first + (size_t)i];

		/* The lines of a stack are indented by eight. */
		ct_live_screen_put(CT_LIVE_BODY + i, 0, columns,
				   strncmp(text, "        ", 8) ? CT_LOOK_BOLD : CT_LOOK_PLAIN,
				   text);
	}
}

/* ---- nothing yet ---- */

static char *why_empty(const struct ct_live *l)
{
	const char *name = ct_control_modes[l->mode].name;

	if (l->ended)
		return ct_memory_printf("No window of %s was taken before the process ended.",
					name);
	if (l->view == CT_LIVE_THREADS)
		return ct_memory_strdup("Asking the process for its threads...");
	if (!ct_live_profile(l))
		return l->companion ? ct_memory_strdup("Nothing in the last window.")
		       : l->watched[l->mode]
			       ? ct_memory_printf("The first window of %s is there after %g s...",
						  name, l->every)
			       : ct_memory_printf("%s is off.", name);
	if (ct_live_profile(l)->sample_count)
		return ct_memory_strdup("The last window has other values than this: v shows "
					"them.");
	return ct_memory_printf("Nothing happened in the last window, as far as %s sees it.", name);
}

void ct_live_body(struct ct_live *l)
{
	char *why;

	if (l->view == CT_LIVE_THREADS ? l->line_count > 0
				       : ct_live_profile(l) && l->table.all_count) {
		l->view == CT_LIVE_THREADS ? draw_threads(l) : draw_table(l);
		return;
	}
	why = why_empty(l);
	ct_live_screen_put(CT_LIVE_BODY + 1, 1, ct_live_screen_columns() - 1, CT_LOOK_PLAIN, why);
	free(why);
}
