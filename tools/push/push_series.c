/* SPDX-License-Identifier: BSD-3-Clause */
/* Names profiles as their receivers do; see push.h.
 *
 * Pyroscope and Parca show a series as NAME:TYPE:UNIT:PERIOD:UNIT, and both have a list of those
 * that they describe in words: those of Go's profiles. So waits for locks are "block", and holders
 * of locks "mutex", as in Go. Pyroscope's page knows the units of these only. "wall" is named as
 * Pyroscope's agents for Java and node name it. Who ended the waits has no name there.
 */
#include "push/push.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "core/report.h"

#define TYPES 2

/* clang-format off */
static const struct series {
	const char *from[TYPES];     /* sample types in the library's profiles */
	const char *name, *to[TYPES];
	const char *datadog[TYPES];
	const char *period, *unit;
	bool is_moment;		     /* the state at the window's end, not the events in it */
} known[] = {
	{ { "samples", "cpu" }, "process_cpu", { "samples", "cpu" }, { "cpu-samples", "cpu-time" }, "cpu", "nanoseconds", false },
	{ { "samples", "wall" }, "wall", { "samples", "wall" }, { "wall-samples", "wall-time" }, "wall", "nanoseconds", false },
	{ { "alloc_objects", "alloc_space" }, "memory", { "alloc_objects", "alloc_space" }, { "alloc-samples", "alloc-space" }, "space", "bytes", false },
	{ { "inuse_objects", "inuse_space" }, "memory", { "inuse_objects", "inuse_space" }, { "inuse-objects", "inuse-space" }, "space", "bytes", true },
	{ { "contentions", "delay" }, "block", { "contentions", "delay" }, { "block-count", "block-time" }, "contentions", "count", false },
	{ { "waits", "blocking" }, "mutex", { "contentions", "delay" }, { "mutex-count", "mutex-time" }, "contentions", "count", false },
	{ { "waits", "delay" }, "wakers", { "waits", "delay" }, { "wake-count", "wake-time" }, "wakes", "count", false },
};
/* clang-format on */
#define KNOWN (sizeof(known) / sizeof(*known))

/* Keeps only the sample types AT. */
static void choose_types(struct ct_profile *p, const size_t at[TYPES])
{
	struct ct_type types[TYPES];

	for (size_t t = 0; t < TYPES; t++)
		types[t] = p->types[at[t]];
	for (size_t i = 0; i < p->sample_count; i++) {
		const int64_t *from = p->values + i * p->type_count;
		const int64_t values[TYPES] = { from[at[0]], from[at[1]] };

		memcpy(p->values + i * TYPES, values, sizeof(values));
	}
	memcpy(p->types, types, sizeof(types));
	p->type_count = TYPES;
}

/* ARG: globs, separated by commas; NULL: no label stays. */
static bool is_kept(struct ct_profile *p, uint32_t key, void *arg)
{
	char *all = ct_memory_strdup(arg ? arg : ""), *rest = all, *glob;
	bool kept = false;

	while (!kept && (glob = strtok_r(rest, ",", &rest)))
		kept = !fnmatch(glob, ct_text(p, key), 0);
	free(all);
	return kept;
}

/* Removes the labels of P's samples that are not pushed. */
static void choose_labels(struct ct_profile *p, const struct ct_push_series_how *how)
{
	if (how->keys || how->target->kind != CT_PUSH_DIRECTORY)
		ct_model_keep_labels(p, is_kept, (char *)how->keys);
}

static void rename_types(struct ct_profile *p, const struct series *s, enum ct_push_kind kind)
{
	const char *const *names = kind == CT_PUSH_DATADOG ? s->datadog : s->to;

	for (size_t t = 0; t < TYPES; t++)
		p->types[t].type = ct_model_string(p, names[t]);
	p->period_type =
		(struct ct_type){ ct_model_string(p, s->period), ct_model_string(p, s->unit) };
	p->default_type = p->types[TYPES - 1].type;
	/* Comments describe the machine and the program's settings; no receiver shows them. */
	p->comment_count = 0;
}

/* Applies drop_frames, because receivers don't: their first row would be malloc or
 * pthread_mutex_lock. */
static void choose_frames(struct ct_profile *p, bool all)
{
	if (!all)
		ct_drop_frames(p);
	p->drop_frames = p->keep_frames = 0;
}

/* Returns the item of series S, or NULL if P has no values of it. */
static struct ct_push_item *item_of(struct ct_profile *p, const struct series *s,
				    const size_t at[TYPES], const char *labels,
				    const struct ct_push_series_how *how)
{
	struct ct_profile *copy = ct_combine(&p, 1), *merged = NULL;
	int64_t from = p->time_nanos, until = from + p->duration_nanos;
	struct ct_push_item *item = NULL;

	if (!copy)
		return NULL;
	choose_types(copy, at);
	choose_labels(copy, how);
	choose_frames(copy, how->all_frames);
	ct_drop_frames_middle(copy, how->target->depth_max);
	rename_types(copy, s, how->target->kind);
	merged = ct_combine(&copy, 1);
	if (merged && merged->sample_count) {
		merged->time_nanos = s->is_moment ? until : from;
		merged->duration_nanos = s->is_moment ? 0 : until - from;
		item = ct_push_item_new(s->name, labels, from, until, merged);
	}
	ct_model_free(merged);
	ct_model_free(copy);
	return item;
}

/* Pushes the whole file to a directory, with the library's names, so that every verb reads it. */
static size_t push_whole(struct ct_profile *p, const char *mode, const char *labels,
			 const struct ct_push_series_how *how, struct ct_push_item **items)
{
	choose_labels(p, how);
	if (!p->sample_count)
		return 0;
	*items =
		ct_push_item_new(mode, labels, p->time_nanos, p->time_nanos + p->duration_nanos, p);
	return *items != NULL;
}

size_t ct_push_series_items(struct ct_profile *p, const char *mode, const char *labels,
			    const struct ct_push_series_how *how,
			    struct ct_push_item *items[CT_PUSH_SERIES_MAX])
{
	size_t count = 0;
	bool any = false;

	if (how->target->kind == CT_PUSH_DIRECTORY)
		return push_whole(p, mode, labels, how, items);
	for (size_t i = 0; i < KNOWN && count < CT_PUSH_SERIES_MAX; i++) {
		const size_t at[TYPES] = { ct_model_type(p, known[i].from[0]),
					   ct_model_type(p, known[i].from[1]) };

		if (at[0] == p->type_count || at[1] == p->type_count)
			continue;
		any = true;
		items[count] = item_of(p, &known[i], at, labels, how);
		count += items[count] != NULL;
	}
	/* A mode without names in the table keeps its own. */
	if (!any)
		p->comment_count = 0;
	return any ? count : push_whole(p, mode, labels, how, items);
}
