/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that return periodically; see verbs.h.
 *
 * Looked at are the events of each own function that is anywhere on the stack, on all threads, on
 * the threads of one name, and on each thread: a thread's flush may copy with a function that all
 * others use, too. Events near to each other are a burst. If bursts began at random, each would
 * begin within a part D of the period around one of its multiples with the probability 2 * D. So N
 * of them do so with (2 * D)^N, and that times the number of sets of events and of ways to join
 * them must be below FALSE_ALARM. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/report.h"
#include "core/times.h"
#include "verbs/verbs.h"

#define FALSE_ALARM 0.01
#define LEAST_BURSTS 4
#define LEAST_PERIOD 1e8 /* ns */
#define TOUCHING 1e6	 /* ns: events with smaller gaps are always of one burst */
#define STEP 3		 /* gaps between bursts are so many times as long as those in bursts */
#define STEPS 4		 /* places of such a step that are tried */
#define FAINT 0.3	 /* of the usual burst, by amount: less is left out at the second try */
#define OFF 0.1		 /* of a period: how far off a burst may be */
#define LEAST_OFF 0.005
#define NEAR 0.8	    /* of the bursts are no further off */
#define MISSED 1.5	    /* mean of the periods between two bursts */
#define SHORT 3		    /* a period is at least so many bursts long */
#define SAME 0.5	    /* a set with this share in another one's events is a part of it */
#define NEARLY 0.9	    /* a function that has this share of what returns can stand for it */
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

struct burst {
	double begin, end, amount;
	size_t pieces;
	bool lasts; /* it has an event with a duration */
};

struct search {
	const struct ct_timeline *t;
	uint32_t *group_of; /* by thread: a scope */
	struct pair *pairs;
	struct set *sets;
	uint32_t *members, *order; /* pairs of sets; events of pairs */
	size_t pair_count, pair_room, set_count, set_room, examined;
	struct ct_table pair_table, set_table;
	double all;
	struct burst *list, *joined;
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

/* Sorts the events by pair. Those that wait for something to do, and deaths, are in none. */
static void sort_events(struct search *s)
{
	const struct ct_timeline *t = s->t;
	size_t count = t->p->times->event_count, first = 0;
	uint32_t *pair_of = ct_memory_realloc(NULL, count + 1, sizeof(*pair_of));

	s->order = ct_memory_realloc(NULL, count + 1, sizeof(*s->order));
	for (size_t i = 0; i < count; i++) {
		const struct ct_timeline_piece *p = &t->pieces[i];

		pair_of[i] = CT_NONE;
		if (!(p->amount > 0) || t->idle[p->event->sample])
			continue;
		pair_of[i] = pair_at(s, (struct key){ p->event->sample, p->event->thread });
		s->pairs[pair_of[i]].total += p->amount;
		s->pairs[pair_of[i]].count++;
		s->all += p->amount;
	}
	for (size_t i = 0; i < s->pair_count; i++) {
		s->pairs[i].first = first;
		first += s->pairs[i].count;
		s->pairs[i].count = 0;
	}
	for (size_t i = 0; i < count; i++)
		if (pair_of[i] != CT_NONE)
			s->order[s->pairs[pair_of[i]].first + s->pairs[pair_of[i]].count++] =
				(uint32_t)i;
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

	return set->events >= LEAST_BURSTS &&
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

/* ---- bursts ---- */

static int by_begin(const void *x, const void *y)
{
	const struct burst *a = x, *b = y;

	return a->begin < b->begin ? -1 : a->begin > b->begin;
}

static int by_size(const void *x, const void *y)
{
	const double *a = x, *b = y;

	return *a < *b ? -1 : *a > *b;
}

static double median(double *list, size_t count)
{
	qsort(list, count, sizeof(*list), by_size);
	return list[count / 2];
}

static void take_events(struct search *s, const struct set *set)
{
	size_t n = 0;

	if (s->room < set->events) {
		s->room = set->events;
		s->list = ct_memory_realloc(s->list, s->room, sizeof(*s->list));
		s->joined = ct_memory_realloc(s->joined, s->room, sizeof(*s->joined));
	}
	for (size_t i = 0; i < set->count; i++) {
		const struct pair *pair = &s->pairs[s->members[set->first + i]];

		for (size_t k = 0; k < pair->count; k++) {
			const struct ct_timeline_piece *p =
				&s->t->pieces[s->order[pair->first + k]];

			/* Where it was recorded, not where it was moved to. */
			double end =
				s->t->offset + (double)p->event->begin + (double)p->event->duration;

			s->list[n++] = (struct burst){ end - (p->end - p->begin), end, p->amount, 1,
						       p->event->duration || !s->t->is_time };
		}
	}
	qsort(s->list, n, sizeof(*s->list), by_begin);
}

/* Joins the COUNT events that are no further apart than LIMIT. Returns the number of bursts. */
static size_t join(struct search *s, size_t count, double limit)
{
	struct burst *to = s->joined;
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		if (!n || s->list[i].begin - to[n - 1].end > limit) {
			to[n++] = s->list[i];
			continue;
		}
		to[n - 1].end = fmax(to[n - 1].end, s->list[i].end);
		to[n - 1].amount += s->list[i].amount;
		to[n - 1].pieces++;
		to[n - 1].lasts |= s->list[i].lasts;
	}
	return n;
}

/* Drops faint ones of the COUNT bursts: a few samples that came to a wrong function, or little work
 * of the same function. Returns how many are left. */
static size_t drop_faint(struct search *s, size_t count)
{
	struct burst *list = s->joined;
	double sum = 0, squares = 0;
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		sum += list[i].amount;
		squares += list[i].amount * list[i].amount;
	}
	for (size_t i = 0; i < count; i++)
		if (list[i].amount >= FAINT * squares / sum)
			list[n++] = list[i];
	return n;
}

