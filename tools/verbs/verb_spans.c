/* SPDX-License-Identifier: BSD-3-Clause */
/* `cprof spans`: what the requests of a program took and used, from the comments of its profile,
 * and the slowest ones, from its time index. */
#include <stdlib.h>
#include <string.h>

#include "core/read.h"
#include "core/times.h"
#include "verbs/verbs.h"

static const char *slow;

static const struct ct_option options[] = {
	CT_TEXT("slow", "DURATION", &slow,
		"only the slowest spans, of those that took at least this long (10ms)"),
	CT_END
};
static const struct ct_option *const tables[] = { options, ct_times_window_options, NULL };

#define NAME "span "

/* Times in ms. */
struct span {
	char *name;
	double count, p50, p99, p999, max, sum, cpu, waiting, allocated;
	bool has_cpu, has_allocated;
	bool merged; /* of several profiles: the comments have no percentiles */
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
	s.p999 = number_after(end, ", p999 ", NULL);
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

/* ---- the time index ---- */

int ct_verb_spans_by_duration(const void *x, const void *y)
{
	const struct ct_times_span *a = x, *b = y;

	return a->duration < b->duration ? -1 : a->duration > b->duration;
}

/* Returns the duration, in ms, that the share Q of the N spans is below. */
static double quantile(const struct ct_times_span *spans, size_t n, double count, double q)
{
	double sum = 0;
	size_t i = 0;

	while (i + 1 < n && (sum += (double)spans[i].weight) < q * count)
		i++;
	return (double)spans[i].duration / 1e6;
}

/* Sets what N spans of one name, from the shortest on, say about it. */
static void measure(struct span *s, const struct ct_times_span *spans, size_t n, bool all)
{
	double count = 0, sum = 0;

	for (size_t i = 0; i < n; i++) {
		count += (double)spans[i].weight;
		sum += (double)spans[i].weight * (double)spans[i].duration / 1e6;
	}
	s->p50 = quantile(spans, n, count, 0.5);
	s->p99 = quantile(spans, n, count, 0.99);
	s->p999 = quantile(spans, n, count, 0.999);
	s->merged = false;
	if (!all)
		return;
	s->count = count;
	s->sum = sum;
	s->max = (double)spans[n - 1].duration / 1e6;
}

static int by_name(const void *x, const void *y)
{
	const struct ct_times_span *a = x, *b = y;

	return a->name < b->name ? -1 : a->name > b->name ? 1 : ct_verb_spans_by_duration(x, y);
}

struct ct_times_span *ct_verb_spans_sorted(const struct ct_times *t,
					   int (*order)(const void *, const void *))
{
	struct ct_times_span *spans = ct_memory_realloc(NULL, t->span_count, sizeof(*spans));

	if (t->span_count)
		memcpy(spans, t->spans, t->span_count * sizeof(*spans));
	qsort(spans, t->span_count, sizeof(*spans), order);
	return spans;
}

/* Takes from the index what the comments don't say: percentiles of merged profiles, and of a window
 * everything. */
static void take_index(struct spans *all)
{
	const struct ct_times *t = all->p->times;
	struct ct_times_span *spans = ct_verb_spans_sorted(t, by_name);
	bool only = !all->count;

	for (size_t i = 0, n; i < t->span_count; i += n) {
		const char *name = ct_text(all->p, spans[i].name);
		struct span *s = only ? NULL : find_span(all, name);

		for (n = 1; i + n < t->span_count && spans[i + n].name == spans[i].name;)
			n++;
		if (only) {
			s = CT_PUSH(all->items, all->count, all->room);
			*s = (struct span){ .name = ct_memory_strdup(name), .merged = true };
		}
		if (s && s->merged)
			measure(s, spans + i, n, only);
	}
	free(spans);
}

/* ---- the table ---- */

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
	put_ms(s->p999, !s->merged && s->p999 > 0);
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

	printf("%s%9s %9s %9s %9s %9s %9s %9s %9s %9s ", ct_out_paint(CT_BOLD), "count", "mean",
	       "p50", "p99", "p999", "max", "CPU", "waiting", "allocated");
	printf("%*s", (int)(strlen(type) < 11 ? 11 - strlen(type) : 0), "");
	ct_out_text(stdout, type);
	printf("  span%s\n", ct_out_paint(CT_PLAIN));
}

static void put_comment(const char *comment)
{
	ct_out_text(stdout, comment);
	putchar('\n');
}

static void print_spans(struct spans *all)
{
	qsort(all->items, all->count, sizeof(*all->items), by_sum);
	puts("mean, CPU, waiting and allocated are of one span, on average; the last column is the "
	     "profile's sum");
	put_head(all);
	for (size_t i = 0; i < all->count; i++)
		put_span(all, &all->items[i]);
	for (size_t i = 0; i < all->p->comment_count; i++)
		if (!strncmp(ct_notes_comment(all->p, i), "spans: ", 7))
			put_comment(ct_notes_comment(all->p, i));
}

