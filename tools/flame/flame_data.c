/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the profile as the page reads it (tools/flame/page/data.js): JSON, with the bulk as base64
 * of variable-length numbers, about 5 bytes a sample and 2 a node of the tree. All tabs share
 * frames, strings and label sets.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "flame/flame.h"

static void letters(struct ct_flame_packer *p)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint32_t bits = p->bytes[0] << 16 | p->bytes[1] << 8 | p->bytes[2];

	for (unsigned i = 0; i < 4; i++)
		putc_unlocked(i <= p->count ? digits[bits >> (18 - 6 * i) & 63] : '=', p->to);
	p->count = 0;
	memset(p->bytes, 0, sizeof(p->bytes));
}

void ct_flame_data_number(struct ct_flame_packer *p, uint64_t n)
{
	do {
		p->bytes[p->count++] = (n & 127) | (n > 127 ? 128 : 0);
		if (p->count == 3)
			letters(p);
		n >>= 7;
	} while (n);
}

struct ct_flame_packer ct_flame_data_begin(FILE *to, const char *key)
{
	fprintf(to, ",\n\"%s\":\"", key);
	return (struct ct_flame_packer){ .to = to };
}

void ct_flame_data_end(struct ct_flame_packer *p)
{
	if (p->count)
		letters(p);
	fputc('"', p->to);
}

static void put_frames(const struct ct_frames *frames, FILE *to)
{
	struct ct_flame_packer p = ct_flame_data_begin(to, "frames");

	for (size_t i = 0; i < frames->count; i++) {
		const struct ct_frame *f = &frames->list[i];

		ct_flame_data_number(&p, f->name);
		ct_flame_data_number(&p, f->file);
		ct_flame_data_number(&p, f->module);
		ct_flame_data_number(&p, f->line);
		ct_flame_data_number(&p, f->last_line);
		ct_flame_data_number(&p, f->kind);
	}
	ct_flame_data_end(&p);
}

/* Returns how many levels the parent of node I is above node I - 1. */
static uint32_t levels_up(const struct ct_tree *tree, size_t i)
{
	uint32_t at = i - 1, levels = 0;

	while (at != tree->nodes[i].parent) {
		at = tree->nodes[at].parent;
		levels++;
	}
	return levels;
}

/* Writes the nodes. Most are the first child of the node before; a bit says so, and no number
 * follows. */
static void put_nodes(const struct ct_tree *tree, FILE *to)
{
	struct ct_flame_packer p = ct_flame_data_begin(to, "nodes");

	for (size_t i = 1; i < tree->node_count; i++) {
		const struct ct_tree_node *node = &tree->nodes[i];
		uint32_t up = levels_up(tree, i);

		ct_flame_data_number(&p,
				     (uint64_t)node->frame << 2 | node->inlined << 1 | (up > 0));
		if (up)
			ct_flame_data_number(&p, up);
	}
	ct_flame_data_end(&p);
}

static void put_rows(const struct ct_tree *tree, FILE *to)
{
	struct ct_flame_packer p = ct_flame_data_begin(to, "rows");
	uint32_t node = 0;

	for (size_t i = 0; i < tree->row_count; i++) {
		ct_flame_data_number(&p, tree->rows[i].node - node);
		node = tree->rows[i].node;
		ct_flame_data_number(&p, (uint64_t)tree->rows[i].labels << 1 | tree->rows[i].side);
		for (size_t j = 0; j < tree->type_count; j++)
			ct_flame_data_number(&p, tree->values[i * tree->type_count + j]);
	}
	ct_flame_data_end(&p);
}

/* The strings INDICES[0 .. N-1]; NULL: the first N. */
static void put_strings(const struct ct_profile *p, const char *key, const uint32_t *indices,
			size_t n, FILE *to)
{
	fprintf(to, ",\n\"%s\":[", key);
	for (size_t i = 0; i < n; i++) {
		if (i)
			fputc(',', to);
		ct_flame_text_json(to, ct_text(p, indices ? indices[i] : i));
	}
	fputs("]", to);
}

