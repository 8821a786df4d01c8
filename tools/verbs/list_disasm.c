/* SPDX-License-Identifier: BSD-3-Clause */
/* `cprof list -disasm`: the instructions of functions, with their values. See verbs.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dwarf/dwarf.h"
#include "symbols/demangle.h"
#include "verbs/verbs.h"

/* Shorter functions are shown whole. */
#define WHOLE_MAX 60
/* Of longer ones, instructions with 1/HOT of the function's value, and MARGIN around each. */
#define HOT 100
#define MARGIN 5
/* Shown of code in no known function. */
#define UNKNOWN_BYTES 64

/* The value of one address, as the file has it. */
struct point {
	uint64_t address;
	const struct ct_node *node;
	uint32_t location;
	bool is_picked; /* in a function that is to be shown */
};

struct routine {
	const struct point *first; /* one that is picked */
	uint64_t begin, end;
	struct ct_instruction *list;
	size_t count;
	int64_t flat, cum;
	struct ct_dwarf_symbol_query *names; /* of targets, sorted */
	size_t name_count, name_room;
};

/* A source file that was read, or its error. */
struct text {
	const char *path;
	struct ct_source source;
	int error;
};

struct disasm {
	struct ct_report *r;
	const struct ct_list_disasm *wish;
	struct ct_regex *pick;
	struct ct_json json;
	struct ct_dwarf_module module;
	struct ct_dwarf_code code;
	struct ct_dwarf *dwarf; /* NULL: no debug information */
	const char *path;	/* of the module */
	struct point *points;
	size_t point_count, point_room;
	struct text *texts;
	size_t text_count, text_room, shown;
};

/* Returns the instruction that contains ADDRESS: that of a caller is of its call's last byte. */
static struct ct_instruction *instruction_at(const struct routine *t, uint64_t address)
{
	size_t k = ct_dw_first(t->list, t->count, sizeof(*t->list), address + 1);

	return k && address - t->list[k - 1].address < t->list[k - 1].size ? &t->list[k - 1] : NULL;
}

/* Sums the samples that have an address marked IN on their stacks, each once. */
static int64_t sum_of(const struct ct_report *r, const bool *in)
{
	int64_t sum = 0, divisor = 0;

	for (size_t i = 0; i < r->p->sample_count; i++) {
		const struct ct_sample *s = &r->p->samples[i];
		uint32_t k = 0;

		while (k < s->depth && !in[ct_frames(r->p, s)[k]])
			k++;
		if (k == s->depth)
			continue;
		sum = ct_add(sum, ct_values(r->p, i)[r->settings.type]);
		divisor = ct_add(divisor, r->settings.mean ? ct_values(r->p, i)[0] : 0);
	}
	return divisor ? ct_divide(sum, divisor) : sum;
}

static void add_values(const struct disasm *d, struct routine *t)
{
	bool *in = ct_memory_alloc(d->r->p->location_count + 1);

	for (size_t k = ct_dw_first(d->points, d->point_count, sizeof(*d->points), t->begin);
	     k < d->point_count && d->points[k].address < t->end; k++) {
		const struct ct_node *n = d->points[k].node;
		struct ct_instruction *i = instruction_at(t, d->points[k].address);

		t->flat = ct_add(t->flat, ct_graph_node_flat(n));
		in[d->points[k].location] = true;
		if (!i)
			continue;
		i->flat = ct_add(i->flat, ct_graph_node_flat(n));
		i->cum = ct_add(i->cum, ct_graph_node_cum(n));
	}
	t->cum = sum_of(d->r, in);
	free(in);
}

static void choose_shown(const struct disasm *d, struct routine *t)
{
	bool all = d->wish->all || t->count <= WHOLE_MAX || ct_report_wants_json();
	int64_t least = ct_abs(t->cum) / HOT;

	for (size_t i = 0; i < t->count; i++) {
		size_t first = i > MARGIN ? i - MARGIN : 0;
		bool hot = t->list[i].cum && ct_abs(t->list[i].cum) >= least;

		if (all)
			t->list[i].is_shown = true;
		for (size_t k = first; hot && k <= i + MARGIN && k < t->count; k++)
			t->list[k].is_shown = true;
	}
}

static void add_lines(const struct disasm *d, struct routine *t)
{
	struct ct_dwarf_query *q = ct_memory_alloc(t->count * sizeof(*q));

	for (size_t i = 0; i < t->count; i++)
		q[i] = (struct ct_dwarf_query){ .address = t->list[i].address, .tag = &t->list[i] };
	if (d->dwarf)
		ct_dwarf_find(d->dwarf, q, t->count);
	for (size_t i = 0; i < t->count; i++) {
		struct ct_instruction *to = q[i].tag;

		if (!q[i].count || !q[i].frames[0].line)
			continue;
		to->file = q[i].frames[0].file;
		to->line = q[i].frames[0].line;
	}
	free(q);
}

