/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that return periodically; see timeline.h.
 *
 * Looked at are the events of each own function that is anywhere on the stack, on all threads, on
 * the threads of one name, and on each thread: a thread's flush may copy with a function that all
 * others use, too. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/report.h"
#include "core/times.h"
#include "verbs/timeline.h"

#define RADIX 100000	    /* so many numbers are sorted by their digits */
#define SHORT 3		    /* as in timeline_bursts.c */
#define SAME 0.5	    /* a set with this share in another one's events is a part of it */
#define EVENTS_MOST 3000000 /* that are looked at: those of the smallest sets */
#define FOUND_MOST 200

/* The events of a thread that have one sample. */
struct pair {
	uint32_t sample, thread;
	double total;
	size_t first, count; /* in the order of events */
};

/* The events of FUNCTION on the threads of SCOPE (ct_timeline_periods_in). */
struct set {
	uint32_t function, scope;
	double total;
	size_t events, threads;
	size_t first, count; /* pairs, in MEMBERS */
};

struct search {
	const struct ct_timeline *t;
	uint32_t *group_of; /* by thread: a scope */
	struct {
		size_t events, seen; /* SEEN: the last set, + 1, that counted EVENTS */
	} * threads;
	struct pair *pairs;
	struct set *sets;
	uint32_t *members, *order; /* pairs of sets; bursts of pairs, in order */
	size_t pair_count, pair_room, set_count, set_room, examined;
	struct ct_table pair_table, set_table;
	double all;
	struct ct_timeline_burst *bursts; /* by event, in the order of their beginnings */
	struct ct_timeline_burst *list, *joined;
	uint32_t *numbers;
	size_t room;
};

/* ---- sets of events ---- */

bool ct_timeline_periods_in(const struct ct_timeline *t, uint32_t thread, uint32_t scope)
{
	size_t stem, threads = t->p->times->thread_count;

	return scope == CT_NONE || scope == thread ||
	       (scope >= threads &&
		ct_timeline_pieces_alike(t, thread, scope - (uint32_t)threads, &stem));
}

static bool same_name(const void *context, uint32_t i, const void *key)
{
	size_t stem;

	return ct_timeline_pieces_alike(context, i, *(const uint32_t *)key, &stem);
}

/* The scope of threads of one name is the number of the first of them, after those of all threads.
 */
static void find_groups(struct search *s)
{
	const struct ct_times *times = s->t->p->times;
	struct ct_table table = { 0 };

	s->group_of = ct_memory_realloc(NULL, times->thread_count + 1, sizeof(*s->group_of));
	for (uint32_t i = 0; i < times->thread_count; i++) {
		const char *name = ct_text(s->t->p, times->threads[i].name);
		uint64_t hash = 0;
		uint32_t at;
		size_t stem;

		ct_timeline_pieces_alike(s->t, i, i, &stem);
		for (size_t k = 0; k < stem; k++)
			hash = ct_hash(hash, (unsigned char)name[k]);
		at = ct_table_find(&table, hash, same_name, s->t, &i);
		if (at == CT_NONE)
			ct_table_add(&table, hash, at = i);
		s->group_of[i] = (uint32_t)times->thread_count + at;
	}
	ct_table_release(&table);
}

struct key {
	uint32_t a, b;
};

static bool same_pair(const void *context, uint32_t i, const void *key)
{
	const struct pair *p = &((const struct search *)context)->pairs[i];
	const struct key *k = key;

	return p->sample == k->a && p->thread == k->b;
}

static bool same_set(const void *context, uint32_t i, const void *key)
{
	const struct set *p = &((const struct search *)context)->sets[i];
	const struct key *k = key;

	return p->function == k->a && p->scope == k->b;
}

static uint64_t hash_of(const struct key *k)
{
	return ct_hash(ct_hash(0, k->a), k->b);
}

static uint32_t pair_at(struct search *s, struct key k)
{
	uint32_t at = ct_table_find(&s->pair_table, hash_of(&k), same_pair, s, &k);

	if (at == CT_NONE) {
		ct_table_add(&s->pair_table, hash_of(&k), at = (uint32_t)s->pair_count);
		*CT_PUSH(s->pairs, s->pair_count, s->pair_room) =
			(struct pair){ .sample = k.a, .thread = k.b };
	}
	return at;
}

static struct set *set_at(struct search *s, struct key k)
{
	uint32_t at = ct_table_find(&s->set_table, hash_of(&k), same_set, s, &k);

