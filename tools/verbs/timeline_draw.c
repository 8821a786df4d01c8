/* SPDX-License-Identifier: BSD-3-Clause */
/* The picture of a timeline: rows of threads or states, columns of time; see timeline.h. */
#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/report.h"
#include "core/times.h"
#include "verbs/timeline.h"
#include "verbs/verbs.h"

#define ROWS 12	   /* of a file, before threads of one name become one row */
#define IDLE 0.002 /* of the largest row: threads below it are one row */
#define LEVELS 8
#define VALUE_WIDTH 10

struct row {
	char *name;
	size_t group; /* for threads: how many there are */
	double total, largest;
	double *cells;
};

struct rows {
	struct row *list;
	size_t count, room;
};

/* ---- text ---- */

/* Writes NS so that -from reads it: "2.35s", "1m30s". DIGITS after the point. */
const char *ct_timeline_draw_time(char *to, double ns, int digits)
{
	double s = ns / 1e9 + 0.5 * ct_pow(10, -digits), whole = floor(s / 60);

	if (s < 60)
		snprintf(to, CT_NUMBER_ROOM, "%.*fs", digits, ns / 1e9);
	else if (whole < 60)
		snprintf(to, CT_NUMBER_ROOM, "%.0fm%.*fs", whole, digits,
			 fabs(ns / 1e9 - whole * 60));
	else
		snprintf(to, CT_NUMBER_ROOM, "%.0fh%.0fm%.*fs", floor(whole / 60), fmod(whole, 60),
			 digits, fabs(ns / 1e9 - whole * 60));
	return to;
}

/* Digits that tell times NS apart. */
int ct_timeline_draw_digits(double ns)
{
	return ns >= 1e9 ? 0 : (int)ceil(-log10(ns / 1e9) - 1e-9);
}

static const char *cell_text(const struct ct_timeline_view *v, double share)
{
	static const char *const blocks[] = { " ",
					      "\342\226\201",
					      "\342\226\202",
					      "\342\226\203",
					      "\342\226\204",
					      "\342\226\205",
					      "\342\226\206",
					      "\342\226\207",
					      "\342\226\210" };
	static const char *const plain[] = { " ", ".", ":", "-", "=", "+", "*", "#", "@" };
	int level = share <= 0 ? 0 : (int)fmin(fmax(ceil(share * LEVELS - 0.05), 1), LEVELS);

	return (v->utf8 ? blocks : plain)[level];
}

/* "3.10 processors", "12 threads", "1.5 MB/s". */
const char *ct_timeline_draw_rate(const struct ct_timeline *t, char *to, double rate)
{
	const char *unit = ct_text(t->p, t->p->types[t->type].unit);
	char number[CT_NUMBER_ROOM];

	if (!t->is_time)
		snprintf(to, CT_NUMBER_ROOM, "%s/s",
			 ct_numbers_format(number, ct_numbers_clamp(rate), unit, "auto"));
	else
		snprintf(to, CT_NUMBER_ROOM, "%.2f", rate / 1e9);
	return to;
}

/* ---- rows ---- */

static double cell_length(const struct ct_timeline_view *v)
{
	return (v->to - v->from) / (double)v->columns;
}

static struct row *find_row(const struct ct_timeline_view *v, struct rows *rows, const char *name)
{
	for (size_t i = 0; i < rows->count; i++)
		if (!strcmp(rows->list[i].name, name))
			return &rows->list[i];
	*CT_PUSH(rows->list, rows->count, rows->room) = (struct row){
		.name = ct_memory_strdup(name),
		.cells = ct_memory_alloc(v->columns * sizeof(double)),
	};
	return &rows->list[rows->count - 1];
}

static void add_piece(const struct ct_timeline_view *v, struct row *row, struct ct_timeline_piece p)
{
	double part;
	size_t c;

	row->total += p.amount;
	while (ct_timeline_pieces_part(&p, v->from, cell_length(v), v->columns, &c, &part))
		row->cells[c] += part;
}