/* Stores the longest gaps within bursts that may be meant, at most STEPS: where, in the order of
 * their sizes, the next one is much longer; those with the widest step first. */
static size_t find_limits(const struct search *s, size_t count, double *limits)
{
	double *gaps = ct_memory_realloc(NULL, count + 1, sizeof(*gaps)), end = -INFINITY;
	double steps[STEPS] = { 0 };
	size_t n = 0, found = 1;

	for (size_t i = 0; i < count; i++) {
		if (i && s->list[i].begin - end > TOUCHING)
			gaps[n++] = s->list[i].begin - end;
		end = fmax(end, s->list[i].end);
	}
	if (n)
		qsort(gaps, n, sizeof(*gaps), by_size);
	limits[0] = TOUCHING;
	for (size_t i = 0; i + LEAST_BURSTS - 1 < n; i++) {
		double step = gaps[i + 1] / gaps[i];
		size_t at;

		if (step < STEP || (found == STEPS && step <= steps[STEPS - 1]))
			continue;
		for (at = found < STEPS ? found++ : STEPS - 1; at > 1 && steps[at - 1] < step; at--)
			steps[at] = steps[at - 1], limits[at] = limits[at - 1];
		steps[at] = step;
		limits[at] = gaps[i];
	}
	free(gaps);
	return found;
}

/* ---- periods ---- */

struct regularity {
	double every, off; /* OFF: the largest part of a period by which those NEAR are off */
	size_t near, periods;
};

static double off_by(double d, double every)
{
	return fabs(d / every - fmax(round(d / every), 1));
}

/* How regular are the COUNT distances D with a period of about EVERY? */
static struct regularity measure(const double *d, size_t count, double every)
{
	struct regularity r = { .every = every };
	double sum = 0;

	for (size_t i = 0; i < count; i++) {
		if (off_by(d[i], every) > OFF)
			continue;
		r.near++;
		r.off = fmax(r.off, off_by(d[i], every));
		r.periods += (size_t)fmax(round(d[i] / every), 1);
		sum += d[i];
	}
	if (r.near)
		r.every = sum / (double)r.periods;
	return r;
}

/* Returns the logarithm of the probability that COUNT distances are as regular as R by chance,
 * whichever of them are. */
static double chance(const struct search *s, const struct regularity *r, size_t count, double grain)
{
	double off = fmax(fmax(r->off, LEAST_OFF), grain / r->every / 2);

	double all = (double)count, near = (double)r->near;

	return (near - 1) * log(fmin(2 * off, 1)) + lgamma(all + 1) - lgamma(near + 1) -
	       lgamma(all - near + 1) + log((double)(s->examined * STEPS * 2));
}

/* Are the COUNT bursts at equal distances? Stores them in TO. GRAIN: how exact their beginnings
 * are. A sample of CPU time alone is no burst: samples of a steady load are at equal distances,
 * too. */
