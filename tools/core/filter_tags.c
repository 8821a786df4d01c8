/* SPDX-License-Identifier: BSD-3-Clause */
/* Filters over labels; see model.h. A range is "32kb", ":64kb", "4mb:" or "12kb:64mb", and is
 * compared with numeric labels. Any other text is an expression for text labels.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/model.h"
#include "core/report.h"

struct range {
	bool is_range, has_low, has_high;
	double low, high;
	char *unit; /* unit of both bounds; only labels whose unit converts to it match */
};

struct ct_tag_filter {
	char *key; /* NULL = any key */
	struct range range;
	struct ct_regex **regexes;
	size_t count;
};

/* Reads a whole number with an optional unit, after a blank or none, at *TEXT, and moves *TEXT past
 * it. */
static bool quantity(const char **text, int64_t *value, char **unit)
{
	const char *at = *text;
	char *end;
	size_t n = 0;

	if (!isdigit((unsigned char)at[*at == '+' || *at == '-']))
		return false;
	errno = 0;
	*value = strtoll(at, &end, 10);
	if (errno)
		return false;
	end += *end == ' ';
	while (isalpha((unsigned char)end[n]))
		n++;
	*unit = ct_memory_printf("%.*s", (int)n, end);
	*text = end + n;
	return true;
}

/* Reads the text after the first colon of "LOW:HIGH". */
static bool upper_end(struct range *r, const char *text)
{
	const char *name;
	int64_t value;
	char *unit;
	bool same;

	if (!quantity(&text, &value, &unit))
		return false;
	r->high = ct_numbers_scale(value, unit, r->unit, &name);
	r->has_high = true;
	same = !strcmp(name, r->unit);
	free(unit);
	return same && !*text;
}

static bool parse_range(struct range *r, const char *text)
{
	bool only_high = *text == ':';
	const char *name;
	int64_t value;
	char *unit;

	text += only_high;
	if (!quantity(&text, &value, &unit))
		return false;
	r->low = r->high = ct_numbers_scale(value, unit, unit, &name);
	r->unit = ct_memory_strdup(name);
	free(unit);
	r->has_low = !only_high;
	r->has_high = only_high || *text != ':';
	if (!*text)
		return true;
	if (only_high || *text != ':')
		return false;
	return !text[1] || upper_end(r, text + 1);
}

static int compile(struct ct_tag_filter *f, const char *option, const char *text)
{
	char *copy = ct_memory_strdup(text), *rest = copy, *part;
	int error = 0;

	while (!error && (part = strsep(&rest, ","))) {
		f->regexes = ct_memory_realloc(f->regexes, f->count + 1, sizeof(*f->regexes));
		f->regexes[f->count] = ct_regex_new(option, part);
		error = !f->regexes[f->count];
		f->count += !error;
	}
	free(copy);
	return error;
}

struct ct_tag_filter *ct_filter_tags_new(const char *option, const char *text)
{
	struct ct_tag_filter *f = ct_memory_alloc(sizeof(*f));
	const char *equals = strchr(text, '=');

	if (equals) {
		f->key = ct_memory_printf("%.*s", (int)(equals - text), text);
		text = equals + 1;
	}
	f->range.is_range = parse_range(&f->range, text);
	if (!f->range.is_range && compile(f, option, text)) {
		ct_filter_tags_free(f);
		return NULL;
	}
	return f;
}

void ct_filter_tags_free(struct ct_tag_filter *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->count; i++)
		ct_regex_free(f->regexes[i]);
	free(f->regexes);
	free(f->range.unit);
	free(f->key);
	free(f);
}

static bool in_range(const struct range *r, int64_t number, const char *unit)
{
	const char *name;
	double v = ct_numbers_scale(number, unit, r->unit, &name);

	return !strcmp(name, r->unit) && (!r->has_low || v >= r->low) &&
	       (!r->has_high || v <= r->high);
}

/* Finds the unit of each numeric label: the first one in a sample, else the one that follows from
 * its name. */

static const char *inferred(const char *key)
{
	return !strcmp(key, "alignment") || !strcmp(key, "request") ? "bytes" : key;
}

void ct_filter_tags_units_init(struct ct_label_units *u, const struct ct_profile *p)
{
	u->count = p->string_count;
	u->units = ct_memory_alloc(u->count * sizeof(*u->units));
	/* Label sets are in the order of the samples that first used them. */
	for (size_t i = 0; i < p->label_count; i++) {
		const struct ct_label *l = &p->labels[i];

		if (l->text || (!l->number && !l->unit))
			continue;
		if (!u->units[l->key] || !*u->units[l->key])
			u->units[l->key] = ct_text(p, l->unit);
	}
	for (size_t i = 0; i < u->count; i++)
		if (u->units[i] && !*u->units[i])
			u->units[i] = inferred(p->strings[i]);
}