/* A row of a thread shows no waits of a wall profile, and no waits for something to do. */
static bool is_left_out(const struct ct_timeline *t, const struct ct_timeline_piece *p)
{
	return p->state == 'w' || t->idle[p->event->sample];
}

static char *state_of(const struct ct_timeline *t, uint32_t sample)
{
	const char *state = ct_own_stack_label(t->p, sample, "state"),
		   *wait = ct_own_stack_label(t->p, sample, "wait");

	if (t->idle[sample])
		return ct_memory_strdup("waits for work");
	if (!state)
		return ct_memory_strdup(ct_text(t->p, t->p->types[t->type].type));
	return wait ? ct_memory_printf("waits: %s", wait) : ct_memory_strdup(state);
}

/* Names row THREAD: its name, with its number if others have the name, too; GROUPED: "worker*". */
static char *thread_name(const struct ct_timeline *t, uint32_t thread, bool grouped)
{
	const struct ct_times *times = t->p->times;
	const char *name = ct_text(t->p, times->threads[thread].name);
	size_t same = 0, stem = 0, like = 0;

	for (uint32_t i = 0; i < times->thread_count; i++) {
		same += !strcmp(ct_text(t->p, times->threads[i].name), name);
		like += ct_timeline_pieces_alike(t, thread, i, &stem);
	}
	if (grouped && like > 1)
		return ct_memory_printf("%.*s* (%zu)", (int)stem, name, like);
	if (!*name || same > 1)
		return ct_memory_printf("%s%s%lld", *name ? name : "thread", *name ? "/" : " ",
					(long long)times->threads[thread].tid);
	return ct_memory_strdup(name);
}

static int by_total(const void *x, const void *y)
{
	const struct row *a = x, *b = y;

	return a->total < b->total ? 1 : a->total > b->total ? -1 : strcmp(a->name, b->name);
}

static void free_rows(struct rows *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		free(rows->list[i].name);
		free(rows->list[i].cells);
	}
	free(rows->list);
	*rows = (struct rows){ 0 };
}

/* In a thinned index an event counts for others, too, but no thread does more than is possible. */
static void finish_row(const struct ct_timeline_view *v, const struct ct_timeline *t,
		       struct row *row)
{
	double most = t->is_time && !t->is_shared && row->group && *row->name != '('
			      ? cell_length(v) * (double)row->group
			      : INFINITY;

	for (size_t c = 0; c < v->columns; c++) {
		row->cells[c] = fmin(row->cells[c], most);
		row->largest = fmax(row->largest, row->cells[c]);
	}
}

static void fill_rows(const struct ct_timeline_view *v, const struct ct_timeline *t,
		      struct rows *rows, bool grouped)
{
	const struct ct_times *times = t->p->times;
	size_t *at = ct_memory_alloc((times->thread_count + 1) * sizeof(*at));

	for (uint32_t i = 0; i < times->thread_count && !v->by_state; i++) {
		char *name = thread_name(t, i, grouped);
		struct row *row = find_row(v, rows, name);

		row->group++;
		at[i] = (size_t)(row - rows->list);
		free(name);
	}
	for (size_t i = 0; i < times->event_count; i++) {
		const struct ct_timeline_piece *p = &t->pieces[i];
		char *state = v->by_state ? state_of(t, p->event->sample) : NULL;

		if (v->by_state || !is_left_out(t, p))
			add_piece(v,
				  state ? find_row(v, rows, state)
					: &rows->list[at[p->event->thread]],
				  *p);
		free(state);
	}
	free(at);
	if (rows->count)
		qsort(rows->list, rows->count, sizeof(*rows->list), by_total);
	for (size_t i = 0; i < rows->count; i++)
		finish_row(v, t, &rows->list[i]);
}

/* Returns how many rows are shown; the others are idle, or too many. */
static size_t busy_rows(const struct rows *rows)
{
	size_t n = 0;

	while (n < rows->count && rows->list[n].total > 0 &&
	       rows->list[n].total >= rows->list[0].total * IDLE)
		n++;
	return n;
}