/* Prints all that the files say. Returns the exit status. */
static int show_spans(struct spans *all, const struct ct_spans_files *f)
{
	double least = slow ? ct_options_seconds(slow) : 0;

	if (least < 0)
		return ct_options_wrong(&ct_verb_spans, "-slow=%s is no duration like 10ms", slow);
	for (size_t i = 0; i < all->p->comment_count && !ct_times_window_active(); i++)
		read_line(all, ct_notes_comment(all->p, i));
	if (all->p->times)
		take_index(all);
	if (!all->count || !all->p->type_count) {
		fprintf(stderr,
			"cprof spans: %s tells of no span: the program ended none "
			"(cprof_span_begin in cprof.h)\n",
			f->words[0]);
		return CT_FAILED;
	}
	if (slow && !all->p->times) {
		fprintf(stderr, "cprof spans: %s has no time index, which knows single spans\n",
			f->words[0]);
		return CT_FAILED;
	}
	all->type = type_of(all->p);
	add_samples(all);
	ct_out_begin();
	if (!slow)
		print_spans(all);
	if (all->p->times && (slow || all->p->times->span_count))
		ct_spans_slowest(f, slow, least);
	return ct_out_end();
}

/* ---- the files ---- */

static bool are_alike(const struct ct_profile *a, const struct ct_profile *b)
{
	bool alike = a->type_count == b->type_count;

	for (size_t i = 0; alike && i < a->type_count; i++)
		alike = !strcmp(ct_text(a, a->types[i].type), ct_text(b, b->types[i].type));
	return alike;
}

/* Adds to F those of the COUNT profiles ALL, of FILES, that are of one mode with the first one:
 * they are merged. They become NULL. */
static void take_mode(struct ct_spans_files *f, struct ct_profile **all, char *const *files,
		      size_t count)
{
	struct ct_profile **same = ct_memory_alloc(count * sizeof(struct ct_profile *));
	char *words = ct_out_word(files[0]);
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		char *word, *longer;

		if (!all[i] || (n && !are_alike(same[0], all[i])))
			continue;
		same[n++] = all[i];
		all[i] = NULL;
		if (!i)
			continue;
		word = ct_out_word(files[i]);
		longer = ct_memory_printf("%s %s", words, word);
		free(words);
		free(word);
		words = longer;
	}
	f->profiles[f->count] = n > 1 ? ct_combine(same, n) : same[0];
	f->words[f->count++] = words;
	for (size_t i = 0; n > 1 && i < n; i++)
		ct_model_free(same[i]);
	free(same);
}

/* Returns false after a message. */
static bool read_files(struct ct_spans_files *f, char *const *files, size_t count)
{
	struct ct_profile **all = ct_memory_alloc(count * sizeof(struct ct_profile *));
	bool ok = true;

	f->profiles = ct_memory_alloc(count * sizeof(struct ct_profile *));
	f->words = ct_memory_alloc(count * sizeof(char *));
	for (size_t i = 0; ok && i < count; i++)
		ok = (all[i] = ct_read_source(files[i])) != NULL;
	ok = ok && !ct_times_filter(all, (const char *const *)files, count);
	for (size_t i = 0; i < count; i++)
		if (ok && all[i])
			take_mode(f, all + i, files + i, count - i);
		else
			ct_model_free(all[i]);
	free(all);
	if (ok)
		ct_times_window_say(f->profiles[0], ct_model_default_type(f->profiles[0]), stderr);
	return ok;
}

static int verb_spans(int argc, char **argv)
{
	struct ct_spans_files f = { .count = 0 };
	struct spans all = { .p = NULL };
	int status = CT_FAILED;

	if (read_files(&f, argv, (size_t)argc)) {
		all.p = f.profiles[0];
		status = show_spans(&all, &f);
	}
	for (size_t i = 0; i < f.count; i++) {
		ct_model_free(f.profiles[i]);
		free(f.words[i]);
	}
	free(f.profiles);
	free(f.words);
	for (size_t i = 0; i < all.count; i++)
		free(all.items[i].name);
	free(all.items);
	return status;
}

const struct ct_verb ct_verb_spans = {
	.name = "spans",
	.operands = "FILE...",
	.summary = "Requests by name: latencies, CPU time, waiting and allocations of each",
	.details = "FILE is a profile of a program with spans (cprof_span_begin); several of one "
		   "mode are "
		   "merged. The figures are of "
		   "all spans that\nended up to the end of the profile. CPU is the CPU time of a "
		   "span's "
		   "thread, waiting the rest of the\nspan. They include the spans inside it; the "
		   "profile's samples belong to the innermost span only.\nOf a merged profile or a "
		   "window, the time index tells the percentiles. It also has the slowest "
		   "spans:\neach "
		   "with the command that shows what its thread did meanwhile. With files of "
		   "several modes "
		   "of one run\n(cpu.pb lock.pb wall.pb), they say how long it computed, was ready "
		   "to run "
		   "and waited, and for what.\n",
	.tables = tables,
	.wanted = "a profile is needed",
	.least = 1,
	.run = verb_spans,
};