void ct_filter_tags_units_release(struct ct_label_units *u)
{
	free(u->units);
}

const char *ct_filter_tags_units_of(const struct ct_label_units *u, uint32_t key)
{
	return key < u->count && u->units[key] ? u->units[key] : "";
}

static bool match_range(const struct ct_tag_filter *f, const struct ct_profile *p,
			const struct ct_label_set *set, const struct ct_label_units *units)
{
	for (uint32_t i = 0; i < set->count; i++) {
		const struct ct_label *l = &p->labels[set->first + i];

		const char *unit = ct_filter_tags_units_of(units, l->key);

		if (l->text || (!l->number && !l->unit) ||
		    (f->key && strcmp(f->key, ct_text(p, l->key)) != 0))
			continue;
		/* tid=123 needs no unit, as tid has none. */
		if (f->key && !*f->range.unit && !strcmp(unit, f->key))
			unit = "";
		if (in_range(&f->range, l->number, unit))
			return true;
	}
	return false;
}

/* With a key the expression is matched with the value's text, without a key with "key:text". */
static bool some_label_matches(const struct ct_tag_filter *f, struct ct_regex *r,
			       const struct ct_profile *p, const struct ct_label_set *set)
{
	for (uint32_t i = 0; i < set->count; i++) {
		const struct ct_label *l = &p->labels[set->first + i];
		const char *key = ct_text(p, l->key), *text = ct_text(p, l->text);
		bool yes;

		if (!l->text || (f->key && strcmp(f->key, key)))
			continue;
		if (f->key) {
			yes = ct_regex_match(r, text);
		} else {
			char *both = ct_memory_printf("%s:%s", key, text);

			yes = ct_regex_match(r, both);
			free(both);
		}
		if (yes)
			return true;
	}
	return false;
}

bool ct_filter_tags_match(struct ct_tag_filter *f, const struct ct_profile *p, uint32_t label_set,
			  const struct ct_label_units *units)
{
	const struct ct_label_set *set = &p->label_sets[label_set];
	bool any = f->key; /* with a key one expression must match, without a key all */

	if (f->range.is_range)
		return match_range(f, p, set, units);
	for (size_t i = 0; i < f->count; i++)
		if (some_label_matches(f, f->regexes[i], p, set) == any)
			return any;
	return !any;
}

/* -threads: samples by thread. */

static const char *asked; /* NULL: not; "tid": threads of one name apart */

const struct ct_option ct_threads_options[] = {
	CT_MAYBE("threads", "tid", &asked,
		 "each thread separately, by name; tid: those of one name, too"),
	CT_END
};

bool ct_filter_tags_threads_wanted(void)
{
	return asked && strcmp(asked, "false") != 0 && strcmp(asked, "0") != 0;
}

/* Returns the set of labels SET with the thread's id in its name. */
static uint32_t with_id(struct ct_profile *p, uint32_t set)
{
	struct ct_label_set from = p->label_sets[set];
	const struct ct_label *name = ct_model_label(p, set, "thread"),
			      *id = ct_model_label(p, set, "tid");
	struct ct_label *labels;
	char *text;

	if (!name || !name->text || !id || id->text)
		return set;
	labels = ct_memory_alloc(from.count * sizeof(*labels));
	memcpy(labels, p->labels + from.first, from.count * sizeof(*labels));
	text = ct_memory_printf("%s %" PRId64, ct_text(p, name->text), id->number);
	labels[name - (p->labels + from.first)].text = ct_model_string(p, text);
	set = ct_model_label_set(p, labels, from.count);
	free(labels);
	free(text);
	return set;
}

void ct_filter_tags_threads_apart(struct ct_profile *p)
{
	size_t count = p->label_set_count;
	uint32_t *sets;

	if (!asked || strcmp(asked, "tid") != 0)
		return;
	sets = ct_memory_alloc((count + 1) * sizeof(*sets));
	for (size_t i = 0; i < count; i++)
		sets[i] = with_id(p, (uint32_t)i);
	for (size_t i = 0; i < p->sample_count; i++)
		p->samples[i].label_set = sets[p->samples[i].label_set];
	free(sets);
}
