/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the flame graph as a picture: static SVG with a title for every frame, readable by any
 * viewer. The root is at the top, the widest children come first, as in the page.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "flame/flame.h"
#include "core/report.h"

#define WIDTH 1200.0
#define ROW 17.0
#define TOP 40.0
#define LETTER 7.0 /* width of a letter of the 11.5 px monospaced text */
#define NARROW 0.3 /* narrower frames aren't drawn */
#define MAX_ROWS 2000

struct drawing {
	const struct ct_flame *flame;
	const struct ct_flame_tab *tab;
	FILE *to;
	int64_t *total, *base, *self; /* by node */
	uint32_t *first, *next;	      /* children, widest first */
	double scale;
	unsigned rows;
};

static void add_sum(int64_t *sum, int64_t value)
{
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = INT64_MAX;
}

static void sum_nodes(struct drawing *d)
{
	const struct ct_tree *tree = &d->tab->tree;

	for (size_t i = 0; i < tree->row_count; i++) {
		int64_t value = tree->values[i * tree->type_count + d->tab->type];
		uint32_t node = tree->rows[i].node;

		add_sum(tree->rows[i].side ? &d->base[node] : &d->total[node], value);
	}
	memcpy(d->self, d->total, tree->node_count * sizeof(*d->self));
	for (size_t i = tree->node_count; i-- > 1;) {
		add_sum(&d->total[tree->nodes[i].parent], d->total[i]);
		add_sum(&d->base[tree->nodes[i].parent], d->base[i]);
	}
}

static int by_width(const void *a, const void *b, void *totals)
{
	const int64_t *total = totals;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (total[x] != total[y])
		return total[x] > total[y] ? -1 : 1;
	return x < y ? -1 : 1;
}

static void link_children(struct drawing *d)
{
	const struct ct_tree *tree = &d->tab->tree;
	uint32_t *order = ct_memory_realloc(NULL, tree->node_count, sizeof(*order));

	for (size_t i = 0; i < tree->node_count; i++) {
		order[i] = i;
		d->first[i] = d->next[i] = CT_NONE;
	}
	qsort_r(order, tree->node_count, sizeof(*order), by_width, d->total);
	/* Goes from the narrowest node to the widest; each is put before its siblings. */
	for (size_t i = tree->node_count; i-- > 0;) {
		uint32_t parent = tree->nodes[order[i]].parent;

		if (parent == CT_NONE)
			continue;
		d->next[order[i]] = d->first[parent];
		d->first[parent] = order[i];
	}
	free(order);
}

static uint32_t hash_text(const char *text)
{
	uint32_t hash = 2166136261u;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 16777619u;
	return hash ^ hash >> 15;
}

static void hsl(FILE *to, double hue, double saturation, double light)
{
	double chroma = saturation * fmin(light, 1 - light);
	unsigned rgb[3];

	for (int i = 0; i < 3; i++) {
		double k = fmod((i == 0 ? 0 : i == 1 ? 8 : 4) + hue / 30, 12);

		rgb[i] = lround(255 * (light - chroma * fmax(-1, fmin(fmin(k - 3, 9 - k), 1))));
	}
	fprintf(to, "#%02x%02x%02x", rgb[0], rgb[1], rgb[2]);
}

static void change_colour(const struct drawing *d, uint32_t node)
{
	double whole = fmax(d->total[0], d->base[0]);
	double share = whole > 0 ? ((double)d->total[node] - (double)d->base[node]) / whole : 0;
	double amount = fmin(sqrt(fabs(share) / 0.1), 1);

	if (fabs(share) < 0.0005)
		fputs("#eeece8", d->to);
	else
		hsl(d->to, share > 0 ? 6 : 212, 0.8, 0.94 - 0.3 * amount);
}

