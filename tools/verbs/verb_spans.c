/* SPDX-License-Identifier: BSD-3-Clause */
/* `cprof spans`: what the requests of a program took and used, from the comments of its profile. */
#include <stdlib.h>
#include <string.h>

#include "core/read.h"
#include "verbs/verbs.h"

static const struct ct_option options[] = { CT_END };
static const struct ct_option *const tables[] = { options, NULL };

#define NAME "span "

/* Times in ms. */
struct span {
	char *name;
	double count, p50, p99, max, sum, cpu, waiting, allocated;
	bool has_cpu, has_allocated;
	bool merged; /* of several profiles: it has no percentiles */
	int64_t in_file;
};

struct spans {
	const struct ct_profile *p;
	struct span *items;
	size_t count, room, type;
};

/* Returns the number after the last "KEY " in TEXT, and whether there is one in *HAS. */
static double number_after(const char *text, const char *key, bool *has)
{
	const char *at = NULL;

	for (const char *s = strstr(text, key); s; s = strstr(s + 1, key))
		at = s;
	if (has)
		*has = at != NULL;
	return at ? strtod(at + strlen(key), NULL) : 0;
}

/* Returns the ": " before "COUNT, p50"; the name may have others. NULL: LINE is about no span. */
static const char *end_of_name(const char *line)
{
	const char *end = NULL;

	if (strncmp(line, NAME, strlen(NAME)) != 0)
		return NULL;
	for (const char *s = strstr(line, ": "); s; s = strstr(s + 1, ": ")) {
		size_t digits = strspn(s + 2, "0123456789");

		if (digits && !strncmp(s + 2 + digits, ", p50 ", 6))
			end = s;
	}
	return end;
}

static struct span *find_span(const struct spans *all, const char *name)
{
	for (size_t i = 0; i < all->count; i++)
		if (!strcmp(all->items[i].name, name))
			return &all->items[i];
	return NULL;
}

/* A merged profile has a line of each of its profiles. */
static void add_to(struct span *to, const struct span *s)
{
	to->merged = true;
	to->count += s->count;
	to->sum += s->sum;
	to->max = s->max > to->max ? s->max : to->max;
	to->cpu += s->cpu;
	to->waiting += s->waiting;
	to->allocated += s->allocated;
	to->has_cpu &= s->has_cpu;
	to->has_allocated &= s->has_allocated;
}

static void read_line(struct spans *all, const char *line)
{
	const char *end = end_of_name(line);
	struct span s = { .name = NULL }, *same;

	if (!end)
		return;
	line += strlen(NAME);
	s.name = ct_memory_printf("%.*s", (int)(end - line), line);
	s.count = strtod(end + 2, NULL);
	s.p50 = number_after(end, ", p50 ", NULL);
	s.p99 = number_after(end, ", p99 ", NULL);
	s.max = number_after(end, ", max ", NULL);
	s.sum = number_after(end, ", sum ", NULL);
	s.cpu = number_after(end, ", CPU ", &s.has_cpu);
	s.waiting = number_after(end, ", waiting ", NULL);
	s.allocated = number_after(end, ", allocated ", &s.has_allocated);
	same = find_span(all, s.name);
	if (same) {
		add_to(same, &s);
		free(s.name);
		return;
	}
	*CT_PUSH(all->items, all->count, all->room) = s;
}

/* Shows allocations, which a request causes; memory in use at the end says nothing about it. */
static size_t type_of(const struct ct_profile *p)
{
	size_t i = ct_model_type(p, "alloc_space");

	return i < p->type_count ? i : ct_model_default_type(p);
}

static const char *span_of(const struct ct_profile *p, uint32_t set)
{
	const struct ct_label *l = ct_model_label(p, set, "span");

	return l && l->text ? ct_text(p, l->text) : NULL;
}

static void add_samples(struct spans *all)
{
	const struct ct_profile *p = all->p;
	int64_t *sums = ct_memory_alloc(p->label_set_count * sizeof(*sums));

	for (size_t i = 0; i < p->sample_count; i++) {
		int64_t *sum = &sums[p->samples[i].label_set];

		*sum = ct_add(*sum, ct_values(p, i)[all->type]);
	}
	for (uint32_t set = 0; set < p->label_set_count; set++) {
		const char *name = span_of(p, set);
		struct span *s = name ? find_span(all, name) : NULL;

		if (s)
			s->in_file = ct_add(s->in_file, sums[set]);
	}
	free(sums);
}

