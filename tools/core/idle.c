/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits for something to do; see report.h. */
#include <stdlib.h>
#include <string.h>

#include "core/report.h"

/* Frames at the root that may tell that a thread is the first one. */
#define ROOT_FRAMES 6
/* Frames at the leaf that are libc's functions for a wait. */
#define LEAF_FRAMES 6

/* Threads of a kind: their outermost own function is the same. */
struct kind {
	char *root;
	char **common; /* own functions that all of their stacks have, the outermost first */
	size_t count;
};

struct ct_idle_loops {
	struct kind *kinds;
	size_t count, room;
	bool has_others; /* there are threads besides the first one */
};

struct ct_idle {
	struct ct_own *own;
	const struct ct_profile *p;
	struct ct_idle_loops *loops;
	const char **path; /* own functions of one stack, the outermost first */
	size_t path_count, path_room;
};

static const char *name_of(const struct ct_profile *p, const struct ct_location *l, uint32_t line)
{
	uint32_t f = line < l->line_count ? p->lines[l->first_line + line].function : CT_NONE;

	return f == CT_NONE ? "" : ct_text(p, p->functions[f].name);
}

static void add_own(struct ct_idle *t, const struct ct_location *l)
{
	for (uint32_t line = l->line_count; line-- > 0;)
		if (ct_own_is(t->own, l, &t->p->lines[l->first_line + line]))
			*CT_PUSH(t->path, t->path_count, t->path_room) = name_of(t->p, l, line);
	if (!l->line_count && ct_own_is(t->own, l, NULL))
		*CT_PUSH(t->path, t->path_count, t->path_room) = "";
}

static void read_path(struct ct_idle *t, size_t sample)
{
	const struct ct_sample *s = &t->p->samples[sample];

	t->path_count = 0;
	for (uint32_t k = s->depth; k-- > 0;)
		add_own(t, &t->p->locations[ct_frames(t->p, s)[k]]);
}

static struct kind *kind_of(const struct ct_idle_loops *l, const char *root)
{
	for (size_t i = 0; i < l->count; i++)
		if (!strcmp(l->kinds[i].root, root))
			return &l->kinds[i];
	return NULL;
}

static const char *root_of(const struct ct_idle *t)
{
	return t->path_count ? t->path[0] : "";
}

/* Leaves K the functions that it has in common with a stack of its kind. */
static void cut_to(struct kind *k, const char *const *path, size_t count)
{
	size_t n = 0;

	while (n < k->count && n < count && !strcmp(k->common[n], path[n]))
		n++;
	while (k->count > n)
		free(k->common[--k->count]);
}

static void learn(struct ct_idle_loops *l, const char *root, const char *const *path, size_t count)
{
	struct kind *k = kind_of(l, root);

	if (k) {
		cut_to(k, path, count);
		return;
	}
	k = CT_PUSH(l->kinds, l->count, l->room);
	*k = (struct kind){ .root = ct_memory_strdup(root), .count = count };
	k->common = ct_memory_realloc(NULL, count + 1, sizeof(*k->common));
	for (size_t i = 0; i < count; i++)
		k->common[i] = ct_memory_strdup(path[i]);
}

static bool is_first_thread(const struct ct_profile *p, const struct ct_sample *s)
{
	for (uint32_t k = 0; k < s->depth && k < ROOT_FRAMES; k++) {
		const struct ct_location *l = &p->locations[ct_frames(p, s)[s->depth - 1 - k]];
		const char *name = name_of(p, l, l->line_count ? l->line_count - 1 : 0);

		if (!strcmp(name, "main") || !strcmp(name, "_start") ||
		    ct_starts(name, "__libc_start"))
			return true;
	}
	return false;
}

static struct ct_idle_loops *learn_all(struct ct_idle *t)
{
	struct ct_idle_loops *l = ct_memory_alloc(sizeof(*l));

	for (size_t i = 0; i < t->p->sample_count; i++) {
		read_path(t, i);
		learn(l, root_of(t), t->path, t->path_count);
		l->has_others = l->has_others || !is_first_thread(t->p, &t->p->samples[i]);
	}
	return l;
}

struct ct_idle *ct_idle_new(struct ct_own *own, const struct ct_profile *p)
{
	struct ct_idle *t = ct_memory_alloc(sizeof(*t));

	*t = (struct ct_idle){ .own = own, .p = p };
	t->loops = p->loops ? p->loops : learn_all(t);
	return t;
}

void ct_idle_free(struct ct_idle *t)
{
	if (!t)
		return;
	if (t->loops != t->p->loops)
		ct_idle_loops_free(t->loops);
	free(t->path);
	free(t);
}

void ct_idle_loops_free(struct ct_idle_loops *l)
{
	for (size_t i = 0; l && i < l->count; i++) {
		cut_to(&l->kinds[i], NULL, 0);
		free(l->kinds[i].common);
		free(l->kinds[i].root);
	}
	if (l)
		free(l->kinds);
	free(l);
}