static void colour(const struct drawing *d, uint32_t node)
{
	const struct ct_frames *frames = &d->flame->frames;
	const struct ct_frame *f;
	double shade;

	if (node == 0) {
		fputs("#dfe3e8", d->to);
		return;
	}
	if (d->tab->base) {
		change_colour(d, node);
		return;
	}
	f = &frames->list[d->tab->tree.nodes[node].frame];
	shade = hash_text(ct_frame_text(frames, f->name)) % 8 / 8.0;
	switch (f->kind) {
	case CT_FRAME_PROGRAM: hsl(d->to, 36, 0.92, 0.66 + shade * 0.12); break;
	case CT_FRAME_RUNTIME: hsl(d->to, 206, 0.42, 0.78 + shade * 0.09); break;
	case CT_FRAME_LIBRARY:
		hsl(d->to, 168 - hash_text(ct_frame_text(frames, f->module)) % 5 * 7, 0.42,
		    0.70 + shade * 0.12);
		break;
	case CT_FRAME_KERNEL: hsl(d->to, 268, 0.58, 0.79 + shade * 0.08); break;
	case CT_FRAME_JIT: hsl(d->to, 340, 0.68, 0.80 + shade * 0.07); break;
	case CT_FRAME_MARK: fputs("#d5d3cf", d->to); break;
	}
}

static void value_text(const struct drawing *d, int64_t value)
{
	const struct ct_profile *p = d->tab->profile;
	char text[CT_NUMBER_ROOM];

	ct_numbers_format(text, value, ct_text(p, p->types[d->tab->type].unit), "auto");
	ct_flame_text_markup(d->to, text, strlen(text));
}

