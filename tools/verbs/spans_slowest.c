/* SPDX-License-Identifier: BSD-3-Clause */
/* The slowest spans, and what their threads did meanwhile; see verbs.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/read.h"
#include "core/times.h"
#include "verbs/verbs.h"

#define SLOWEST 10
#define PARTS 4
/* Smaller shares of a span don't explain it. */
#define SHARE 0.01

/* What a thread did for NS, as profile number OF tells. */
struct part {
	char *name;
	double ns;
	size_t of;
};

struct parts {
	struct part *list;
	size_t count, room;
};

static const char *type_name(const struct ct_profile *p)
{
	return ct_text(p, p->types[ct_times_type(p)].type);
}

static bool is(const struct ct_profile *p, const char *type)
{
	return p->type_count && !strcmp(type_name(p), type);
}

static bool is_of_locks(const struct ct_profile *p)
{
	return p->type_count && !strcmp(ct_text(p, p->types[0].type), "contentions");
}

static bool is_of_calls(const struct ct_profile *p)
{
	return p->type_count && !strcmp(ct_text(p, p->types[0].type), "calls");
}

static void add_part(struct parts *parts, const char *what, const char *which, double ns, size_t of)
{
	char *name = ct_memory_printf("%s%s%s", what, which ? " " : "", which ? which : "");
	size_t i = 0;

	while (i < parts->count && strcmp(parts->list[i].name, name) != 0)
		i++;
	if (i == parts->count)
		*CT_PUSH(parts->list, parts->count, parts->room) = (struct part){ name, 0, of };
	else
		free(name);
	parts->list[i].ns += ns;
}

/* Returns how much of event E was between BEGIN and END. */
static double within(const struct ct_times *t, const struct ct_event *e, double begin, double end)
{
	double from = (double)e->begin, to = from + (double)e->duration;

	if (!e->duration)
		return from >= begin && from < end ? ct_times_weight(t, e) : 0;
	from = from > begin ? from : begin;
	to = to < end ? to : end;
	return to > from ? (to - from) * (double)t->thinning : 0;
}

/* A wall profile tells of a wait for a lock which kind it was, a lock profile which lock. */
static bool is_lock(const char *wait)
{
	static const char *const kinds[] = { "lock", "condition", "semaphore", "barrier" };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(wait, kinds[i]))
			return true;
	return false;
}

/* Which kinds of profiles there are. */
struct kinds {
	bool cpu, wall, locks;
};

static void add_event(struct parts *parts, const struct ct_profile *p, size_t of,
		      const struct ct_event *e, double ns, const struct kinds *kinds)
{
	const char *state = ct_own_stack_label(p, e->sample, "state");
	const char *wait = ct_own_stack_label(p, e->sample, "wait");

	if (is(p, "cpu"))
		add_part(parts, "CPU", NULL, ns, of);
	else if (is_of_locks(p))
		add_part(parts, "lock", ct_own_stack_label(p, e->sample, "lock"), ns, of);
	else if (is_of_calls(p) && !kinds->wall)
		add_part(parts, ct_own_stack_label(p, e->sample, "op"), NULL, ns, of);
	else if (state && !strcmp(state, "running") && !kinds->cpu)
		add_part(parts, "CPU", NULL, ns, of);
	else if (state && !strcmp(state, "runnable"))
		add_part(parts, "ready to run", NULL, ns, of);
	else if (wait && !(kinds->locks && is_lock(wait)))
		add_part(parts, "waiting:", wait, ns, of);
}

/* Adds what P, number OF, tells of the thread of S, a span of P0. */
static void add_parts(struct parts *parts, const struct ct_profile *p0,
		      const struct ct_times_span *s, const struct ct_profile *p, size_t of,
		      const struct kinds *kinds)
{
	const struct ct_times *t = p->times;
	const struct ct_times_thread *want = &p0->times->threads[s->thread];
	double begin =
		(double)s->begin + (double)ct_times_between(ct_times_start(p), ct_times_start(p0));
	double end = begin + (double)s->duration;

	for (size_t i = 0; i < t->event_count && (double)t->events[i].begin < end; i++) {
		const struct ct_event *e = &t->events[i];
		const struct ct_times_thread *thread = &t->threads[e->thread];
		double ns = e->death || thread->tid != want->tid || thread->process != want->process
				    ? 0
				    : within(t, e, begin, end);

		if (ns > 0)
			add_event(parts, p, of, e, ns, kinds);
	}
}

static int by_ns(const void *x, const void *y)
{
	const struct part *a = x, *b = y;

	return a->ns > b->ns ? -1 : a->ns < b->ns;
}

static struct parts parts_of(const struct ct_spans_files *f, const struct ct_times_span *s)
{
	struct parts parts = { 0 };
	struct kinds kinds = { 0 };

