/* SPDX-License-Identifier: BSD-3-Clause */
/* Which lock a moment of a timeline is about, and who held it; see timeline.h. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/read.h"
#include "core/times.h"
#include "verbs/timeline.h"
#include "verbs/verbs.h"

/* Returns the name with the largest sum, or NULL. */
static const char *largest(struct ct_sums *s)
{
	if (!s->count)
		return NULL;
	ct_own_stack_sort(s);
	return s->list[0].name;
}

char *ct_timeline_locks_name(const struct ct_timeline_moment *m)
{
	const struct ct_timeline *t = m->file;
	struct ct_sums locks = { 0 };
	const char *lock;
	char *name;

	if (ct_model_type(t->p, "contentions") == t->p->type_count && !t->is_shared)
		return NULL;
	for (size_t i = 0; i < t->p->times->event_count; i++) {
		const struct ct_timeline_piece *p = &t->pieces[i];

		lock = ct_own_stack_label(t->p, p->event->sample, "lock");
		if (lock && p->end >= m->from && p->begin <= m->to &&
		    ct_timeline_pieces_has(t, p->event->sample, m->number))
			ct_own_stack_sum(&locks, lock)->value +=
				(int64_t)(p->amount * ct_timeline_pieces_within(m, p->begin,
										p->end - p->begin));
	}
	lock = largest(&locks);
	name = lock ? ct_memory_strdup(lock) : NULL;
	ct_own_stack_release(&locks);
	return name;
}

/* Sums up, by "function, by thread NAME", what P's events of LOCK have in M. WAKERS: they are of
 * threads that ended the waits; then the function is theirs, and their thread isn't known. */
static void add_others(struct ct_sums *to, const struct ct_profile *p,
		       const struct ct_timeline_moment *m, const char *lock, int64_t zero,
		       bool wakers)
{
	struct ct_own *own = ct_own_new(p, NULL);
	double offset = (double)ct_times_between(zero, ct_times_start(p));

	for (size_t i = 0; own && i < p->times->event_count; i++) {
		const struct ct_event *e = &p->times->events[i];
		const char *of = ct_own_stack_label(p, e->sample, "lock");
		double in = ct_timeline_pieces_within(m, offset + (double)e->begin,
						      (double)e->duration);
		char *text;

		if (!of || strcmp(of, lock) != 0 || !(in > 0) || e->death)
			continue;
		text = wakers ? ct_own_stack_waker(own, p, e->sample)
			      : ct_memory_printf("%s, by thread %s",
						 ct_own_stack_function(own, p, e->sample),
						 ct_text(p, p->times->threads[e->thread].name));
		if (*text != '[')
			ct_own_stack_sum(to, text)->value +=
				(int64_t)(ct_times_weight(p->times, e) * in);
		free(text);
	}
	ct_own_free(own);
}

/* Returns who it was, of the companion of M's file, or NULL. */
static char *other_of(const struct ct_timeline_moment *m, const char *lock, int64_t zero,
		      const char *companion)
{
	char *beside = ct_run_show_beside(m->file->name, companion), *text = NULL;
	bool wakers = !strcmp(companion, "wakers");
	struct ct_profile *p = access(beside, R_OK) ? NULL : ct_read_source(beside);
	struct ct_sums others = { 0 };
	const char *most;

	free(beside);
	if (!p)
		return NULL;
	if (p->times)
		add_others(&others, p, m, lock, zero, wakers);
	most = largest(&others);
	if (most)
		text = ct_memory_printf("%s %s", wakers ? "mostly ended by" : "held longest in",
					most);
	ct_own_stack_release(&others);
	ct_model_free(p);
	return text;
}

char *ct_timeline_locks_other(const struct ct_timeline_moment *m, const char *lock, int64_t zero)
{
	char *text = other_of(m, lock, zero, "holders");

	return text ? text : other_of(m, lock, zero, "wakers");
}