static double percent(int64_t part, int64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static const char *name_of(const struct drawing *d, uint32_t node)
{
	return node ? ct_frame_name(&d->flame->frames, d->tab->tree.nodes[node].frame) : "all";
}

static void describe_node(const struct drawing *d, uint32_t node)
{
	const char *name = name_of(d, node);
	const struct ct_frame *f;

	ct_flame_text_markup(d->to, name, strlen(name));
	fputs("&#10;total ", d->to);
	value_text(d, d->total[node]);
	fprintf(d->to, " (%.2f %%), own ", percent(d->total[node], d->total[0]));
	value_text(d, d->self[node]);
	fprintf(d->to, " (%.2f %%)", percent(d->self[node], d->total[0]));
	if (d->tab->base) {
		fputs(", before ", d->to);
		value_text(d, d->base[node]);
	}
	if (node == 0)
		return;
	f = &d->flame->frames.list[d->tab->tree.nodes[node].frame];
	if (f->file) {
		const char *file = ct_frame_text(&d->flame->frames, f->file);

		fputs("&#10;", d->to);
		ct_flame_text_markup(d->to, file, strlen(file));
		if (f->line)
			fprintf(d->to, ":%u", f->line);
	}
	if (f->module) {
		const char *module = ct_frame_text(&d->flame->frames, f->module);

		fputs("&#10;", d->to);
		ct_flame_text_markup(d->to, module, strlen(module));
	}
	if (d->tab->tree.nodes[node].inlined)
		fputs(", inlined", d->to);
}

/* Returns the number of bytes of the first LETTERS letters. */
static size_t bytes_of(const char *text, size_t letters)
{
	size_t length = strlen(text), at = 0;
	uint32_t ignored;

	while (letters-- > 0 && at < length)
		at += ct_flame_text_letter(text + at, length - at, &ignored);
	return at;
}

/* Writes as many letters of the name, or of its short form, as fit. */
static void label(const struct drawing *d, uint32_t node, double x, double y, double width)
{
	size_t room = width > 6 ? (size_t)((width - 6) / LETTER) : 0;
	bool inlined = node && d->tab->tree.nodes[node].inlined;
	char *name;

	if (room < 3)
		return;
	name = ct_memory_strdup(name_of(d, node));
	for (int step = 1; step <= 2 && bytes_of(name, room) < strlen(name); step++) {
		char *shorter = ct_flame_text_shorter(name_of(d, node), step);

		if (*shorter) {
			free(name);
			name = shorter;
		} else {
			free(shorter);
		}
	}
	fprintf(d->to, "<text x=\"%.1f\" y=\"%.1f\"%s>", x + 3, y + 12.5,
		inlined ? " font-style=\"italic\"" : "");
	if (bytes_of(name, room) == strlen(name)) {
		ct_flame_text_markup(d->to, name, strlen(name));
	} else {
		ct_flame_text_markup(d->to, name, bytes_of(name, room - 1));
		fputs("&#8230;", d->to);
	}
	fputs("</text>", d->to);
	free(name);
}

static void frame(const struct drawing *d, uint32_t node, unsigned row, double x, double width)
{
	double y = TOP + row * ROW;

	fprintf(d->to, "<g><title>");
	describe_node(d, node);
	fprintf(d->to, "</title><rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" fill=\"",
		x, y, width > 2 ? width - 0.7 : width, ROW - 1);
	colour(d, node);
	fputs("\"/>", d->to);
	label(d, node, x, y, width);
	fputs("</g>\n", d->to);
}

/* Used for counting rows (DRAWS false) and for drawing. No recursion, because stacks may be deep.
 */
static unsigned walk_nodes(struct drawing *d, bool draws)
{
	const struct ct_tree *tree = &d->tab->tree;
	double *x = ct_memory_alloc(tree->node_count * sizeof(*x));
	unsigned row = 0, rows = 0;
	uint32_t at = 0;

	x[0] = 0;
	while (at != CT_NONE) {
		double width = (double)d->total[at] * d->scale, start = x[at];
		uint32_t child = d->first[at];

		if (row + 1 > rows)
			rows = row + 1;
		if (draws)
			frame(d, at, row, start + 10, width);
		for (uint32_t c = child; c != CT_NONE; c = d->next[c]) {
			x[c] = start;
			start += (double)d->total[c] * d->scale;
		}
		if (child != CT_NONE && row + 1 < MAX_ROWS &&
		    (double)d->total[child] * d->scale >= NARROW) {
			at = child;
			row++;
			continue;
		}
		while (at != CT_NONE && (d->next[at] == CT_NONE ||
					 (double)d->total[d->next[at]] * d->scale < NARROW)) {
			at = tree->nodes[at].parent;
			row -= at != CT_NONE;
		}
		at = at == CT_NONE ? CT_NONE : d->next[at];
	}
	free(x);
	return rows;
}

static void draw_heading(const struct drawing *d)
{
	const struct ct_flame *flame = d->flame;
	const struct ct_flame_tab *tab = d->tab;
	const char *type = ct_text(tab->profile, tab->profile->types[tab->type].type);
	double height = TOP + d->rows * ROW + 10;

	fprintf(d->to,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
		"viewBox=\"0 0 %.0f %.0f\" role=\"img\" font-family=\"ui-monospace, 'DejaVu Sans "
		"Mono', "
		"Menlo, Consolas, monospace\" font-size=\"11.5\">\n<title>",
		WIDTH + 20, height, WIDTH + 20, height);
	ct_flame_text_markup(d->to, flame->title, strlen(flame->title));
	fputs("</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
	      "<text x=\"10\" y=\"24\" font-size=\"16\">",
	      d->to);
	ct_flame_text_markup(d->to, flame->title, strlen(flame->title));
	fputs("</text>\n<text x=\"1210\" y=\"24\" text-anchor=\"end\">", d->to);
	ct_flame_text_markup(d->to, type, strlen(type));
	fputs(": ", d->to);
	value_text(d, d->total[0]);
	if (tab->base) {
		fputs(", before: ", d->to);
		value_text(d, d->base[0]);
		fputs(" (red: more, blue: less)", d->to);
	}
	fputs("</text>\n", d->to);
}

void ct_flame_svg(const struct ct_flame *flame, FILE *to)
{
	const struct ct_flame_tab *tab = &flame->tabs[flame->first];
	size_t n = tab->tree.node_count;
	struct drawing d = { .flame = flame, .tab = tab, .to = to };

	d.total = ct_memory_alloc(n * sizeof(*d.total));
	d.base = ct_memory_alloc(n * sizeof(*d.base));
	d.self = ct_memory_alloc(n * sizeof(*d.self));
	d.first = ct_memory_alloc(n * sizeof(*d.first));
	d.next = ct_memory_alloc(n * sizeof(*d.next));
	sum_nodes(&d);
	link_children(&d);
	d.scale = d.total[0] > 0 ? WIDTH / (double)d.total[0] : 0;
	d.rows = walk_nodes(&d, false);
	draw_heading(&d);
	walk_nodes(&d, true);
	fputs("</svg>\n", to);
	free(d.total);
	free(d.base);
	free(d.self);
	free(d.first);
	free(d.next);
}