static bool is_periodic(const struct search *s, size_t count, double grain,
			struct ct_timeline_moment *to)
{
	const struct burst *list = s->joined;
	double *d, amount = 0, length, lengths = 0;
	struct regularity r;
	size_t pieces = 0, lasting = 0;

	if (count < LEAST_BURSTS)
		return false;
	d = ct_memory_realloc(NULL, count, sizeof(*d));
	for (size_t i = 0; i < count; i++) {
		d[i] = list[i].end - list[i].begin;
		lengths += d[i];
		amount += list[i].amount;
		pieces += list[i].pieces;
		lasting += list[i].lasts;
	}
	length = median(d, count);
	for (size_t i = 0; i + 1 < count; i++)
		d[i] = list[i + 1].begin - list[i].begin;
	r = measure(d, count - 1, median(d, count - 1));
	r = measure(d, count - 1, r.every);
	free(d);
	if ((double)r.near < NEAR * (double)(count - 1) || r.every < LEAST_PERIOD ||
	    (double)r.periods > MISSED * (double)r.near || length * SHORT > r.every ||
	    (pieces < 2 * count && lasting * 2 < count) ||
	    chance(s, &r, count - 1, grain) > log(FALSE_ALARM))
		return false;
	*to = (struct ct_timeline_moment){ .file = s->t,
					   .from = list[0].begin,
					   .to = list[0].begin + length,
					   .rate = amount / fmax(lengths, 1) * 1e9,
					   .every = r.every,
					   .first = list[0].begin,
					   .count = count,
					   .score = amount / s->all };
	return true;
}

static bool find_period(struct search *s, const struct set *set, struct ct_timeline_moment *to)
{
	double limits[STEPS], grain;
	size_t n;

	take_events(s, set);
	grain = s->list[set->events / 2].end - s->list[set->events / 2].begin;
	n = find_limits(s, set->events, limits);
	for (size_t i = 0; i < n; i++) {
		size_t count = join(s, set->events, limits[i]);

		if (!is_periodic(s, count, grain, to) &&
		    !is_periodic(s, drop_faint(s, count), grain, to))
			continue;
		to->function = s->t->names[set->function];
		to->number = set->function;
		to->scope = set->scope;
		return true;
	}
	return false;
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

/* Is the set's function the outermost own one of its stacks? */
static bool is_root(const struct search *s, const struct set *set)
{
	uint32_t sample = s->pairs[s->members[set->first]].sample;

	return s->t->functions[s->t->first_function[sample + 1] - 1] == set->function;
}

static size_t depth_of(const struct search *s, const struct set *set, uint32_t function)
{
	uint32_t sample = s->pairs[s->members[set->first]].sample;
	size_t k = s->t->first_function[sample];

	while (k < s->t->first_function[sample + 1] && s->t->functions[k] != function)
		k++;
	return k;
}

/* Gives LIST[I], of which others are parts, the name of the innermost function with nearly all of
 * it, and, as its caller, that of the outermost one that isn't the thread's own. */
static void name_found(const struct search *s, struct found *list, size_t count, size_t i)
{
	const struct set *whole = list[i].set, *inner = whole,
			 *outer = is_root(s, whole) ? NULL : whole;

	for (size_t k = 0; k < count; k++) {
		const struct set *one = list[k].set;

		if (one->scope != whole->scope || one->total < NEARLY * whole->total ||
		    shared(s, one, whole) < NEARLY * one->total)
			continue;
		if (depth_of(s, whole, one->function) < depth_of(s, whole, inner->function))
			inner = one;
		if (!is_root(s, one) && (!outer || depth_of(s, whole, one->function) >
							   depth_of(s, whole, outer->function)))
			outer = one;
	}
	list[i].m.function = s->t->names[inner->function];
	list[i].m.number = inner->function;
	list[i].m.caller = outer && outer != inner ? s->t->names[outer->function] : NULL;
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

bool ct_timeline_periods_same(const struct ct_timeline_moment *a,
			      const struct ct_timeline_moment *b)
{
	double apart = fabs(remainder(a->first - b->first, a->every));

	return fabs(a->every - b->every) < a->every / 20 &&
	       apart < fmax(a->to - a->from, b->to - b->from) + a->every / 20;
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
			    ct_timeline_periods_same(&list[k].m, &list[i].m)) {
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
	free(s.list);
	free(s.joined);
	free(list);
	return n;
}