	if (at == CT_NONE) {
		ct_table_add(&s->set_table, hash_of(&k), at = (uint32_t)s->set_count);
		*CT_PUSH(s->sets, s->set_count, s->set_room) =
			(struct set){ .function = k.a, .scope = k.b };
	}
	return &s->sets[at];
}

static int by_begin(const void *x, const void *y)
{
	const struct ct_timeline_burst *a = x, *b = y;

	return a->begin < b->begin ? -1 : a->begin > b->begin;
}

/* Stores all events, where they were recorded, not where they were moved to. Those that wait for
 * something to do, and deaths, are left out. Returns how many there are. */
static size_t make_bursts(struct search *s)
{
	const struct ct_timeline *t = s->t;
	size_t n = 0, i = 1;

	s->bursts = ct_memory_realloc(NULL, t->p->times->event_count + 1, sizeof(*s->bursts));
	for (uint32_t k = 0; k < t->p->times->event_count; k++) {
		const struct ct_timeline_piece *p = &t->pieces[k];
		double end = t->offset + (double)p->event->begin + (double)p->event->duration;

		if (p->amount > 0 && !t->idle[p->event->sample])
			s->bursts[n++] = (struct ct_timeline_burst){
				.begin = end - (p->end - p->begin),
				.end = end,
				.amount = p->amount,
				.pieces = 1,
				.event = k,
				.thread = p->event->thread,
				.lasts = p->event->duration || !t->is_time,
			};
	}
	while (i < n && s->bursts[i].begin >= s->bursts[i - 1].begin)
		i++;
	if (i < n)
		qsort(s->bursts, n, sizeof(*s->bursts), by_begin);
	return n;
}

/* Sorts the events by pair. */
static void sort_events(struct search *s)
{
	size_t count = make_bursts(s), first = 0;
	uint32_t *pair_of = ct_memory_realloc(NULL, count + 1, sizeof(*pair_of));

	s->order = ct_memory_realloc(NULL, count + 1, sizeof(*s->order));
	for (size_t i = 0; i < count; i++) {
		const struct ct_event *e = s->t->pieces[s->bursts[i].event].event;

		pair_of[i] = pair_at(s, (struct key){ e->sample, e->thread });
		s->pairs[pair_of[i]].total += s->bursts[i].amount;
		s->pairs[pair_of[i]].count++;
		s->all += s->bursts[i].amount;
	}
	for (size_t i = 0; i < s->pair_count; i++) {
		s->pairs[i].first = first;
		first += s->pairs[i].count;
		s->pairs[i].count = 0;
	}
	for (size_t i = 0; i < count; i++)
		s->order[s->pairs[pair_of[i]].first + s->pairs[pair_of[i]].count++] = (uint32_t)i;
	free(pair_of);
}

/* Calls SEE for each set that pair I is in, the largest first. */
static void each_set(struct search *s, size_t i,
		     void (*see)(struct search *s, struct set *set, size_t i))
{
	const struct ct_timeline *t = s->t;
	const struct pair p = s->pairs[i];
	const uint32_t scopes[] = { CT_NONE, s->group_of[p.thread], p.thread };

	for (size_t k = t->first_function[p.sample]; k < t->first_function[p.sample + 1]; k++)
		for (unsigned scope = 0; scope < 3; scope++)
			see(s, set_at(s, (struct key){ t->functions[k], scopes[scope] }), i);
}

static void count_pair(struct search *s, struct set *set, size_t i)
{
	/* The larger scopes are there already, so SET doesn't move. */
	if (!set->count++ && set->scope < s->t->p->times->thread_count) {
		set->threads = 1;
		set_at(s, (struct key){ set->function, s->group_of[set->scope] })->threads++;
		set_at(s, (struct key){ set->function, CT_NONE })->threads++;
	}
	set->total += s->pairs[i].total;
	set->events += s->pairs[i].count;
}

static void add_member(struct search *s, struct set *set, size_t i)
{
	s->members[set->first + set->count++] = (uint32_t)i;
}

static void make_sets(struct search *s)
{
	size_t members = 0;

	for (size_t i = 0; i < s->pair_count; i++)
		each_set(s, i, count_pair);
	for (size_t i = 0; i < s->set_count; i++) {
		s->sets[i].first = members;
		members += s->sets[i].count;
		s->sets[i].count = 0;
	}
	s->members = ct_memory_realloc(NULL, members + 1, sizeof(*s->members));
	for (size_t i = 0; i < s->pair_count; i++)
		each_set(s, i, add_member);
}