	for (size_t i = 0; i < f->count; i++) {
		kinds.cpu |= is(f->profiles[i], "cpu");
		kinds.wall |= is(f->profiles[i], "wall");
		kinds.locks |= is_of_locks(f->profiles[i]);
	}
	for (size_t i = 0; i < f->count; i++)
		if (f->profiles[i]->times)
			add_parts(&parts, f->profiles[0], s, f->profiles[i], i, &kinds);
	/* A sample stands for more than a short span, in which a thread does nothing for longer. */
	for (size_t i = 0; i < parts.count; i++)
		if (parts.list[i].ns > (double)s->duration)
			parts.list[i].ns = (double)s->duration;
	if (parts.count)
		qsort(parts.list, parts.count, sizeof(*parts.list), by_ns);
	return parts;
}

static void put_parts(const struct parts *parts, uint64_t duration)
{
	char number[CT_NUMBER_ROOM];

	for (size_t i = 0; i < parts->count && i < PARTS; i++) {
		const struct part *part = &parts->list[i];

		if (part->ns < SHARE * (double)duration)
			break;
		fputs(i ? ", " : ": ", stdout);
		ct_out_text(stdout, part->name);
		printf(" %s", ct_numbers_format(number, ct_numbers_clamp(part->ns), "nanoseconds",
						"auto"));
	}
}

static bool has_tid(const struct ct_profile *p, int64_t tid)
{
	for (size_t i = 0; i < p->label_count; i++)
		if (p->labels[i].number == tid && !strcmp(ct_text(p, p->labels[i].key), "tid"))
			return true;
	return false;
}

/* Prints the command for S, of the file that tells most of it. */
static void put_command(const struct ct_spans_files *f, const struct ct_times_span *s,
			const struct parts *parts)
{
	size_t of = parts->count ? parts->list[0].of : 0;
	const struct ct_profile *p = f->profiles[of];
	const struct ct_times_thread *thread = &f->profiles[0]->times->threads[s->thread];
	uint64_t begin = s->begin + (uint64_t)ct_times_window_begin();
	uint64_t end = (begin + s->duration + 999) / 1000;
	char *name = ct_out_word(ct_text(f->profiles[0], s->name));

	printf("%11scprof %s -in-span=", "",
	       is_of_locks(p)  ? "locks"
	       : is(p, "wall") ? "waits"
			       : "top");
	ct_out_text(stdout, name);
	printf(" -from=%" PRIu64 ".%06" PRIu64 " -to=%" PRIu64 ".%06" PRIu64, begin / 1000000000,
	       begin / 1000 % 1000000, end / 1000000, end % 1000000);
	if (thread->tid && has_tid(p, thread->tid))
		printf(" -tagfocus=tid=%" PRId64, thread->tid);
	putchar(' ');
	ct_out_text(stdout, f->words[of]);
	putchar('\n');
	free(name);
}

static void put_slow(const struct ct_spans_files *f, const struct ct_times_span *s)
{
	const struct ct_profile *p = f->profiles[0];
	const struct ct_times_thread *thread = &p->times->threads[s->thread];
	char took[CT_NUMBER_ROOM], at[CT_NUMBER_ROOM];
	struct parts parts = parts_of(f, s);

	printf("%9s  %9s  ", ct_numbers_format(took, (int64_t)s->duration, "nanoseconds", "auto"),
	       ct_numbers_format(at, (int64_t)s->begin + ct_times_window_begin(), "nanoseconds",
				 "auto"));
	ct_out_text(stdout, ct_text(p, s->name));
	fputs(", ", stdout);
	ct_out_text(stdout, ct_text(p, thread->name));
	printf(" (%" PRId64 ")", thread->tid);
	put_parts(&parts, s->duration);
	putchar('\n');
	put_command(f, s, &parts);
	for (size_t i = 0; i < parts.count; i++)
		free(parts.list[i].name);
	free(parts.list);
}

void ct_spans_slowest(const struct ct_spans_files *f, const char *slow, double least)
{
	const struct ct_times *t = f->profiles[0]->times;
	struct ct_times_span *of = ct_verb_spans_sorted(t, ct_verb_spans_by_duration);
	size_t n = 0;

	while (n < t->span_count && (double)of[t->span_count - 1 - n].duration >= least * 1e9)
		n++;
	if (slow)
		printf("%zu span%s took %s or more\n", n, n == 1 ? "" : "s", slow);
	if (n)
		printf("%s%9s  %9s  slowest spans%s\n", ct_out_paint(CT_BOLD), "took", "begin",
		       ct_out_paint(CT_PLAIN));
	for (size_t i = 1; i <= n && i <= SLOWEST; i++)
		put_slow(f, &of[t->span_count - i]);
	free(of);
}
