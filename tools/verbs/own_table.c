/* SPDX-License-Identifier: BSD-3-Clause */
/* The table "Your code"; see verbs.h. */
#include "verbs/verbs.h"

#include <stdlib.h>
#include <string.h>

/* Number of columns before a name. */
#define COLUMNS_BEFORE 37
#define IDLE " (mostly for something to do)"
#define PROGRAMS_SHOWN 3
/* Modules are named if those that aren't own code have this share, and each that has a share. */
#define MODULES_SHARE 0.2
#define MODULE_SHARE 0.05
#define MODULES_SHOWN 3
/* A smaller share of other code is not worth a table. */
#define ALL_SHARE 0.05
/* What this share passes through is the start of everything, if it has less than START_OWN itself.
 */
#define START_SHARE 0.98
#define START_OWN 0.01
#define STARTS_SHOWN 3

int ct_own_table_check(void)
{
	struct ct_regex *r = ct_own_asked ? ct_regex_new("own", ct_own_asked) : NULL;
	int status = ct_own_asked && !r ? -1 : 0;

	ct_regex_free(r);
	return status;
}

struct ct_own *ct_own_table_rule(const struct ct_profile *p)
{
	return ct_own_asked && !*ct_own_asked ? NULL : ct_own_new(p, ct_own_asked);
}

/* What mostly waits for something to do makes nobody wait, and comes last. */
static int by_own(const void *x, const void *y)
{
	const struct ct_own_row *a = x, *b = y;
	int64_t m = ct_abs(a->own), n = ct_abs(b->own);

	if (!m != !n)
		return !m - !n;
	if (a->is_idle != b->is_idle)
		return a->is_idle - b->is_idle;
	if (m != n)
		return m > n ? -1 : 1;
	m = ct_abs(a->total);
	n = ct_abs(b->total);
	if (m != n)
		return m > n ? -1 : 1;
	return (a->node > b->node) - (a->node < b->node);
}

static int by_total(const void *x, const void *y)
{
	const struct ct_own_row *a = x, *b = y;
	int64_t m = ct_abs(a->total), n = ct_abs(b->total);

	return m != n ? (m > n ? -1 : 1) : by_own(x, y);
}

/* Returns the node of a line of location I. With -noinlines only the last line has a node. */
static uint32_t node_of(const struct ct_graph *g, size_t i, uint32_t line)
{
	uint32_t first = g->first_node[i], count = g->first_node[i + 1] - first;

	return g->location_nodes[first + (line < count ? line : 0)];
}

/* Returns for each location the node of its innermost own function, or CT_NONE. */
static uint32_t *own_nodes(const struct ct_report *r, struct ct_own *o)
{
	uint32_t *node = ct_memory_realloc(NULL, r->p->location_count + 1, sizeof(*node));

	for (size_t i = 0; i < r->p->location_count; i++) {
		int line = ct_own_line(o, &r->p->locations[i]);

		node[i] = line < 0 ? CT_NONE : node_of(r->graph, i, (uint32_t)line);
	}
	return node;
}

/* Returns for each node whether it is an own function. Callers without time of their own are in the
 * table, too. */
static bool *are_own(const struct ct_report *r, struct ct_own *o)
{
	bool *own = ct_memory_alloc((r->graph->node_count + 1) * sizeof(*own));
	const struct ct_profile *p = r->p;

	for (size_t i = 0; i < p->location_count; i++) {
		const struct ct_location *l = &p->locations[i];

		for (uint32_t k = 0; k < l->line_count; k++)
			if (ct_own_is(o, l, &p->lines[l->first_line + k]))
				own[node_of(r->graph, i, k)] = true;
	}
	return own;
}

static void count_module(struct ct_own_table *t, const struct ct_own *o, size_t sample,
			 int64_t value)
{
	bool is_own;
	struct ct_sum *sum = ct_own_stack_sum(&t->modules, ct_own_module(o, sample, &is_own));

	sum->value = ct_add(sum->value, value);
	if (!is_own)
		t->elsewhere = ct_add(t->elsewhere, value);
}