/* By its types, because the files of some processes may have no waits. */
static bool is_of_waits(const struct ct_profile *p)
{
	return ct_model_type(p, "contentions") < p->type_count ||
	       ct_model_type(p, "wall") < p->type_count;
}

void ct_idle_learn(struct ct_profile *p)
{
	struct ct_own *own = p->loops || !is_of_waits(p) ? NULL : ct_own_new(p, ct_own_asked);
	struct ct_idle t = { .own = own, .p = p };

	if (!own)
		return;
	p->loops = learn_all(&t);
	free(t.path);
	ct_own_free(own);
}

void ct_idle_loops_join(struct ct_profile *to, struct ct_profile *const *from, size_t count)
{
	struct ct_idle_loops *all = ct_memory_alloc(sizeof(*all));
	bool known = true;

	for (size_t i = 0; i < count; i++) {
		const struct ct_idle_loops *l = from[i]->loops;

		known = known && l;
		for (size_t k = 0; known && k < l->count; k++)
			learn(all, l->kinds[k].root, (const char *const *)l->kinds[k].common,
			      l->kinds[k].count);
		all->has_others = all->has_others || (l && l->has_others);
	}
	if (known)
		to->loops = all;
	else
		ct_idle_loops_free(all);
}

/* A function that only passes the wait on, such as uv_cond_wait, is no step of the program. */
static bool is_wrapper(const char *name)
{
	return strcasestr(name, "wait") && (strcasestr(name, "cond") || strcasestr(name, "sem"));
}

/* Returns how many own functions lie between the loop of the thread's kind and the wait. A filter
 * may have hidden some. */
static size_t steps_from_loop(struct ct_idle *t, size_t sample)
{
	const struct kind *k;
	size_t steps, in_loop = 0;

	read_path(t, sample);
	k = kind_of(t->loops, root_of(t));
	for (size_t i = 0; k && i < k->count && in_loop < t->path_count; i++)
		in_loop += !strcmp(k->common[i], t->path[in_loop]);
	steps = t->path_count - in_loop;
	while (steps && is_wrapper(t->path[t->path_count - 1])) {
		t->path_count--;
		steps--;
	}
	return steps;
}

/* Returns "condition", "semaphore" or NULL: what the function at the leaf of a lock profile's
 * sample waits for. */
static const char *cause_of_leaf(const struct ct_profile *p, size_t sample)
{
	const struct ct_sample *s = &p->samples[sample];

	for (uint32_t k = 0; k < s->depth && k < LEAF_FRAMES; k++) {
		const char *name = name_of(p, &p->locations[ct_frames(p, s)[k]], 0);

		if (ct_starts(name, "pthread_cond_") || ct_starts(name, "cnd_") ||
		    strstr(name, "ondvar"))
			return "condition";
		if (ct_starts(name, "sem_"))
			return "semaphore";
	}
	return NULL;
}

const char *ct_idle_cause(const struct ct_profile *p, size_t sample)
{
	const struct ct_label *wait = ct_model_label(p, p->samples[sample].label_set, "wait");

	if (wait)
		return ct_text(p, wait->text);
	return ct_model_type(p, "contentions") < p->type_count ? cause_of_leaf(p, sample) : NULL;
}

/* Does the thread wait for any of many events? A client waits for one answer. */
static bool is_event_loop(const struct ct_profile *p, size_t sample)
{
	const struct ct_sample *s = &p->samples[sample];
	const struct ct_label *kind = ct_model_label(p, s->label_set, "kind");

	if (kind && !strcmp(ct_text(p, kind->text), "epoll"))
		return true;
	for (uint32_t k = 0; k < s->depth && k < LEAF_FRAMES; k++)
		if (strstr(name_of(p, &p->locations[ct_frames(p, s)[k]], 0), "epoll_"))
			return true;
	return false;
}

bool ct_idle_is(struct ct_idle *t, size_t sample)
{
	const char *cause = ct_idle_cause(t->p, sample);

	if (!cause)
		return false;
	if (!strcmp(cause, "poll"))
		return is_event_loop(t->p, sample) ||
		       (t->loops->has_others && (is_first_thread(t->p, &t->p->samples[sample]) ||
						 steps_from_loop(t, sample) <= 1));
	if (!strcmp(cause, "thread"))
		return is_first_thread(t->p, &t->p->samples[sample]);
	if (!strcmp(cause, "sleep"))
		return t->loops->count > 1 && !steps_from_loop(t, sample);
	return (!strcmp(cause, "condition") || !strcmp(cause, "semaphore")) &&
	       !is_first_thread(t->p, &t->p->samples[sample]) && steps_from_loop(t, sample) <= 1;
}