static int by_address(const void *x, const void *y)
{
	uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;

	return (a > b) - (a < b);
}

static void add_names(const struct disasm *d, struct routine *t)
{
	for (size_t i = 0; i < t->count; i++) {
		uint64_t target = t->list[i].target;

		if (t->list[i].is_shown && target && (target < t->begin || target >= t->end))
			*CT_PUSH(t->names, t->name_count, t->name_room) =
				(struct ct_dwarf_symbol_query){ .address = target };
	}
	if (!t->name_count)
		return;
	qsort(t->names, t->name_count, sizeof(*t->names), by_address);
	ct_dwarf_code_names(&d->code, t->names, t->name_count);
}

/* Returns what follows I: "<parse>", "<parse+0x12>", "# 0x4060 <stdout>". The caller frees it. */
static char *note_of(const struct disasm *d, const struct routine *t,
		     const struct ct_instruction *i)
{
	static char readable[4096];
	size_t k = ct_dw_first(t->names, t->name_count, sizeof(*t->names), i->target);
	const struct ct_dwarf_symbol_query *q =
		k < t->name_count && t->names[k].address == i->target ? &t->names[k] : NULL;
	const char *name = i->is_place ? ct_dwarf_code_import(&d->code, i->target) : NULL;
	char place[24] = "", plus[24] = "";

	if (i->is_place)
		snprintf(place, sizeof(place), " # 0x%" PRIx64, i->target);
	if (!name && q && q->name) {
		name = q->name;
		if (i->target != q->begin)
			snprintf(plus, sizeof(plus), "+0x%" PRIx64, i->target - q->begin);
	}
	if (!name || !*name)
		return ct_memory_strdup(place);
	name = cp_demangle(name, readable, sizeof(readable)) ? readable : name;
	return ct_memory_printf("%s <%s%s>", place, name, plus);
}

static const char *source_line(struct disasm *d, const char *path, unsigned line)
{
	struct text *t = d->texts;

	while (t < d->texts + d->text_count && strcmp(t->path, path) != 0)
		t++;
	if (t == d->texts + d->text_count) {
		t = CT_PUSH(d->texts, d->text_count, d->text_room);
		*t = (struct text){ .path = path };
		t->error =
			ct_source_read(&t->source, path, d->wish->source_path, d->wish->trim_path);
	}
	return t->error || line > t->source.count ? "" : t->source.lines[line];
}

/* Prints the source line of I, unless it is that of the instruction shown BEFORE. */
static void print_source(struct disasm *d, const struct ct_instruction *i,
			 const struct ct_instruction *before)
{
	const char *text;

	if (!i->file || (before && before->file == i->file && before->line == i->line))
		return;
	text = source_line(d, i->file, i->line);
	printf("%*s%s", 30, "", ct_out_paint(CT_DIM));
	ct_out_text(stdout, ct_base_name(i->file));
	printf(":%u%s", i->line, *text ? "  " : "");
	ct_out_text(stdout, text + strspn(text, " \t"));
	puts(ct_out_paint(CT_PLAIN));
}

static void print_one(const struct disasm *d, const struct ct_instruction *i, const char *note)
{
	char a[CT_NUMBER_ROOM] = ".", b[CT_NUMBER_ROOM] = "", c[CT_NUMBER_ROOM] = ".";

	if (i->flat) {
		ct_report_value(d->r, a, i->flat);
		ct_report_share(d->r, b, i->flat);
	}
	if (i->cum)
		ct_report_value(d->r, c, i->cum);
	printf("%s%10s %6s %10s %8" PRIx64 ":  ", i->cum ? ct_out_paint(CT_BOLD) : "", a, b, c,
	       i->address);
	ct_out_text(stdout, i->text);
	ct_out_text(stdout, note);
	puts(i->cum ? ct_out_paint(CT_PLAIN) : "");
}

static void json_one(struct disasm *d, const struct ct_instruction *i, const char *note)
{
	char *text = ct_memory_printf("%s%s", i->text, note);

	ct_json_open(&d->json, NULL, '{');
	ct_json_hex(&d->json, "address", i->address);
	ct_json_integer(&d->json, "flat", i->flat);
	ct_json_integer(&d->json, "cum", i->cum);
	ct_json_text(&d->json, "text", text);
	if (i->file) {
		ct_json_text(&d->json, "file", i->file);
		ct_json_integer(&d->json, "line", i->line);
	}
	ct_json_close(&d->json, '}');
	free(text);
}