/* Is there a larger scope with the same events? */
static bool is_whole(struct search *s, const struct set *set)
{
	uint32_t function = set->function;

	if (set->scope == CT_NONE)
		return false;
	return set->events == set_at(s, (struct key){ function, CT_NONE })->events ||
	       (set->scope < s->t->p->times->thread_count &&
		set->events ==
			set_at(s, (struct key){ function, s->group_of[set->scope] })->events);
}

/* Can the events of SET be short against their distance? */
static bool is_rare(const struct search *s, const struct set *set)
{
	double length = (double)(s->t->p->times->end - s->t->p->times->from);

	return set->events >= CT_TIMELINE_BURSTS &&
	       (!s->t->is_time || set->total * SHORT < length * (double)set->threads);
}

static int by_events(const void *x, const void *y)
{
	const struct set *a = x, *b = y;

	if (a->events != b->events)
		return a->events < b->events ? -1 : 1;
	return a->function != b->function ? (a->function < b->function ? -1 : 1)
					  : (a->scope < b->scope) - (a->scope > b->scope);
}

/* Leaves the sets that are worth a look, the smallest first. */
static void choose_sets(struct search *s)
{
	bool *worth = ct_memory_alloc(s->set_count + 1);
	size_t n = 0, events = 0;

	for (size_t i = 0; i < s->set_count; i++)
		worth[i] = is_rare(s, &s->sets[i]) && !is_whole(s, &s->sets[i]);
	for (size_t i = 0; i < s->set_count; i++)
		if (worth[i])
			s->sets[n++] = s->sets[i];
	if (n)
		qsort(s->sets, n, sizeof(*s->sets), by_events);
	while (s->examined < n && (events += s->sets[s->examined].events) <= EVENTS_MOST)
		s->examined++;
	free(worth);
}

/* ---- the events of a set ---- */

static int by_number(const void *x, const void *y)
{
	const uint32_t *a = x, *b = y;

	return *a < *b ? -1 : *a > *b;
}

/* Sorts COUNT numbers, using SPARE, which has room for as many. */
static void sort_numbers(uint32_t *list, size_t count, uint32_t *spare)
{
	if (count < RADIX) {
		qsort(list, count, sizeof(*list), by_number);
		return;
	}
	for (unsigned shift = 0; shift < 32; shift += 16) {
		size_t *at = ct_memory_alloc(((size_t)UINT16_MAX + 2) * sizeof(*at));

		for (size_t i = 0; i < count; i++)
			at[(list[i] >> shift & UINT16_MAX) + 1]++;
		for (size_t i = 0; i < UINT16_MAX; i++)
			at[i + 1] += at[i];
		for (size_t i = 0; i < count; i++)
			spare[at[list[i] >> shift & UINT16_MAX]++] = list[i];
		memcpy(list, spare, count * sizeof(*list));
		free(at);
	}
}

static void take_events(struct search *s, const struct set *set)
{
	size_t n = 0;

	if (s->room < set->events) {
		s->room = set->events;
		s->list = ct_memory_realloc(s->list, s->room, sizeof(*s->list));
		s->joined = ct_memory_realloc(s->joined, s->room, sizeof(*s->joined));
		s->numbers = ct_memory_realloc(s->numbers, s->room, 2 * sizeof(*s->numbers));
	}
	for (size_t i = 0; i < set->count; i++) {
		const struct pair *pair = &s->pairs[s->members[set->first + i]];

		memcpy(s->numbers + n, s->order + pair->first, pair->count * sizeof(*s->numbers));
		n += pair->count;
	}
	if (set->count > 1)
		sort_numbers(s->numbers, n, s->numbers + n);
	for (size_t i = 0; i < n; i++)
		s->list[i] = s->bursts[s->numbers[i]];
}

static bool find_period(struct search *s, const struct set *set, struct ct_timeline_moment *to)
{
	*to = (struct ct_timeline_moment){ .file = s->t };
	take_events(s, set);
	if (!ct_timeline_bursts_find(s->list, set->events, s->joined, s->examined, to))
		return false;
	to->function = s->t->names[set->function];
	to->number = set->function;
	to->scope = set->scope;
	to->score /= s->all;
	return true;
}

/* ---- what is told ---- */

struct found {
	const struct set *set;
	struct ct_timeline_moment m;
	bool part; /* of another one */
};