/* Sums up OWN, and the part of it that is IDLE, by node. */
static void count_samples(struct ct_own_table *t, const struct ct_report *r, struct ct_own *o,
			  const uint32_t *node, int64_t *own, int64_t *idle)
{
	const struct ct_profile *p = r->p;
	bool waits = ct_model_type(p, "contentions") < p->type_count;
	struct ct_idle *loops = waits ? ct_idle_new(o, p) : NULL;

	for (size_t i = 0; i < p->sample_count; i++) {
		int64_t value = ct_values(p, i)[r->settings.type];
		const uint32_t *frames = ct_frames(p, &p->samples[i]);
		uint32_t k = 0;

		count_module(t, o, i, value);
		while (k < p->samples[i].depth && node[frames[k]] == CT_NONE)
			k++;
		if (k == p->samples[i].depth) {
			t->outside = ct_add(t->outside, value);
			continue;
		}
		t->inside = ct_add(t->inside, value);
		own[node[frames[k]]] = ct_add(own[node[frames[k]]], value);
		if (loops && ct_idle_is(loops, i))
			idle[node[frames[k]]] = ct_add(idle[node[frames[k]]], value);
	}
	ct_idle_free(loops);
}

/* Has the user's own code the time itself, so that a table of all functions would say the same? */
static bool covers_all(const struct ct_own_table *t, const struct ct_report *r)
{
	int64_t rest = r->total;

	for (size_t i = 0; i < t->count; i++)
		rest = ct_add(
			rest,
			ct_negate(ct_abs(ct_graph_node_flat(&r->graph->nodes[t->rows[i].node]))));
	return t->count && (double)ct_abs(rest) < ALL_SHARE * (double)ct_abs(r->total);
}

/* Would the table tell only places in a program without symbols, most of whose time is in
 * libraries? */
static bool lacks_names(const struct ct_own_table *t, const struct ct_report *r)
{
	bool any = false;

	for (size_t i = 0; i < t->count && !any; i++) {
		char *name = ct_graph_nodes_name(r->graph, &r->graph->nodes[t->rows[i].node]);

		any = !strstr(name, "+0x");
		free(name);
	}
	return t->count && !any && 2 * ct_abs(t->elsewhere) >= ct_abs(r->total);
}

int ct_own_table_make(struct ct_own_table *t, const struct ct_report *r)
{
	struct ct_own *o;
	uint32_t *node;
	int64_t *own, *idle;
	bool *is_own;

	*t = (struct ct_own_table){ 0 };
	/* With -mean, the sums of this table would have no meaning. */
	if ((ct_own_asked && !*ct_own_asked) || r->settings.mean)
		return 0;
	o = ct_own_new(r->p, ct_own_asked);
	if (!o)
		return -1;
	node = own_nodes(r, o);
	is_own = are_own(r, o);
	own = ct_memory_alloc((r->graph->node_count + 1) * sizeof(*own));
	idle = ct_memory_alloc((r->graph->node_count + 1) * sizeof(*idle));
	count_samples(t, r, o, node, own, idle);
	ct_own_stack_sort(&t->modules);
	t->rows = ct_memory_alloc((r->graph->node_count + 1) * sizeof(*t->rows));
	for (uint32_t i = 0; i < r->graph->node_count; i++)
		if (own[i] || (is_own[i] && r->graph->nodes[i].cum))
			t->rows[t->count++] =
				(struct ct_own_row){ i, own[i], r->graph->nodes[i].cum,
						     idle[i] && idle[i] > own[i] / 2 };
	qsort(t->rows, t->count, sizeof(*t->rows), r->trim.by_cum ? by_total : by_own);
	t->is_nameless = lacks_names(t, r);
	t->is_all = !t->is_nameless && covers_all(t, r);
	free(own);
	free(idle);
	free(is_own);
	free(node);
	ct_own_free(o);
	return 0;
}

void ct_own_table_release(struct ct_own_table *t)
{
	free(t->rows);
	ct_own_stack_release(&t->modules);
	*t = (struct ct_own_table){ 0 };
}

