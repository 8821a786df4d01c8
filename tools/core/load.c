/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes one profile from the sources; see read.h. Called by every verb that shows samples. */
#include "core/read.h"

#include <stdlib.h>
#include <string.h>

#include "core/report.h"
#include "core/times.h"

static struct {
	struct ct_list base, diff_base;
	bool normalize, drop_frames;
} asked;

static bool combined;
static const char *times_lost; /* why */

const struct ct_option ct_load_options[] = {
	CT_LIST("base", "FILE", &asked.base, "subtract this profile (may be given several times)"),
	CT_LIST("diff_base", "FILE", &asked.diff_base,
		"the same, and shares are of the base's total"),
	CT_FLAG("normalize", &asked.normalize, "first scale to the base's total"),
	CT_FLAG("drop_frames", &asked.drop_frames,
		"leave out malloc, operator new, pthread_mutex_lock and what lies between them "
		"and your code, as pprof does"),
	CT_END
};

static void free_all(struct ct_profile **profiles, size_t count)
{
	for (size_t i = 0; i < count; i++)
		ct_model_free(profiles[i]);
	free(profiles);
}

/* Notes which of the profiles has no time index while others have one. */
static void note_lost(struct ct_profile *const *profiles, const char *const *sources, size_t count)
{
	size_t with = 0, last = 0;

	for (size_t i = 0; i < count; i++) {
		with += profiles[i]->times != NULL;
		last = profiles[i]->times || !profiles[i]->sample_count ? last : i + 1;
	}
	if (with && last)
		times_lost = ct_memory_printf("the time index is not of all files: %s has none",
					      sources[last - 1]);
}

const char *ct_load_lost_times(void)
{
	return times_lost;
}

static struct ct_profile *read_all(const char *const *sources, size_t count)
{
	struct ct_profile **profiles = ct_memory_alloc(count * sizeof(*profiles)), *all;

	if (ct_read_sources(profiles, sources, count)) {
		free(profiles);
		return NULL;
	}
	if (ct_times_filter(profiles, sources, count)) {
		free_all(profiles, count);
		return NULL;
	}
	if (count == 1) {
		all = profiles[0];
		free(profiles);
	} else {
		note_lost(profiles, sources, count);
		all = ct_combine(profiles, count);
		free_all(profiles, count);
	}
	if (all)
		ct_own_name_places(all);
	return all;
}

static void mark_as_base(struct ct_profile *p)
{
	uint32_t *marked = ct_memory_alloc(p->label_set_count * sizeof(*marked));
	struct ct_label mark = { .key = ct_model_string(p, CT_BASE_LABEL),
				 .text = ct_model_string(p, "true") };

	for (size_t i = 0; i < p->sample_count; i++) {
		uint32_t set = p->samples[i].label_set;

		if (!marked[set]) {
			struct ct_label_set from = p->label_sets[set];
			struct ct_label *labels =
				ct_memory_alloc((from.count + 1) * sizeof(*labels));

			if (from.count)
				memcpy(labels, p->labels + from.first,
				       from.count * sizeof(*labels));
			labels[from.count] = mark;
			marked[set] = ct_model_label_set(p, labels, from.count + 1);
			free(labels);
		}
		p->samples[i].label_set = marked[set];
	}
	free(marked);
}

static void normalize(struct ct_profile *p, const struct ct_profile *base)
{
	double *ratios = ct_memory_alloc(p->type_count * sizeof(*ratios));

	for (size_t t = 0; t < p->type_count && t < base->type_count; t++) {
		int64_t own = ct_model_total(p, t);

		ratios[t] = own ? (double)ct_model_total(base, t) / (double)own : 0;
	}
	ct_combine_header_scale(p, ratios);
	free(ratios);
}

static void negate(struct ct_profile *p)
{
	for (size_t i = 0; i < p->sample_count * p->type_count; i++)
		p->values[i] = ct_negate(p->values[i]);
}

/* Subtracts the base from P. Owns P. */
static struct ct_profile *subtract(struct ct_profile *p, const struct ct_list *list, bool diff)
{
	struct ct_profile *base, *both = NULL;

	ct_times_filter_forget();
	base = read_all(list->items, list->count);
	if (base) {
		if (diff)
			mark_as_base(base);
		if (asked.normalize)
			normalize(p, base);
		negate(base);
		times_lost = p->times ? "the time index is left out of a difference" : times_lost;
		ct_times_drop(p);
		both = ct_combine((struct ct_profile *[]){ p, base }, 2);
	}
	ct_model_free(base);
	ct_model_free(p);
	return both;
}

bool ct_load_is_combined(void)
{
	return combined;
}

bool ct_load_is_difference(void)
{
	return asked.base.count || asked.diff_base.count;
}

struct ct_profile *ct_load_files(char *const *files, int count)
{
	struct ct_profile *p = read_all((const char *const *)files, (size_t)count);
	static bool said;

	if (p && !said)
		ct_times_window_say(p, ct_model_default_type(p), stderr);
	said |= p != NULL;
	return p;
}

struct ct_profile *ct_load(char *const *sources, int count)
{
	struct ct_profile *p;

	if (asked.base.count && asked.diff_base.count) {
		fputs("cprof: -base and -diff_base exclude each other\n", stderr);
		return NULL;
	}
	p = read_all((const char *const *)sources, (size_t)count);
	if (p && ct_load_is_difference())
		p = subtract(p, asked.base.count ? &asked.base : &asked.diff_base,
			     asked.diff_base.count > 0);
	combined = count > 1 || ct_load_is_difference();
	if (p && p->drop_frames && (asked.drop_frames || !ct_drop_frames_ours(p))) {
		ct_drop_frames(p);
		combined = false;
	}
	return p;
}
