/* SPDX-License-Identifier: BSD-3-Clause */
/* The sampling error of heap profiles; see sampling.h. */
#include "core/sampling.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Of a profile of fragmentation, the period is that many bytes of pages to a watched one. */
#define PAGE 4096.0

static bool is_type(const struct ct_profile *p, size_t space, const char *name)
{
	return !strcmp(ct_text(p, p->types[space].type), name);
}

bool ct_sampling_is_sampled(const struct ct_profile *p, size_t space)
{
	/* How the bytes of blocks are spread over the pages isn't known. */
	if (is_type(p, space, "page_space"))
		return false;
	return p->period > 1 && !strcmp(ct_text(p, p->period_type.type), "space") &&
	       !strcmp(ct_text(p, p->period_type.unit), "bytes") && space > 0 &&
	       !strcmp(ct_text(p, p->types[space].unit), "bytes") &&
	       !strcmp(ct_text(p, p->types[space - 1].unit), "count");
}

static int64_t labelled_size(const struct ct_profile *p, size_t i)
{
	const struct ct_label_set *set = &p->label_sets[p->samples[i].label_set];

	for (uint32_t k = 0; k < set->count; k++) {
		const struct ct_label *l = &p->labels[set->first + k];

		if (!l->text && l->number > 0 && !strcmp(ct_text(p, l->key), "bytes") &&
		    (!l->unit || !strcmp(ct_text(p, l->unit), "bytes")))
			return l->number;
	}
	return 0;
}

double ct_sampling_size(const struct ct_profile *p, size_t i, size_t space)
{
	double bytes = fabs((double)ct_values(p, i)[space]);
	double blocks = fabs((double)ct_values(p, i)[space - 1]);
	int64_t size = ct_sampling_is_sampled(p, space) ? labelled_size(p, i) : 0;

	return size ? (double)size : blocks >= 1 ? bytes / blocks : bytes;
}

double ct_sampling_variance(const struct ct_profile *p, size_t i, size_t space)
{
	double bytes = fabs((double)ct_values(p, i)[space]);
	double size = ct_sampling_size(p, i, space);

	if (is_type(p, space, "held_space"))
		return bytes * size * fmax((double)p->period / PAGE - 1, 0);
	/* 1/p - 1 = 1/(e^x - 1) with x = size/interval. */
	return size > 0 ? bytes * size / expm1(size / (double)p->period) : 0;
}

char *ct_sampling_format(char *to, size_t size, double value, double variance)
{
	double percent = value ? 100 * CT_SAMPLING_95 * sqrt(variance) / fabs(value) : 0;

	*to = '\0';
	if (percent >= 0.05)
		snprintf(to, size, "\302\261%.*f%%", percent < 9.95 ? 1 : 0, percent);
	return to;
}