static void make_rows(const struct ct_timeline_view *v, const struct ct_timeline *t,
		      struct rows *rows)
{
	fill_rows(v, t, rows, false);
	if (busy_rows(rows) <= ROWS)
		return;
	free_rows(rows);
	fill_rows(v, t, rows, true);
}

/* ---- the picture ---- */

static void put_name(const struct ct_timeline_view *v, const char *name)
{
	char *text = ct_short_name(name, v->name_width);

	ct_out_text(stdout, text);
	printf("%*s ", (int)(v->name_width - fmin(ct_short_name_width(text), v->name_width)), "");
	free(text);
}

static void put_row(const struct ct_timeline_view *v, const char *name, const double *cells,
		    double full, const char *value)
{
	put_name(v, name);
	for (size_t c = 0; c < v->columns; c++)
		fputs(cell_text(v, full > 0 ? cells[c] / full : 0), stdout);
	printf(" %*s\n", VALUE_WIDTH - 1, value);
}

/* A time each so many columns, where its column is. */
static void put_scale(const struct ct_timeline_view *v)
{
	double cell = cell_length(v), ten = ct_pow(10, floor(log10(cell * 10))), step = ten;
	char *line = ct_memory_alloc(v->columns + CT_NUMBER_ROOM), text[CT_NUMBER_ROOM];

	for (int i = 0; step < cell * 10; i++)
		step = ten * (double)(int[]){ 2, 5, 10, 20, 50 }[i];
	memset(line, ' ', v->columns);
	for (double at = ceil(v->from / step - 1e-6) * step + 0.0; at < v->to; at += step) {
		size_t c = (size_t)fmax((at - v->from) / cell + 1e-6, 0);
		size_t n = strlen(ct_timeline_draw_time(text, at, ct_timeline_draw_digits(step)));

		if (c + n + 1 <= v->columns)
			memcpy(memcpy(line + c, "|", 1) + 1, text, n);
	}
	put_name(v, "");
	printf("%s%.*s%s\n", ct_out_paint(CT_DIM), (int)v->columns, line, ct_out_paint(CT_PLAIN));
	free(line);
}

/* Memory in use and processors busy, once a second. */
static void put_counters(const struct ct_timeline_view *v, const struct ct_timeline *t)
{
	const struct ct_times *times = t->p->times;
	double *cells = ct_memory_alloc(v->columns * sizeof(*cells)), most = 0,
	       cell = cell_length(v);
	char text[CT_NUMBER_ROOM];

	for (size_t i = 0; i < times->counter_count; i++) {
		double at = (t->offset + (double)times->counters[i].when - v->from) / cell;
		double next =
			i + 1 < times->counter_count
				? (t->offset + (double)times->counters[i + 1].when - v->from) / cell
				: (double)v->columns;

		for (double c = fmax(floor(at), 0); c < fmin(next, (double)v->columns); c++)
			cells[(size_t)c] = (double)times->counters[i].resident;
		most = fmax(most, (double)times->counters[i].resident);
	}
	if (times->counter_count > 1)
		put_row(v, "resident memory", cells, most,
			ct_numbers_format(text, ct_numbers_clamp(most), "bytes", "auto"));
	free(cells);
}

static bool has_idle(const struct ct_timeline *t)
{
	return t->p->sample_count && memchr(t->idle, true, t->p->sample_count);
}

