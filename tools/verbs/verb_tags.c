/* SPDX-License-Identifier: BSD-3-Clause */
/* `cprof tags`: shows the labels of the samples, and the value of each. */
#include <stdlib.h>
#include <string.h>

#include "verbs/verbs.h"

static const struct ct_option options[] = { CT_END };

/* A label's value as shown (text, or a number with its unit), and the sum of its samples. */
struct tag {
	const char *key;
	char *text;
	int64_t value;
};

struct tags {
	struct tag *items;
	size_t count, room;
	struct ct_table table;
};

static bool same_tag(const void *context, uint32_t index, const void *key)
{
	const struct tag *a = &((const struct tags *)context)->items[index], *b = key;

	return !strcmp(a->key, b->key) && !strcmp(a->text, b->text);
}

/* The entry owns TEXT from then on. */
static void count_tag(struct tags *t, const char *key, char *text, int64_t value)
{
	struct tag want = { key, text, 0 };
	uint64_t hash = ct_hash(ct_table_hash_text(key), ct_table_hash_text(text));
	uint32_t index = ct_table_find(&t->table, hash, same_tag, t, &want);

	if (index == UINT32_MAX) {
		index = (uint32_t)t->count;
		*CT_PUSH(t->items, t->count, t->room) = want;
		ct_table_add(&t->table, hash, index);
	} else {
		free(text);
	}
	t->items[index].value = ct_add(t->items[index].value, value);
}

static void count_set(struct tags *t, const struct ct_report *r, uint32_t set, int64_t value)
{
	const struct ct_label_set *s = &r->p->label_sets[set];
	char text[CT_NUMBER_ROOM];

	for (uint32_t i = 0; i < s->count; i++) {
		const struct ct_label *l = &r->p->labels[s->first + i];

		if (l->text)
			count_tag(t, ct_text(r->p, l->key),
				  ct_memory_strdup(ct_text(r->p, l->text)), value);
		else if (l->number || l->unit)
			count_tag(
				t, ct_text(r->p, l->key),
				ct_memory_strdup(ct_numbers_format(
					text, l->number,
					ct_filter_tags_units_of(&r->label_units, l->key), r->unit)),
				value);
	}
}

/* Samples are first summed by label set, because there are few label sets. */
static void collect_tags(struct tags *t, const struct ct_report *r)
{
	const struct ct_profile *p = r->p;
	int64_t *sums = ct_memory_alloc(p->label_set_count * sizeof(*sums));
	bool *seen = ct_memory_alloc(p->label_set_count * sizeof(*seen));

	for (size_t i = 0; i < p->sample_count; i++) {
		uint32_t set = p->samples[i].label_set;

		sums[set] = ct_add(sums[set], ct_values(p, i)[r->settings.type]);
		seen[set] = true;
	}
	for (uint32_t i = 0; i < p->label_set_count; i++)
		if (seen[i])
			count_set(t, r, i, sums[i]);
	free(sums);
	free(seen);
}

static int by_size(int64_t a, int64_t b)
{
	uint64_t x = (uint64_t)ct_abs(a), y = (uint64_t)ct_abs(b);

	return x == y ? 0 : x > y ? -1 : 1;
}

static int by_key(const void *x, const void *y)
{
	const struct tag *a = x, *b = y;
	int r = strcmp(a->key, b->key);

	r = r ? r : by_size(a->value, b->value);
	return r ? r : strcmp(a->text, b->text);
}

/* The tags of one key: items[first .. first + count - 1]. */
static int64_t sum_of(const struct tags *t, size_t first, size_t *n)
{
	int64_t sum = 0;

	for (*n = 0;
	     first + *n < t->count && !strcmp(t->items[first].key, t->items[first + *n].key); ++*n)
		sum = ct_add(sum, t->items[first + *n].value);
	return sum;
}

static int print_value(const struct ct_report *r, char *to, int64_t value)
{
	const char *unit;
	double v;

	if (!strcmp(r->unit, "auto"))
		return (int)strlen(ct_report_value(r, to, value));
	v = ct_numbers_scale(value, r->from_unit, r->unit, &unit);

	return snprintf(to, CT_NUMBER_ROOM, "%.1f%s", v, unit);
}

static void print_key(const struct ct_report *r, const struct tag *tags, size_t n, int64_t total)
{
	char value[CT_NUMBER_ROOM], share[CT_NUMBER_ROOM];

	print_value(r, value, total);
	fputs(ct_out_paint(CT_BOLD), stdout);
	ct_out_text(stdout, tags->key);
	printf(": Total %s%s\n", value, ct_out_paint(CT_PLAIN));
	for (size_t i = 0; i < n; i++) {
		print_value(r, value, tags[i].value);
		if (total > 0)
			printf("%20s (%s): ", value,
			       ct_numbers_percent(share, tags[i].value, total));
		else
			printf("%20s: ", value);
		ct_out_text(stdout, tags[i].text);
		putchar('\n');
	}
	putchar('\n');
}

static void json_key(struct ct_json *j, const struct tag *tags, size_t n, int64_t total)
{
	ct_json_open(j, NULL, '{');
	ct_json_text(j, "key", tags->key);
	ct_json_integer(j, "total", total);
	ct_json_open(j, "values", '[');
	for (size_t i = 0; i < n; i++) {
		ct_json_open(j, NULL, '{');
		ct_json_text(j, "text", tags[i].text);
		ct_json_integer(j, "value", tags[i].value);
		ct_json_close(j, '}');
	}
	ct_json_close(j, ']');
	ct_json_close(j, '}');
}

static void show_tags(const struct ct_report *r, const struct tags *t)
{
	struct ct_json j = ct_json_to(stdout);
	bool json = ct_report_wants_json();
	size_t n;

	if (json) {
		ct_json_open(&j, NULL, '{');
		ct_report_heading_json(r, &j);
		ct_json_open(&j, "keys", '[');
	}
	for (size_t i = 0; i < t->count; i += n) {
		int64_t total = sum_of(t, i, &n);

		if (json)
			json_key(&j, &t->items[i], n, total);
		else
			print_key(r, &t->items[i], n, total);
	}
	if (json) {
		ct_json_close(&j, ']');
		ct_json_close(&j, '}');
	} else if (!t->count) {
		puts("no labels");
	}
}

static int verb_tags(int argc, char **argv)
{
	int first = ct_report_parse(&ct_verb_tags, argc, argv, options);
	struct tags t = { 0 };
	struct ct_report r;

	if (first < 0)
		return ct_options_status(first);
	if (first == argc)
		return ct_options_wrong(&ct_verb_tags, "a profile is needed");
	if (ct_report_open(&r, argv + first, argc - first))
		return CT_FAILED;
	collect_tags(&t, &r);
	if (t.count)
		qsort(t.items, t.count, sizeof(*t.items), by_key);
	ct_report_begin(&r);
	show_tags(&r, &t);
	for (size_t i = 0; i < t.count; i++)
		free(t.items[i].text);
	free(t.items);
	ct_table_release(&t.table);
	ct_report_close(&r);
	return ct_out_end();
}

const struct ct_verb ct_verb_tags = {
	.name = "tags",
	.operands = "FILE...",
	.summary = "The labels of the samples: threads, sizes, your own",
	.details = "",
	.run = verb_tags,
};
