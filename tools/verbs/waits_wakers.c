/* SPDX-License-Identifier: BSD-3-Clause */
/* The wakers of the waits of a wall profile; see verbs.h. */
#include "verbs/verbs.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/read.h"

#define COLUMNS_BEFORE 24
/* Functions shown that ended one wait. */
#define WAKERS_MAX 3

/* Names are "waiter\tobject" in WAITS, "waiter\tobject\twaker" in ENDS. */
struct chains {
	const struct ct_profile *p;
	size_t waits, delay; /* types */
	struct ct_sums sums, ends;
	int64_t total;
};

/* The file of WORD's wakers beside FILE: that of wall.pb is lock.wakers.pb. With an empty WORD, it
 * has FILE's own name: w.pb and w.wakers.pb. Returns NULL if FILE's name has no word to replace.
 * The caller frees it. */
static char *beside_of(const char *file, const char *word)
{
	const char *wall = ct_base_name(file), *found = NULL;
	char *other, *wakers;

	if (!*word)
		return ct_run_show_beside(file, "wakers");
	while ((wall = strstr(wall, "wall")))
		found = wall++;
	if (!found)
		return NULL;
	other = ct_memory_printf("%.*s%s%s", (int)(found - file), file, word, found + 4);
	wakers = ct_run_show_beside(other, "wakers");
	free(other);
	return wakers;
}

static bool has_wakers(struct chains *c)
{
	const struct ct_profile *p = c->p;

	c->waits = 0;
	c->delay = 1;
	return p->type_count == 2 && !strcmp(ct_text(p, p->types[0].type), "waits") &&
	       !strcmp(ct_text(p, p->types[1].type), "delay");
}

static void add_to(struct ct_sums *s, const char *name, int64_t delay, int64_t waits)
{
	struct ct_sum *sum = ct_own_stack_sum(s, name);

	sum->value = ct_add(sum->value, delay);
	sum->count = ct_add(sum->count, waits);
}

static void add_sample(struct chains *c, struct ct_own *o, size_t sample)
{
	int64_t delay = ct_values(c->p, sample)[c->delay],
		waits = ct_values(c->p, sample)[c->waits];
	const char *lock = ct_own_stack_label(c->p, sample, "lock");
	const char *kind = ct_own_stack_label(c->p, sample, "kind");
	char *waker = ct_own_stack_waker(o, c->p, sample);
	char *wait = ct_memory_printf("%s\t%s", ct_own_stack_waiter(o, c->p, sample),
				      lock   ? lock
				      : kind ? kind
					     : "");
	char *both = ct_memory_printf("%s\t%s", wait, waker);

	add_to(&c->sums, wait, delay, waits);
	add_to(&c->ends, both, delay, waits);
	c->total = ct_add(c->total, delay);
	free(both);
	free(wait);
	free(waker);
}

/* Prints "  12.34ms   5.00%  NAME". */
static void put_row(const struct chains *c, int64_t value, const char *indent, const char *name)
{
	char number[CT_NUMBER_ROOM], share[CT_NUMBER_ROOM];

	printf("%10s %s  %s", ct_numbers_format(number, value, "nanoseconds", "auto"),
	       ct_numbers_percent(share, value, c->total), indent);
	ct_short_name_print(name, COLUMNS_BEFORE + strlen(indent));
	putchar('\n');
}

static void put_wakers(const struct chains *c, const struct ct_sum *wait)
{
	size_t n = strlen(wait->name);
	int shown = 0, more = 0;

	for (size_t i = 0; i < c->ends.count; i++) {
		const char *name = c->ends.list[i].name;
		char *text;

		if (strncmp(name, wait->name, n) || name[n] != '\t')
			continue;
		if (shown == WAKERS_MAX) {
			more++;
			continue;
		}
		text = ct_memory_printf("%s%s", name[n + 1] == '[' ? "" : "woken by ",
					name + n + 1);
		put_row(c, c->ends.list[i].value, "  ", text);
		free(text);
		shown++;
	}
	if (more)
		printf("%22s%d more\n", "", more);
}

/* Prints what waits, for what, and how often. */
static void put_wait(const struct chains *c, const struct ct_sum *wait)
{
	const char *object = strchr(wait->name, '\t');
	char *text = ct_memory_printf("%.*s%s%s, %lld wait%s", (int)(object - wait->name),
				      wait->name, object[1] ? ", for " : "", object + 1,
				      (long long)wait->count, wait->count == 1 ? "" : "s");

	fputs(ct_out_paint(CT_BOLD), stdout);
	put_row(c, wait->value, "", text);
	fputs(ct_out_paint(CT_PLAIN), stdout);
	free(text);
}

static void print_chains(const struct chains *c, const char *file, long rows)
{
	size_t shown = rows && (size_t)rows < c->sums.count ? (size_t)rows : c->sums.count;

	fputs("\nWho ended the waits; their stacks: cprof tree ", stdout);
	ct_out_text(stdout, file);
	putchar('\n');
	for (size_t i = 0; i < shown; i++) {
		put_wait(c, &c->sums.list[i]);
		put_wakers(c, &c->sums.list[i]);
	}
	if (shown < c->sums.count)
		printf("%20s%zu more\n", "", c->sums.count - shown);
}

static bool print_file(const char *file, const struct ct_profile *wall, const char *own, long rows)
{
	struct ct_profile *p = access(file, R_OK) ? NULL : ct_load_file(file);
	struct chains c = { .p = p };
	struct ct_own *o = NULL;
	bool shown = false;

	if (p && has_wakers(&c) && ct_siblings_overlap(p, wall))
		o = ct_own_new(p, own);
	for (size_t i = 0; o && i < p->sample_count; i++)
		add_sample(&c, o, i);
	ct_own_stack_sort(&c.sums);
	ct_own_stack_sort(&c.ends);
	if (o && c.total) {
		print_chains(&c, file, rows);
		shown = true;
	}
	ct_own_stack_release(&c.sums);
	ct_own_stack_release(&c.ends);
	ct_own_free(o);
	ct_model_free(p);
	return shown;
}

unsigned ct_waits_wakers_print(const char *file, const struct ct_profile *wall, const char *own,
			       long rows)
{
	static const char *const words[] = { "lock", "io", "" };
	unsigned shown = 0;

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		char *beside = beside_of(file, words[i]);

		shown += beside && print_file(beside, wall, own, rows);
		free(beside);
	}
	return shown;
}
