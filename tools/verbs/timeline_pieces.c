/* SPDX-License-Identifier: BSD-3-Clause */
/* What happened when on the axis of a timeline, in which functions; see timeline.h.
 *
 * An event of a time index may stand for more time than it lasted: a sample of CPU time for the
 * time since the one before, a sampled wait also for waits that were not sampled. Such an event
 * becomes a piece as long as what it stands for, which ends where the event ended. Pieces of this
 * kind that would overlap on their thread are moved apart, so that no thread does more than is
 * possible. An event that lasted as long as what it stands for stays where it was: if the index is
 * thinned, it counts for dropped ones, too, which were mostly at the same time on other threads. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/report.h"
#include "core/times.h"
#include "verbs/timeline.h"
#include "verbs/verbs.h"

#define DEEPEST 64 /* functions of a stack that are looked at */
/* An amount may differ so much from the event's duration because sums are corrected. */
#define CORRECTED 1.25

/* ---- pieces ---- */

/* The times that a thread spent in its states are known independently of each other. */
static char state_of(const struct ct_timeline *t, uint32_t sample)
{
	const char *state = t->is_wall ? ct_own_stack_label(t->p, sample, "state") : NULL;

	return state ? *state : 0;
}

static struct ct_timeline_piece piece_of(const struct ct_timeline *t, const struct ct_event *e)
{
	double amount = e->death ? 0 : ct_times_weight(t->p->times, e) * t->worth[e->sample];
	double end = t->offset + (double)e->begin + (double)e->duration;
	double length = (double)e->duration, thinning = (double)t->p->times->thinning;

	if (t->is_time && !t->is_shared && amount > length * thinning * CORRECTED)
		length = amount;
	return (struct ct_timeline_piece){ end - length, end, amount, e, state_of(t, e->sample) };
}

/* Does the piece of an event stand for more time than the event lasted? */
static bool is_spread(const struct ct_timeline_piece *p)
{
	return p->end - p->begin > (double)p->event->duration * CORRECTED;
}

static int by_state_and_end(const void *x, const void *y)
{
	const struct ct_timeline_piece *a = *(struct ct_timeline_piece *const *)x,
				       *b = *(struct ct_timeline_piece *const *)y;
	int d = a->state - b->state;

	return d ? d : (a->end > b->end) - (a->end < b->end);
}

static void move_by(struct ct_timeline_piece *p, double ns)
{
	p->begin += ns;
	p->end += ns;
}

/* Moves COUNT pieces of a thread apart: to earlier times, and from before LOW to later ones. */
static void move_apart(struct ct_timeline_piece **list, size_t count, double low)
{
	for (size_t i = count; i-- > 1;)
		move_by(list[i - 1], fmin(list[i]->begin - list[i - 1]->end, 0));
	for (size_t i = 0; i < count && list[i]->begin < low; i++) {
		move_by(list[i], low - list[i]->begin);
		low = list[i]->end;
	}
}

/* "(others)" are several threads. */
static bool is_one_thread(const struct ct_timeline *t, const struct ct_timeline_piece *p)
{
	return *ct_text(t->p, t->p->times->threads[p->event->thread].name) != '(';
}

static bool is_moved(const struct ct_timeline *t, const struct ct_timeline_piece *p)
{
	return p->amount > 0 && is_spread(p) && is_one_thread(t, p);
}

/* Moves the COUNT pieces of a thread, in the order of events, apart in each of its states. */
static void move_thread(struct ct_timeline_piece **list, size_t count, double low)
{
	size_t i = 1;

	while (i < count && by_state_and_end(&list[i - 1], &list[i]) <= 0)
		i++;
	if (i < count)
		qsort(list, count, sizeof(struct ct_timeline_piece *), by_state_and_end);
	for (size_t first = 0, end; first < count; first = end) {
		for (end = first + 1; end < count && list[end]->state == list[first]->state;)
			end++;
		move_apart(list + first, end - first, low);
	}
}

void ct_timeline_pieces_make(struct ct_timeline *t)
{
	const struct ct_times *times = t->p->times;
	struct ct_timeline_piece **list =
		ct_memory_realloc(NULL, times->event_count + 1, sizeof(struct ct_timeline_piece *));
	size_t *end = ct_memory_alloc((times->thread_count + 2) * sizeof(*end));

	t->pieces = ct_memory_realloc(NULL, times->event_count + 1, sizeof(*t->pieces));
	for (size_t i = 0; i < times->event_count; i++) {
		t->pieces[i] = piece_of(t, &times->events[i]);
		end[times->events[i].thread + 2] += is_moved(t, &t->pieces[i]);
	}
	for (size_t i = 2; i < times->thread_count + 2; i++)
		end[i] += end[i - 1];
	for (size_t i = 0; i < times->event_count; i++)
		if (is_moved(t, &t->pieces[i]))
			list[end[times->events[i].thread + 1]++] = &t->pieces[i];
	for (size_t i = 0; i < times->thread_count; i++)
		move_thread(list + end[i], end[i + 1] - end[i], t->offset);
	free(list);
	free(end);
}

double ct_timeline_pieces_within(const struct ct_timeline_moment *m, double begin, double length)
{
	double in = fmin(begin + length, m->to) - fmax(begin, m->from);

	return length > 0 ? fmax(in, 0) / length : in >= 0;
}

