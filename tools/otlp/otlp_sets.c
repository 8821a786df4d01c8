/* SPDX-License-Identifier: BSD-3-Clause */
/* Label sets as attributes and links; see otlp.h.
 *
 * A key is given once in OTLP: labels of the same key become one attribute with a list of values.
 */
#include <stdlib.h>
#include <string.h>

#include "otlp/otlp.h"

struct pair {
	const char *ours, *theirs;
};

static const struct pair keys[] = {
	{ "thread", "thread.name" },
	{ "tid", "thread.id" },
	{ NULL, NULL },
};

/* pprof's units as UCUM writes them */
static const struct pair units[] = {
	{ "bytes", "By" },	  { "nanoseconds", "ns" }, { "microseconds", "us" },
	{ "milliseconds", "ms" }, { "seconds", "s" },	   { "count", "1" },
	{ NULL, NULL },
};

/* Returns the name of NAME in OTLP's conventions, or NAME. */
static const char *theirs(const struct pair *p, const char *name)
{
	for (; p->ours; p++)
		if (!strcmp(p->ours, name))
			return p->theirs;
	return name;
}

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Is TEXT exactly N bytes in lower-case hexadecimal, and not all zero? */
static bool read_id(const char *text, uint8_t *to, size_t n)
{
	uint8_t any = 0;

	if (strlen(text) != 2 * n)
		return false;
	for (size_t i = 0; i < n; i++) {
		int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		to[i] = (uint8_t)(high << 4 | low);
		any |= to[i];
	}
	return any != 0;
}

static const struct ct_label *find_label(const struct ct_profile *p, const struct ct_label_set *set,
					 const char *key)
{
	const struct ct_label *found = NULL;

	for (uint32_t i = 0; i < set->count; i++) {
		const struct ct_label *l = &p->labels[set->first + i];

		if (strcmp(ct_text(p, l->key), key) != 0)
			continue;
		if (found)
			return NULL;
		found = l;
	}
	return found && found->text ? found : NULL;
}

static bool same_link(const void *context, uint32_t index, const void *key)
{
	const struct ct_otlp_rows *r = context;

	return !memcmp(&r->links[index], key, sizeof(*r->links));
}

/* A link needs both ids; else the label that is there stays an attribute. */
static uint32_t take_link(struct ct_otlp_rows *r, const struct ct_label_set *set)
{
	const struct ct_label *trace = find_label(r->p, set, CT_OTLP_TRACE_LABEL);
	const struct ct_label *span = find_label(r->p, set, CT_OTLP_SPAN_LABEL);
	struct ct_otlp_link link;
	uint64_t words[3], hash;
	uint32_t index;

	if (!trace || !span || !read_id(ct_text(r->p, trace->text), link.trace, OTLP_TRACE_BYTES) ||
	    !read_id(ct_text(r->p, span->text), link.span, OTLP_SPAN_BYTES))
		return 0;
	memcpy(words, &link, sizeof(words));
	hash = ct_hash(ct_hash(words[0], words[1]), words[2]);
	index = ct_table_find(&r->link_table, hash, same_link, r, &link);
	if (index == UINT32_MAX) {
		index = (uint32_t)r->link_count;
		*CT_PUSH(r->links, r->link_count, r->link_room) = link;
		ct_table_add(&r->link_table, hash, index);
	}
	return index + 1;
}

static bool is_of_link(const struct ct_profile *p, const struct ct_label *l)
{
	return !strcmp(ct_text(p, l->key), CT_OTLP_TRACE_LABEL) ||
	       !strcmp(ct_text(p, l->key), CT_OTLP_SPAN_LABEL);
}

/* Compares keys as texts, because a file may contain a string twice. */
static bool same_key(const struct ct_profile *p, const struct ct_label *a, const struct ct_label *b)
{
	return a->key == b->key || !strcmp(ct_text(p, a->key), ct_text(p, b->key));
}

static bool is_first(const struct ct_profile *p, const struct ct_label_set *set, uint32_t which)
{
	for (uint32_t i = 0; i < which; i++)
		if (same_key(p, &p->labels[set->first + i], &p->labels[set->first + which]))
			return false;
	return true;
}

/* Adds the attribute of label WHICH and of all later labels with the same key. */
static uint32_t take_label(struct ct_otlp_rows *r, const struct ct_label_set *set, uint32_t which)
{
	const struct ct_label *l = &r->p->labels[set->first + which];
	struct ct_otlp_value *values = ct_memory_alloc(set->count * sizeof(*values));
	const char *key = ct_text(r->p, l->key), *unit = "";
	size_t count = 0;
	uint32_t number;

	for (uint32_t i = which; i < set->count; i++) {
		const struct ct_label *other = &r->p->labels[set->first + i];

		if (!same_key(r->p, other, l))
			continue;
		values[count] = (struct ct_otlp_value){ .number = other->number };
		if (other->text)
			values[count] = ct_otlp_rows_value(r, ct_text(r->p, other->text));
		else if (other->unit)
			unit = ct_text(r->p, other->unit);
		count++;
	}
	number = ct_otlp_rows_attribute(r, theirs(keys, key), theirs(units, unit), values, count,
					count > 1);
	free(values);
	return number;
}

static void take_set(struct ct_otlp_rows *r, uint32_t index)
{
	const struct ct_label_set *from = &r->p->label_sets[index];
	struct ct_otlp_set *to = &r->sets[index];

	to->first = (uint32_t)r->set_attribute_count;
	to->link = take_link(r, from);
	for (uint32_t i = 0; i < from->count; i++) {
		const struct ct_label *l = &r->p->labels[from->first + i];

		if ((to->link && is_of_link(r->p, l)) || !is_first(r->p, from, i))
			continue;
		*CT_PUSH(r->set_attributes, r->set_attribute_count, r->set_attribute_room) =
			take_label(r, from, i);
	}
	to->count = (uint32_t)r->set_attribute_count - to->first;
}

void ct_otlp_sets_take(struct ct_otlp_rows *r)
{
	bool *seen = ct_memory_alloc(r->p->label_set_count * sizeof(*seen));

	r->sets = ct_memory_alloc(r->p->label_set_count * sizeof(*r->sets));
	for (size_t i = 0; i < r->row_count; i++) {
		uint32_t set = r->rows[i].set;

		if (!seen[set])
			take_set(r, set);
		seen[set] = true;
	}
	free(seen);
}