/* Prints for the instructions from *I on that aren't shown how many they are, and their value. */
static void print_rest(const struct disasm *d, const struct routine *t, size_t *i)
{
	char value[CT_NUMBER_ROOM];
	size_t from = *i;
	int64_t flat = 0;

	for (; *i < t->count && !t->list[*i].is_shown; ++*i)
		flat = ct_add(flat, t->list[*i].flat);
	printf("%10s %28s  %zu more\n", flat ? ct_report_value(d->r, value, flat) : ".", "...",
	       *i - from);
}

static void print_head(struct disasm *d, const struct routine *t)
{
	char a[CT_NUMBER_ROOM], b[CT_NUMBER_ROOM], c[CT_NUMBER_ROOM];
	const char *name = ct_text(d->r->p, t->first->node->name);

	if (ct_report_wants_json()) {
		ct_json_open(&d->json, NULL, '{');
		ct_json_text(&d->json, "name", name);
		ct_json_text(&d->json, "module", d->path);
		ct_json_hex(&d->json, "begin", t->begin);
		ct_json_hex(&d->json, "end", t->end);
		ct_json_integer(&d->json, "flat", t->flat);
		ct_json_integer(&d->json, "cum", t->cum);
		ct_json_open(&d->json, "instructions", '[');
		return;
	}
	printf("%sROUTINE ======================== ", ct_out_paint(CT_BOLD));
	ct_out_text(stdout, *name ? name : "(no name)");
	printf(" at 0x%" PRIx64 " in ", t->begin);
	ct_out_text(stdout, d->path);
	puts(ct_out_paint(CT_PLAIN));
	printf("%10s %10s (own, total) %s of all\n%10s %6s %10s %8s\n",
	       ct_report_value(d->r, a, t->flat), ct_report_value(d->r, b, t->cum),
	       ct_report_share(d->r, c, t->cum), "own", "own%", "total", "address");
}

static void print_routine(struct disasm *d, const struct routine *t)
{
	const struct ct_instruction *before = NULL;

	print_head(d, t);
	for (size_t i = 0; i < t->count;) {
		char *note;

		if (!t->list[i].is_shown) {
			print_rest(d, t, &i);
			before = NULL;
			continue;
		}
		note = note_of(d, t, &t->list[i]);
		if (ct_report_wants_json()) {
			json_one(d, &t->list[i], note);
		} else {
			print_source(d, &t->list[i], before);
			print_one(d, &t->list[i], note);
		}
		free(note);
		before = &t->list[i++];
	}
	if (ct_report_wants_json()) {
		ct_json_close(&d->json, ']');
		ct_json_close(&d->json, '}');
	}
}

static void begin_output(struct disasm *d)
{
	char total[CT_NUMBER_ROOM];

	if (d->shown++)
		return;
	ct_report_begin(d->r);
	if (!ct_report_wants_json()) {
		printf("Total: %s\n", ct_report_value(d->r, total, d->r->total));
		return;
	}
	ct_json_open(&d->json, NULL, '{');
	ct_report_heading_json(d->r, &d->json);
	ct_json_open(&d->json, "functions", '[');
}

/* Shows the function that contains point P, and returns its end. */
static uint64_t show_routine(struct disasm *d, const struct point *p)
{
	struct routine t = { .first = p };
	size_t n;

	if (!ct_dwarf_code_function(&d->code, p->address, &t.begin, &t.end)) {
		t.begin = p->address;
		t.end = p->address + UNKNOWN_BYTES;
	}
	if (!ct_dwarf_code_at(&d->code, t.begin, &n))
		return p->address + 1;
	t.end = t.end - t.begin > n ? t.begin + n : t.end;
	t.count = ct_instructions_decode(&d->code, t.begin, t.end, &t.list);
	if (t.count) {
		add_values(d, &t);
		choose_shown(d, &t);
		add_lines(d, &t);
		add_names(d, &t);
		begin_output(d);
		print_routine(d, &t);
	}
	for (size_t i = 0; i < t.name_count; i++)
		free(t.names[i].name);
	free(t.names);
	ct_instructions_free(t.list, t.count);
	return t.end;
}

/* Is a function that location L is in wanted? Also one that is inlined there. */
static bool is_picked(const struct disasm *d, const struct ct_location *l)
{
	const struct ct_profile *p = d->r->p;

	for (uint32_t i = 0; i < l->line_count; i++) {
		uint32_t f = p->lines[l->first_line + i].function;

		if (f != CT_NONE && ct_regex_match_string(d->pick, p, p->functions[f].name))
			return true;
	}
	return false;
}