/* Is pair I in SET? */
static bool is_member(const struct search *s, const struct set *set, uint32_t i)
{
	return ct_timeline_pieces_has(s->t, s->pairs[i].sample, set->function) &&
	       ct_timeline_periods_in(s->t, s->pairs[i].thread, set->scope);
}

/* Returns the amount of SET that is in OTHER, too. */
static double shared(const struct search *s, const struct set *set, const struct set *other)
{
	double sum = 0;

	for (size_t k = 0; k < set->count; k++)
		if (is_member(s, other, s->members[set->first + k]))
			sum += s->pairs[s->members[set->first + k]].total;
	return sum;
}

static int by_total(const void *x, const void *y)
{
	const struct set *a = ((const struct found *)x)->set, *b = ((const struct found *)y)->set;

	if (fabs(a->total - b->total) > 1e-6 * a->total)
		return a->total < b->total ? 1 : -1;
	/* The larger scope; then, of a caller and a callee, the inner one. */
	return a->scope != b->scope ? (a->scope > b->scope ? -1 : 1)
				    : (a->function > b->function) - (a->function < b->function);
}

/* Gives LIST[I], of which others are parts, the name of the one of them that tells most. */
static void name_found(const struct search *s, struct found *list, size_t count, size_t i)
{
	const struct set *whole = list[i].set;
	double *amount = ct_memory_alloc((s->t->p->sample_count + 1) * sizeof(*amount));
	bool *may = ct_memory_alloc(s->t->name_count + 1);

	for (size_t k = 0; k < whole->count; k++) {
		const struct pair *p = &s->pairs[s->members[whole->first + k]];

		amount[p->sample] += p->total;
	}
	for (size_t k = 0; k < count; k++)
		may[list[k].set->function] |=
			list[k].set->scope == whole->scope &&
			shared(s, list[k].set, whole) >= CT_TIMELINE_NEARLY * list[k].set->total;
	ct_timeline_pieces_name(&list[i].m, amount, may);
	free(amount);
	free(may);
}

/* Adds what is in one of the sets, by function. */
static void add_with(const struct search *s, const struct found *list, size_t count, double *with)
{
	for (uint32_t i = 0; i < s->pair_count; i++) {
		const struct pair *p = &s->pairs[i];
		bool returns = false;

		for (size_t k = 0; k < count && !returns; k++)
			returns = !list[k].part && is_member(s, list[k].set, i);
		for (size_t k = s->t->first_function[p->sample];
		     k < s->t->first_function[p->sample + 1] && returns; k++)
			with[s->t->functions[k]] += p->total;
	}
}

/* Marks the sets most of which is in a larger one, and those of further threads that return with
 * one. WITH gets, by function, what returns. */
static void sort_out(const struct search *s, struct found *list, size_t count, double *with)
{
	if (count)
		qsort(list, count, sizeof(*list), by_total);
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < i && !list[i].part; k++)
			list[i].part = !list[k].part && shared(s, list[i].set, list[k].set) >
								SAME * list[i].set->total;
	add_with(s, list, count, with);
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < i && !list[i].part; k++)
			if (!list[k].part && list[k].set->function == list[i].set->function &&
			    ct_timeline_bursts_same(&list[k].m, &list[i].m)) {
				list[i].part = true;
				list[k].m.also++;
				list[k].m.rate += list[i].m.rate;
				list[k].m.score += list[i].m.score;
			}
}

size_t ct_timeline_periods_find(const struct ct_timeline *t, struct ct_timeline_moment *to,
				double *with)
{
	struct search s = { .t = t };
	struct found *list = ct_memory_alloc(FOUND_MOST * sizeof(*list));
	size_t count = 0, n = 0;

	find_groups(&s);
	sort_events(&s);
	make_sets(&s);
	choose_sets(&s);
	for (size_t i = 0; i < s.examined && count < FOUND_MOST; i++)
		if (find_period(&s, &s.sets[i], &list[count].m))
			list[count++].set = &s.sets[i];
	sort_out(&s, list, count, with);
	for (size_t i = 0; i < count && n < CT_TIMELINE_MOMENTS; i++)
		if (!list[i].part) {
			name_found(&s, list, count, i);
			to[n++] = list[i].m;
		}
	ct_table_release(&s.pair_table);
	ct_table_release(&s.set_table);
	free(s.group_of);
	free(s.pairs);
	free(s.sets);
	free(s.members);
	free(s.order);
	free(s.bursts);
	free(s.list);
	free(s.joined);
	free(s.numbers);
	free(list);
	return n;
}
