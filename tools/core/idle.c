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
	const char *root;
	const char **common; /* own functions that all of their stacks have, the outermost first */
	size_t count;
};

struct ct_idle {
	struct ct_own *own;
	const struct ct_profile *p;
	struct kind *kinds;
	size_t kind_count, kind_room;
	const char **path; /* own functions of one stack, the outermost first */
	size_t path_count, path_room;
	bool has_others; /* there are threads besides the first one */
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

static struct kind *kind_of_path(const struct ct_idle *t)
{
	const char *root = t->path_count ? t->path[0] : "";

	for (size_t i = 0; i < t->kind_count; i++)
		if (!strcmp(t->kinds[i].root, root))
			return &t->kinds[i];
	return NULL;
}

static size_t same(const struct ct_idle *t, const struct kind *k)
{
	size_t n = 0;

	while (n < k->count && n < t->path_count && !strcmp(k->common[n], t->path[n]))
		n++;
	return n;
}

static void learn(struct ct_idle *t, size_t sample)
{
	struct kind *k;

	read_path(t, sample);
	k = kind_of_path(t);
	if (k) {
		k->count = same(t, k);
		return;
	}
	k = CT_PUSH(t->kinds, t->kind_count, t->kind_room);
	*k = (struct kind){ .root = t->path_count ? t->path[0] : "", .count = t->path_count };
	k->common = ct_memory_realloc(NULL, t->path_count + 1, sizeof(*k->common));
	if (t->path_count)
		memcpy(k->common, t->path, t->path_count * sizeof(*k->common));
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

struct ct_idle *ct_idle_new(struct ct_own *own, const struct ct_profile *p)
{
	struct ct_idle *t = ct_memory_alloc(sizeof(*t));

	*t = (struct ct_idle){ .own = own, .p = p };
	for (size_t i = 0; i < p->sample_count; i++) {
		learn(t, i);
		t->has_others = t->has_others || !is_first_thread(p, &p->samples[i]);
	}
	return t;
}

void ct_idle_free(struct ct_idle *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->kind_count; i++)
		free(t->kinds[i].common);
	free(t->kinds);
	free(t->path);
	free(t);
}

/* A function that only passes the wait on, such as uv_cond_wait, is no step of the program. */
static bool is_wrapper(const char *name)
{
	return strcasestr(name, "wait") && (strcasestr(name, "cond") || strcasestr(name, "sem"));
}

/* Returns how many own functions lie between the loop of the thread's kind and the wait. */
static size_t steps_from_loop(struct ct_idle *t, size_t sample)
{
	const struct kind *k;
	size_t steps;

	read_path(t, sample);
	k = kind_of_path(t);
	steps = t->path_count - (k ? same(t, k) : 0);
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
		       (t->has_others && (is_first_thread(t->p, &t->p->samples[sample]) ||
					  steps_from_loop(t, sample) <= 1));
	if (!strcmp(cause, "thread"))
		return is_first_thread(t->p, &t->p->samples[sample]);
	if (!strcmp(cause, "sleep"))
		return t->kind_count > 1 && !steps_from_loop(t, sample);
	return (!strcmp(cause, "condition") || !strcmp(cause, "semaphore")) &&
	       !is_first_thread(t->p, &t->p->samples[sample]) && steps_from_loop(t, sample) <= 1;
}