static bool same_module(const struct ct_profile *p, uint32_t a, uint32_t b)
{
	const struct ct_mapping *x = &p->mappings[a], *y = &p->mappings[b];

	return !strcmp(ct_text(p, x->file), ct_text(p, y->file)) &&
	       !strcmp(ct_text(p, x->build_id), ct_text(p, y->build_id));
}

static void add_points(struct disasm *d, uint32_t mapping)
{
	const struct ct_graph *g = d->r->graph;
	struct ct_profile *p = d->r->p;

	d->point_count = 0;
	for (size_t i = 0; i < p->location_count; i++) {
		const struct ct_location *l = &p->locations[i];
		const struct ct_mapping *m =
			l->mapping == CT_NONE ? NULL : &p->mappings[l->mapping];
		struct point to = { .node = &g->nodes[g->location_nodes[g->first_node[i]]],
				    .location = (uint32_t)i };

		if (!m || !same_module(p, l->mapping, mapping) ||
		    !ct_dwarf_module_linked(&d->module, l->address, m->start, m->limit, m->offset,
					    &to.address))
			continue;
		to.is_picked = is_picked(d, l);
		*CT_PUSH(d->points, d->point_count, d->point_room) = to;
	}
	qsort(d->points, d->point_count, sizeof(*d->points), by_address);
}

static void show_module(struct disasm *d, uint32_t mapping)
{
	const struct ct_profile *p = d->r->p;
	const char *build_id = ct_text(p, p->mappings[mapping].build_id);
	uint64_t end = 0;
	char *why;

	d->path = ct_text(p, p->mappings[mapping].file);
	ct_dwarf_module_open(&d->module, d->path, build_id, d->wish->roots);
	if (d->module.image < 0 || !ct_dwarf_code_open(&d->code, &d->module)) {
		why = ct_verb_symbolize_no_file(&d->module, build_id, d->wish->roots[1]);
		fprintf(stderr, "cprof list: no instructions of %s: %s\n", d->path, why);
		free(why);
		ct_dwarf_module_close(&d->module);
		return;
	}
	if (d->module.debug < 0 ||
	    ct_dwarf_open(&d->dwarf, d->module.debug, d->path, d->wish->roots))
		d->dwarf = NULL;
	add_points(d, mapping);
	for (size_t i = 0; i < d->point_count; i++)
		if (d->points[i].is_picked && d->points[i].address >= end)
			end = show_routine(d, &d->points[i]);
	for (; d->text_count; d->text_count--)
		ct_source_release(&d->texts[d->text_count - 1].source);
	if (d->dwarf)
		ct_dwarf_close(d->dwarf);
	ct_dwarf_code_close(&d->code);
	ct_dwarf_module_close(&d->module);
}

/* Shows each module that has a function to show. Returns whether there is any. */
static bool show_modules(struct disasm *d)
{
	const struct ct_profile *p = d->r->p;
	bool *is_done = ct_memory_alloc(p->mapping_count + 1), any = false;

	for (size_t i = 0; i < p->location_count; i++) {
		uint32_t m = p->locations[i].mapping;

		if (!is_picked(d, &p->locations[i]))
			continue;
		any = true;
		if (m == CT_NONE || is_done[m])
			continue;
		for (uint32_t k = 0; k < p->mapping_count; k++)
			is_done[k] = is_done[k] || same_module(p, k, m);
		show_module(d, m);
	}
	free(is_done);
	return any;
}

int ct_list_disasm(struct ct_report *r, struct ct_regex *pick, const struct ct_list_disasm *wish)
{
	struct disasm d = { .r = r, .wish = wish, .pick = pick, .json = ct_json_to(stdout) };
	int status = CT_FAILED;

	if (!ct_instructions_load()) {
		fprintf(stderr,
			"cprof list: -disasm needs libcapstone, which isn't installed: %s\n",
			ct_distribution_capstone());
		return CT_FAILED;
	}
	r->settings.granularity = CT_ADDRESSES;
	r->settings.no_inlines = true;
	ct_report_graph(r, &(struct ct_graph_wish){ .never_trim = true });
	if (!show_modules(&d)) {
		fprintf(stderr, "cprof: no function matches %s\n", wish->pattern);
	} else if (d.shown) {
		if (ct_report_wants_json()) {
			ct_json_close(&d.json, ']');
			ct_json_close(&d.json, '}');
		}
		status = ct_out_end();
	}
	free(d.points);
	free(d.texts);
	return status;
}