bool ct_timeline_pieces_part(struct ct_timeline_piece *p, double from, double length, size_t count,
			     size_t *cell, double *amount)
{
	double end = from + length * (double)count, at = fmin(fmax(p->begin, from), end);
	double whole = p->end - p->begin, to;

	if (p->amount <= 0)
		return false;
	*cell = (size_t)fmax((at - from) / length + 1e-9, 0);
	*cell = *cell < count ? *cell : count - 1;
	to = *cell + 1 < count ? from + length * (double)(*cell + 1) : INFINITY;
	to = fmin(to, p->end);
	*amount = whole > 0 ? p->amount * fmax(to - p->begin, 0) / whole : p->amount;
	p->amount -= *amount;
	p->begin = to;
	if (to >= p->end)
		p->amount = 0;
	return true;
}

/* ---- functions ---- */

static bool same_name(const void *context, uint32_t index, const void *key)
{
	return !strcmp(((const struct ct_timeline *)context)->names[index], key);
}

static uint32_t name_number(struct ct_timeline *t, struct ct_table *table, size_t *room,
			    const char *name)
{
	uint64_t hash = ct_table_hash_text(name);
	uint32_t at = ct_table_find(table, hash, same_name, t, name);

	if (at == CT_NONE) {
		ct_table_add(table, hash, at = (uint32_t)t->name_count);
		*CT_PUSH(t->names, t->name_count, *room) = ct_memory_strdup(name);
	}
	return at;
}

bool ct_timeline_pieces_is_ready(const struct ct_profile *p, size_t sample)
{
	const char *state = ct_own_stack_label(p, sample, "state");

	return state && !strcmp(state, "runnable");
}

/* A function that waits is told with the cause. A function that calls others is told, too: what
 * they do may be usual, and only that it calls them is not. */
void ct_timeline_pieces_functions(struct ct_timeline *t)
{
	struct ct_idle *idle = ct_idle_new(t->own, t->p);
	struct ct_table table = { 0 };
	const char *names[DEEPEST];
	size_t room = 0, used = 0, function_room = 0;

	t->first_function =
		ct_memory_realloc(NULL, t->p->sample_count + 1, sizeof(*t->first_function));
	t->idle = ct_memory_alloc(t->p->sample_count + 1);
	for (size_t i = 0; i < t->p->sample_count; i++) {
		const char *wait = ct_own_stack_label(t->p, i, "wait"),
			   *state = ct_own_stack_label(t->p, i, "state");
		const char *cause = wait				     ? wait
				    : ct_timeline_pieces_is_ready(t->p, i)   ? "ready to run"
				    : state && strcmp(state, "running") != 0 ? state
									     : NULL;
		size_t n = ct_own_stack_functions(t->own, t->p, i, names, DEEPEST);

		t->first_function[i] = used;
		t->idle[i] = ct_idle_is(idle, i);
		for (size_t k = 0; k < n && !t->idle[i]; k++) {
			char *name = cause && !k ? ct_memory_printf("%s [%s]", names[k], cause)
						 : ct_memory_strdup(names[k]);

			*CT_PUSH(t->functions, used, function_room) =
				name_number(t, &table, &room, name);
			free(name);
		}
	}
	t->first_function[t->p->sample_count] = used;
	ct_table_release(&table);
	ct_idle_free(idle);
}

bool ct_timeline_pieces_has(const struct ct_timeline *t, uint32_t sample, uint32_t function)
{
	for (size_t k = t->first_function[sample]; k < t->first_function[sample + 1]; k++)
		if (t->functions[k] == function)
			return true;
	return false;
}

/* The sums of a function in the samples that a moment is about. */
struct share {
	double sum, depth,
		root; /* DEPTH: times functions outside of it; ROOT: where it is outermost */
};

static void add_sample(const struct ct_timeline *t, size_t sample, double amount, struct share *to)
{
	size_t end = t->first_function[sample + 1];

	for (size_t k = t->first_function[sample]; k < end; k++) {
		to[t->functions[k]].sum += amount;
		to[t->functions[k]].depth += amount * (double)(end - 1 - k);
		to[t->functions[k]].root += k + 1 == end ? amount : 0;
	}
}

void ct_timeline_pieces_name(struct ct_timeline_moment *m, const double *amount, const bool *may)
{
	const struct ct_timeline *t = m->file;
	struct share *all = ct_memory_alloc((t->name_count + 1) * sizeof(*all));
	const struct share *whole = &all[m->number], *inner = NULL, *outer = NULL;

	for (size_t i = 0; i < t->p->sample_count; i++)
		if (amount[i] != 0 && ct_timeline_pieces_has(t, (uint32_t)i, m->number))
			add_sample(t, i, amount[i], all);
	for (size_t i = 0; i < t->name_count; i++) {
		const struct share *one = &all[i];

		if (!(one->sum > 0) || one->sum < CT_TIMELINE_NEARLY * whole->sum ||
		    (!may[i] && one != whole))
			continue;
		if (!inner || one->depth / one->sum > inner->depth / inner->sum)
			inner = one;
		if (one->root * 2 < one->sum &&
		    (!outer || one->depth / one->sum < outer->depth / outer->sum))
			outer = one;
	}
	if (inner) {
		m->number = (uint32_t)(inner - all);
		m->function = t->names[m->number];
		m->caller = outer && outer != inner ? t->names[outer - all] : NULL;
	}
	free(all);
}

/* ---- groups of threads ---- */

/* Returns the length of NAME without the number at its end. */
static size_t stem_of(const char *name)
{
	size_t n = strlen(name);

	while (n && strchr("0123456789-_/#: ", name[n - 1]))
		n--;
	return n ? n : strlen(name);
}

bool ct_timeline_pieces_alike(const struct ct_timeline *t, uint32_t a, uint32_t b, size_t *stem)
{
	const char *x = ct_text(t->p, t->p->times->threads[a].name),
		   *y = ct_text(t->p, t->p->times->threads[b].name);

	*stem = stem_of(x);
	return stem_of(y) == *stem && !strncmp(x, y, *stem);
}
