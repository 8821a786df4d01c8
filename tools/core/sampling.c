/* SPDX-License-Identifier: BSD-3-Clause */
/* The sampling error of profiles; see report.h. */
#include "core/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/times.h"

/* In a profile of fragmentation, the period is the bytes of pages per watched page. */
#define PAGE 4096.0

static bool is_type(const struct ct_profile *p, size_t space, const char *name)
{
	return !strcmp(ct_text(p, p->types[space].type), name);
}

bool ct_sampling_is_sampled(const struct ct_profile *p, size_t space)
{
	/* It is unknown how the blocks' bytes are spread over the pages. */
	if (is_type(p, space, "page_space"))
		return false;
	return p->period > 1 && !strcmp(ct_text(p, p->period_type.type), "space") &&
	       !strcmp(ct_text(p, p->period_type.unit), "bytes") && space > 0 &&
	       !strcmp(ct_text(p, p->types[space].unit), "bytes") &&
	       !strcmp(ct_text(p, p->types[space - 1].unit), "count");
}

static int64_t labelled_size(const struct ct_profile *p, size_t i)
{
	const struct ct_label *l = ct_model_label(p, p->samples[i].label_set, "bytes");

	return l && !l->text && l->number > 0 && (!l->unit || !strcmp(ct_text(p, l->unit), "bytes"))
		       ? l->number
		       : 0;
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
	return size > 0
		       ? ct_times_window_thinning() * bytes * size / expm1(size / (double)p->period)
		       : 0;
}

/* A value is off by half if its variance is this part of its square. */
#define HALF (CT_SAMPLING_95 / 0.5)

#define CALIBRATED "calibrated: "

/* Returns comment I's text about the certainty of types, or NULL. */
static const char *calibration(const struct ct_profile *p, size_t i)
{
	const char *c = ct_notes_comment(p, i);

	return strncmp(c, CALIBRATED, sizeof(CALIBRATED) - 1) ? NULL : c + sizeof(CALIBRATED) - 1;
}

bool ct_sampling_is_calibrated(const struct ct_profile *p)
{
	bool is = false;

	for (size_t i = 0; i < p->comment_count; i++)
		is |= calibration(p, i) != NULL;
	return is;
}

/* Returns the largest number after the name of TYPE in these comments; merged profiles have
 * several. */
static double calibrated(const struct ct_profile *p, const char *type)
{
	size_t n = strlen(type);
	double most = 0;

	for (size_t i = 0; n && i < p->comment_count; i++) {
		const char *at = calibration(p, i);

		while (at && (strncmp(at, type, n) != 0 || at[n] != ' ')) {
			at = strchr(at, ',');
			at = at ? at + 1 + strspn(at + 1, " ") : NULL;
		}
		if (at)
			most = fmax(most, strtod(at + n, NULL));
	}
	return most;
}

double ct_sampling_unsure(const struct ct_profile *p, size_t type)
{
	double samples = 0, total = 0, variance = 0, each = ct_times_window_thinning();
	bool blocks = ct_sampling_is_sampled(p, type);

	for (size_t i = 0; i < p->sample_count; i++) {
		samples += (double)ct_values(p, i)[0];
		total += fabs((double)ct_values(p, i)[type]);
		variance += blocks ? ct_sampling_variance(p, i, type) : 0;
	}
	if (blocks)
		return total > 0 ? variance / total * HALF * HALF : 0;
	if (is_type(p, 0, "samples") && !strcmp(ct_text(p, p->types[0].unit), "count"))
		return samples > 0 ? total * HALF * HALF / (samples / each + HALF * HALF) : 0;
	return calibrated(p, ct_text(p, p->types[type].type)) * HALF * HALF * each;
}

char *ct_sampling_format(char *to, size_t size, double value, double variance)
{
	double percent = value ? 100 * CT_SAMPLING_95 * sqrt(variance) / fabs(value) : 0;

	*to = '\0';
	if (percent >= 0.05)
		snprintf(to, size, "\302\261%.*f%%", percent < 9.95 ? 1 : 0, percent);
	return to;
}