static void put_label_sets(const struct ct_profile *pool, FILE *to)
{
	fputs(",\n\"labelSets\":[", to);
	for (size_t i = 0; i < pool->label_set_count; i++) {
		const struct ct_label_set *set = &pool->label_sets[i];

		fputs(i ? ",[" : "[", to);
		for (uint32_t j = 0; j < set->count; j++)
			fprintf(to, "%s%u,%u", j ? "," : "", pool->labels[set->first + j].key,
				pool->labels[set->first + j].text);
		fputc(']', to);
	}
	fputs("]", to);
}

static void put_types(const struct ct_profile *p, FILE *to)
{
	fputs(",\n\"types\":[", to);
	for (size_t i = 0; i < p->type_count; i++) {
		fputs(i ? ",[" : "[", to);
		ct_flame_text_json(to, ct_text(p, p->types[i].type));
		fputc(',', to);
		ct_flame_text_json(to, ct_text(p, p->types[i].unit));
		fputc(']', to);
	}
	fputs("]", to);
}

static void fact(FILE *to, bool *follows, const char *name, const char *text)
{
	fputs(*follows ? ",[" : "[", to);
	ct_flame_text_json(to, name);
	fputc(',', to);
	ct_flame_text_json(to, text);
	fputc(']', to);
	*follows = true;
}

static void put_facts(const struct ct_flame_tab *tab, FILE *to)
{
	const struct ct_profile *p = tab->profile;
	time_t seconds = p->time_nanos / 1000000000;
	bool follows = false;
	char text[64];
	struct tm tm;

	fputs(",\n\"info\":[", to);
	fact(to, &follows, "file", tab->file);
	if (tab->base_file)
		fact(to, &follows, "against", tab->base_file);
	if (p->time_nanos > 0 && gmtime_r(&seconds, &tm) &&
	    strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &tm))
		fact(to, &follows, "taken", text);
	if (p->duration_nanos > 0) {
		snprintf(text, sizeof(text), "%.2f s", (double)p->duration_nanos / 1e9);
		fact(to, &follows, "duration", text);
	}
	if (tab->tree.negative) {
		snprintf(text, sizeof(text), "%zu samples below zero", tab->tree.negative);
		fact(to, &follows, "not shown", text);
	}
	if (tab->tree.labels_left_out) {
		snprintf(text, sizeof(text), "%zu with more than %d values",
			 tab->tree.labels_left_out, CT_FLAME_LABEL_VALUES);
		fact(to, &follows, "labels that aren't filters", text);
	}
	fputs("]", to);
}

static void put_tab(const struct ct_flame *flame, const struct ct_flame_tab *tab, FILE *to)
{
	fputs("{\"name\":", to);
	ct_flame_text_json(to, tab->name);
	fputs(",\"base\":", to);
	if (tab->base_file)
		ct_flame_text_json(to, tab->base_file);
	else
		fputs("null", to);
	fprintf(to, ",\"defaultType\":%zu,\"counts\":{\"nodes\":%zu,\"rows\":%zu}", tab->type,
		tab->tree.node_count, tab->tree.row_count);
	put_types(tab->profile, to);
	put_facts(tab, to);
	put_strings(tab->profile, "comments", tab->profile->comments, tab->profile->comment_count,
		    to);
	put_nodes(&tab->tree, to);
	put_rows(&tab->tree, to);
	if (tab->source)
		fprintf(to, ",\n\"source\":%s", tab->source);
	if (tab->times)
		ct_flame_times_tab(flame, tab, to);
	fputc('}', to);
}

void ct_flame_data(const struct ct_flame *flame, FILE *to)
{
	fputs("{\"title\":", to);
	ct_flame_text_json(to, flame->title);
	fprintf(to, ",\"first\":%zu,\"frameCount\":%zu", flame->first, flame->frames.count);
	put_label_sets(flame->frames.pool, to);
	put_strings(flame->frames.pool, "strings", NULL, flame->frames.pool->string_count, to);
	put_frames(&flame->frames, to);
	fputs(",\n\"tabs\":[", to);
	for (size_t i = 0; i < flame->tab_count; i++) {
		fputs(i ? ",\n" : "", to);
		put_tab(flame, &flame->tabs[i], to);
	}
	fputs("]", to);
	if (flame->times)
		ct_flame_times_data(flame, to);
	fputs("}\n", to);
}