static void put_file(const struct ct_timeline_view *v, const struct ct_timeline *t)
{
	const char *unit = ct_text(t->p, t->p->types[t->type].unit);
	struct rows rows = { 0 };
	double cell = cell_length(v), most = 0;
	char text[CT_NUMBER_ROOM];
	size_t shown, idle = 0;

	make_rows(v, t, &rows);
	shown = busy_rows(&rows);
	shown = shown < 2 * ROWS ? shown : 2 * ROWS;
	for (size_t i = 0; i < rows.count; i++)
		most = fmax(most, rows.list[i].largest);
	fputs(ct_out_paint(CT_BOLD), stdout);
	ct_out_text(stdout, t->name);
	printf("%s: %s%s; full height: ", ct_out_paint(CT_PLAIN),
	       ct_text(t->p, t->p->types[t->type].type),
	       v->by_state   ? ""
	       : t->is_wall  ? " (running, ready to run)"
	       : has_idle(t) ? " (without waits for work)"
			     : "");
	if (t->is_time)
		puts("a thread all the time; several in a row: their highest");
	else
		printf("%s\n", ct_timeline_draw_rate(t, text, most / cell * 1e9));
	for (size_t i = 0; i < shown; i++)
		put_row(v, rows.list[i].name, rows.list[i].cells,
			t->is_time ? fmax(cell, rows.list[i].largest) : most,
			ct_numbers_format(text, ct_numbers_clamp(rows.list[i].total), unit,
					  "auto"));
	for (size_t i = shown; i < rows.count; i++) {
		idle += rows.list[i].group;
		rows.list[shown].total += i > shown ? rows.list[i].total : 0;
	}
	if (idle)
		printf("%zu more thread%s, idle: %s\n", idle, idle > 1 ? "s" : "",
		       ct_numbers_format(text, ct_numbers_clamp(rows.list[shown].total), unit,
					 "auto"));
	free_rows(&rows);
}

/* ---- all of it ---- */

void ct_timeline_draw_text(const struct ct_timeline_view *v)
{
	char length[CT_NUMBER_ROOM], column[CT_NUMBER_ROOM], clock[64] = "";
	time_t begin = (time_t)floor(((double)v->zero + v->from) / 1e9);
	struct tm tm;

	if (v->zero > 0 && localtime_r(&begin, &tm))
		strftime(clock, sizeof(clock), ", from %Y-%m-%d %H:%M:%S on", &tm);
	printf("%s%s; a column is %s\n",
	       ct_numbers_format(length, ct_numbers_clamp(v->to - v->from), "nanoseconds", "auto"),
	       clock,
	       ct_numbers_format(column, ct_numbers_clamp(cell_length(v)), "nanoseconds", "auto"));
	put_scale(v);
	for (size_t i = 0; i < v->count; i++)
		put_file(v, &v->files[i]);
	put_counters(v, &v->files[0]);
}

static void json_file(const struct ct_timeline_view *v, const struct ct_timeline *t,
		      struct ct_json *j)
{
	struct rows rows = { 0 };

	fill_rows(v, t, &rows, false);
	ct_json_open(j, NULL, '{');
	ct_json_text(j, "file", t->name);
	ct_json_text(j, "type", ct_text(t->p, t->p->types[t->type].type));
	ct_json_text(j, "unit", ct_text(t->p, t->p->types[t->type].unit));
	ct_json_open(j, "rows", '[');
	for (size_t i = 0; i < rows.count; i++) {
		ct_json_open(j, NULL, '{');
		ct_json_text(j, "name", rows.list[i].name);
		ct_json_number(j, "total", rows.list[i].total);
		ct_json_open(j, "cells", '[');
		for (size_t c = 0; c < v->columns; c++)
			ct_json_number(j, NULL, round(rows.list[i].cells[c]));
		ct_json_close(j, ']');
		ct_json_close(j, '}');
	}
	ct_json_close(j, ']');
	ct_json_close(j, '}');
	free_rows(&rows);
}

void ct_timeline_draw_measure(struct ct_timeline_view *v)
{
	size_t columns = ct_short_name_columns();

	columns = columns ? columns : 100;
	v->name_width = columns < 80 ? 12 : columns < 120 ? 18 : 24;
	v->columns = columns - v->name_width - 1 - VALUE_WIDTH;
	if (v->to - v->from < 1e6)
		v->to = v->from + 1e6;
	setlocale(LC_CTYPE, "");
	v->utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	setlocale(LC_CTYPE, "C");
}

void ct_timeline_draw_json(const struct ct_timeline_view *v, struct ct_json *j)
{
	ct_json_number(j, "column_ns", cell_length(v));
	ct_json_open(j, "files", '[');
	for (size_t i = 0; i < v->count; i++)
		json_file(v, &v->files[i], j);
	ct_json_close(j, ']');
}
