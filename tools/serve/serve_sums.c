/* SPDX-License-Identifier: BSD-3-Clause */
/* See serve.h. */
#include "serve/serve.h"

#include "flame/flame.h"

#include <stdlib.h>
#include <string.h>

/* A heap profile's time is that of the dump. The allocated bytes tell whether the mode was off
 * meanwhile or the process called exec: otherwise they never get less. */
static bool has_less(const struct ct_profile *p)
{
	for (size_t i = 0; i < p->sample_count; i++)
		for (size_t t = 0; t < p->type_count; t++)
			if (!ct_model_is_of_moment(p, t) && ct_values(p, i)[t] < 0)
				return true;
	return false;
}

static void scale(struct ct_profile *p, double moment, double other)
{
	double *ratios = ct_memory_alloc((p->type_count + 1) * sizeof(*ratios));

	for (size_t i = 0; i < p->type_count; i++)
		ratios[i] = ct_model_is_of_moment(p, i) ? moment : other;
	ct_combine_header_scale(p, ratios);
	free(ratios);
	p->comment_count = 0;
}

struct ct_profile *ct_serve_sums_joined(struct ct_profile *p)
{
	struct ct_profile *whole = p ? ct_combine(&p, 1) : NULL;

	ct_model_free(p);
	return whole;
}

struct ct_profile *ct_serve_sums_change(struct ct_profile *p, struct ct_profile *before)
{
	struct ct_profile *both[2] = { p, before }, *window = NULL;

	if (ct_flame_sides_equal_types(p, before)) {
		scale(before, -1, -1);
		window = ct_combine(both, 2);
	}
	if (window && has_less(window)) {
		ct_model_free(window);
		window = NULL;
	}
	/* With a duration, a receiver would take the memory in use for the window's. */
	if (window) {
		window->time_nanos = before->time_nanos;
		window->duration_nanos = p->time_nanos - before->time_nanos;
	}
	ct_model_free(before);
	if (!window)
		return ct_serve_sums_joined(p); /* another run, so all of it is new */
	ct_model_free(p);
	return window;
}

static void add_missing(struct ct_profile *p, unsigned count)
{
	char *text = ct_memory_printf("# note: %u earlier windows that this client missed are not "
				      "in this profile: there was no room for them",
				      count);

	ct_model_add_comment(p, ct_model_string(p, text));
	free(text);
}

struct ct_profile *ct_serve_sums_with_parts(const struct ct_serve_window *w, struct ct_profile *p)
{
	struct ct_profile *all[CT_SERVE_PARTS + 1], *sum;
	unsigned missing = w->missing;
	size_t n = 0;
	char *why;

	for (unsigned i = 0; i < w->part_count; i++) {
		struct ct_profile *part = ct_control_profile_read(w->parts[i].fd, &why);

		if (part)
			scale(part, 0, 1);
		else
			free(why);
		/* The mode may have begun anew with other types. */
		if (part && ct_flame_sides_equal_types(part, p))
			all[n++] = part;
		else
			ct_model_free(part);
	}
	all[n++] = p;
	sum = ct_combine(all, n);
	while (n > 0)
		ct_model_free(all[--n]);
	if (missing && sum)
		add_missing(sum, missing);
	return sum;
}