static int by_sum(const void *x, const void *y)
{
	const struct span *a = x, *b = y;

	return a->sum < b->sum ? 1 : a->sum > b->sum ? -1 : strcmp(a->name, b->name);
}

static void put_ms(double ms, bool known)
{
	char text[CT_NUMBER_ROOM];

	printf(" %9s",
	       known ? ct_numbers_format(text, ct_numbers_clamp(ms * 1e6), "nanoseconds", "auto")
		     : "-");
}

/* A value of each span, on average. */
static void put_each(double sum, double count, const char *unit, bool known)
{
	char text[CT_NUMBER_ROOM];

	printf(" %9s", known && count > 0 ? ct_numbers_format(text, ct_numbers_clamp(sum / count),
							      unit, "auto")
					  : "-");
}

static void put_span(const struct spans *all, const struct span *s)
{
	const struct ct_type *t = &all->p->types[all->type];
	char text[CT_NUMBER_ROOM];

	printf("%9.0f", s->count);
	put_each(s->sum * 1e6, s->count, "nanoseconds", true);
	put_ms(s->p50, !s->merged);
	put_ms(s->p99, !s->merged);
	put_ms(s->max, true);
	put_each(s->cpu * 1e6, s->count, "nanoseconds", s->has_cpu);
	put_each(s->waiting * 1e6, s->count, "nanoseconds", s->has_cpu);
	put_each(s->allocated, s->count, "bytes", s->has_allocated);
	printf(" %11s  ", ct_numbers_format(text, s->in_file, ct_text(all->p, t->unit), "auto"));
	ct_out_text(stdout, s->name);
	putchar('\n');
}

static void put_head(const struct spans *all)
{
	const char *type = ct_text(all->p, all->p->types[all->type].type);

	printf("%s%9s %9s %9s %9s %9s %9s %9s %9s ", ct_out_paint(CT_BOLD), "count", "mean", "p50",
	       "p99", "max", "CPU", "waiting", "allocated");
	printf("%*s", (int)(strlen(type) < 11 ? 11 - strlen(type) : 0), "");
	ct_out_text(stdout, type);
	printf("  span%s\n", ct_out_paint(CT_PLAIN));
}

static void put_comment(const char *comment)
{
	ct_out_text(stdout, comment);
	putchar('\n');
}

static int print_spans(struct spans *all)
{
	qsort(all->items, all->count, sizeof(*all->items), by_sum);
	ct_out_begin();
	puts("mean, CPU, waiting and allocated are of one span, on average; the last column is the "
	     "profile's sum");
	put_head(all);
	for (size_t i = 0; i < all->count; i++)
		put_span(all, &all->items[i]);
	for (size_t i = 0; i < all->p->comment_count; i++)
		if (!strncmp(ct_notes_comment(all->p, i), "spans: ", 7))
			put_comment(ct_notes_comment(all->p, i));
	return ct_out_end();
}

static int verb_spans(int argc, char **argv)
{
	struct spans all = { .p = ct_read_source(*argv) };
	int status = CT_FAILED;

	(void)argc;
	if (!all.p)
		return status;
	for (size_t i = 0; i < all.p->comment_count; i++)
		read_line(&all, ct_notes_comment(all.p, i));
	if (!all.count || !all.p->type_count) {
		fprintf(stderr,
			"cprof spans: %s tells of no span: the program ended none "
			"(cprof_span_begin in cprof.h)\n",
			*argv);
	} else {
		all.type = type_of(all.p);
		add_samples(&all);
		status = print_spans(&all);
	}
	for (size_t i = 0; i < all.count; i++)
		free(all.items[i].name);
	free(all.items);
	ct_model_free((struct ct_profile *)all.p);
	return status;
}

const struct ct_verb ct_verb_spans = {
	.name = "spans",
	.operands = "FILE",
	.summary = "Requests by name: latencies, CPU time, waiting and allocations of each",
	.details =
		"FILE is a profile of a program with spans (cprof_span_begin). The figures are of "
		"all spans that\nended up to the end of the profile. CPU is the CPU time of a "
		"span's "
		"thread, waiting the rest of the\nspan. They include the spans inside it; the "
		"profile's samples belong to the innermost span only.\nOf a merged profile the "
		"percentiles aren't known.\n",
	.tables = tables,
	.wanted = "one profile is needed, not %d",
	.least = 1,
	.most = 1,
	.run = verb_spans,
};