static void print_row(const struct ct_report *r, const struct ct_own_row *row)
{
	char a[CT_NUMBER_ROOM], b[CT_NUMBER_ROOM], c[CT_NUMBER_ROOM], d[CT_NUMBER_ROOM];
	char *name = ct_graph_nodes_name(r->graph, &r->graph->nodes[row->node]);

	printf("%10s %s %10s %s  %s", ct_report_value(r, a, row->own),
	       ct_report_share(r, b, row->own), ct_report_value(r, c, row->total),
	       ct_report_share(r, d, row->total), ct_out_paint(CT_BOLD));
	ct_short_name_print(name, COLUMNS_BEFORE + (row->is_idle ? strlen(IDLE) : 0));
	printf("%s%s\n", ct_out_paint(CT_PLAIN), row->is_idle ? IDLE : "");
	free(name);
}

/* Returns the name of the program of sample I, that of its outermost frame in one, or NULL. NAMES
 * are those of the mappings. */
static const char *program_of(const struct ct_profile *p, size_t i, const char *const *names)
{
	const struct ct_sample *s = &p->samples[i];

	for (uint32_t k = s->depth; k-- > 0;) {
		uint32_t mapping = p->locations[ct_frames(p, s)[k]].mapping;

		if (mapping != CT_NONE && names[mapping])
			return names[mapping];
	}
	return NULL;
}

/* Sums up by program. Programs without samples are in the list, too. */
static void sum_programs(struct ct_sums *programs, const struct ct_report *r)
{
	const struct ct_profile *p = r->p;
	const char **names = ct_memory_alloc((p->mapping_count + 1) * sizeof(*names));

	for (size_t i = 0; i < p->mapping_count; i++)
		if (ct_own_is_program(p, i))
			ct_own_stack_sum(programs, names[i] = ct_own_program_name(p, i));
	for (size_t i = 0; i < p->sample_count; i++) {
		const char *name = program_of(p, i, names);
		struct ct_sum *sum = name ? ct_own_stack_sum(programs, name) : NULL;

		if (sum)
			sum->value = ct_add(sum->value, ct_values(p, i)[r->settings.type]);
	}
	ct_own_stack_sort(programs);
	free(names);
}

/* Prints " (app, sh, ...)": the programs of all processes, the one with most first. */
static void print_programs(const struct ct_report *r)
{
	struct ct_sums programs = { 0 };

	sum_programs(&programs, r);
	for (size_t i = 0; i < programs.count && i <= PROGRAMS_SHOWN; i++) {
		fputs(!i ? " (" : ", ", stdout);
		ct_out_text(stdout, i < PROGRAMS_SHOWN ? programs.list[i].name : "...");
	}
	if (programs.count)
		putchar(')');
	ct_own_stack_release(&programs);
}

/* Prints "; by module: 82% libx264.so.164, 13% ffmpeg" if much isn't own code. */
static void print_modules(const struct ct_own_table *t, const struct ct_report *r)
{
	double total = (double)ct_abs(r->total);

	if ((double)ct_abs(t->elsewhere) < MODULES_SHARE * total)
		return;
	for (size_t i = 0; i < t->modules.count && i < MODULES_SHOWN; i++) {
		const struct ct_sum *m = &t->modules.list[i];

		if ((double)ct_abs(m->value) < MODULE_SHARE * total)
			break;
		printf("%s %.0f%% ",
		       i ? "," : "; by module:", 100 * (double)ct_abs(m->value) / total);
		ct_out_text(stdout, m->name);
	}
}

/* Rows of 0 are left out, unless callers are looked for, or all rows. */
static size_t rows_worth_it(const struct ct_own_table *t, const struct ct_report *r)
{
	size_t n = t->count;

	if (!r->trim.by_cum && r->trim.node_fraction > 0)
		while (n > 1 && !t->rows[n - 1].own)
			n--;
	return n;
}

/* Is the row a function such as main, through which all time passes? With -cum it would stand
 * before the answer. */
static bool is_start(const struct ct_own_table *t, const struct ct_report *r,
		     const struct ct_own_row *row)
{
	double inside = (double)ct_abs(t->inside);

	return r->trim.by_cum && r->trim.node_fraction > 0 &&
	       (double)ct_abs(row->total) >= START_SHARE * inside &&
	       (double)ct_abs(row->own) < START_OWN * inside;
}

/* Names the functions that have no row because they are the start. */
static void print_starts(const struct ct_own_table *t, const struct ct_report *r, size_t starts)
{
	size_t named = 0;

	printf("%s%37sall of it passes through", ct_out_paint(CT_DIM), "");
	for (size_t i = 0; i < t->count && named < STARTS_SHOWN; i++) {
		char *name;

		if (!is_start(t, r, &t->rows[i]))
			continue;
		name = ct_graph_nodes_name(r->graph, &r->graph->nodes[t->rows[i].node]);
		fputs(named++ ? ", " : " ", stdout);
		ct_short_name_print(name, COLUMNS_BEFORE);
		free(name);
	}
	if (named < starts)
		printf(" and %zu more", starts - named);
	puts(ct_out_paint(CT_PLAIN));
}

/* Prints at most MOST rows (0: any number) of the first COUNT, and then what it left out. */
static void print_rows(const struct ct_own_table *t, const struct ct_report *r, size_t count,
		       size_t most)
{
	size_t starts = 0, shown = 0;

	for (size_t i = 0; i < count; i++)
		starts += is_start(t, r, &t->rows[i]);
	/* Without the starts nothing would be left. */
	if (starts == count)
		starts = 0;
	for (size_t i = 0; i < count && (!most || shown < most); i++) {
		if (starts && is_start(t, r, &t->rows[i]))
			continue;
		print_row(r, &t->rows[i]);
		shown++;
	}
	if (shown + starts < count)
		printf("%s%37s%zu more%s\n", ct_out_paint(CT_DIM), "", count - shown - starts,
		       ct_out_paint(CT_PLAIN));
	if (starts)
		print_starts(t, r, starts);
}

void ct_own_table_print(const struct ct_own_table *t, const struct ct_report *r, size_t rows)
{
	char inside[CT_NUMBER_ROOM], share[CT_NUMBER_ROOM];
	size_t count = t->is_nameless ? 0 : rows_worth_it(t, r);

	if (!t->count && !t->elsewhere)
		return;
	printf("%sYour code%s", ct_out_paint(CT_BOLD), ct_out_paint(CT_PLAIN));
	if (!ct_own_asked)
		print_programs(r);
	printf(": %s, %s of ", ct_report_value(r, inside, t->inside),
	       ct_trimmed(ct_report_share(r, share, t->inside)));
	ct_report_heading_total(r);
	print_modules(t, r);
	if (t->is_nameless)
		fputs("; its own functions have no names", stdout);
	puts(count && !r->trim.by_cum &&
			     (double)ct_abs(t->rows[0].own) < ct_report_heading_unsure(r)
		     ? "; the first row may be chance"
		     : "");
	if (count)
		printf("%s%10s %5s%% %10s %5s%%%s\n", ct_out_paint(CT_DIM), "own", "own", "total",
		       "total", ct_out_paint(CT_PLAIN));
	print_rows(t, r, count, rows);
}

void ct_own_table_json(const struct ct_own_table *t, const struct ct_report *r, struct ct_json *j)
{
	ct_json_open(j, "own", '{');
	ct_json_integer(j, "inside", t->inside);
	ct_json_integer(j, "outside", t->outside);
	ct_json_open(j, "rows", '[');
	for (size_t i = 0; i < t->count; i++) {
		char *name = ct_graph_nodes_name(r->graph, &r->graph->nodes[t->rows[i].node]);

		ct_json_open(j, NULL, '{');
		ct_json_text(j, "name", name);
		ct_json_integer(j, "own", t->rows[i].own);
		ct_json_integer(j, "total", t->rows[i].total);
		ct_json_close(j, '}');
		free(name);
	}
	ct_json_close(j, ']');
	ct_json_close(j, '}');
}
