/* SPDX-License-Identifier: BSD-3-Clause */
/* A comparison as JSON. Values are in the profile's unit. */
#include <math.h>
#include <stdlib.h>

#include "diff/diff.h"
#include "core/core.h"

static void figure(struct ct_json *j, const char *key, const struct ct_diff_figure *f)
{
	double before = f->mean[CT_BEFORE], after = f->mean[CT_AFTER];

	ct_json_open(j, key, '{');
	ct_json_number(j, "before", before);
	ct_json_number(j, "after", after);
	ct_json_number(j, "before_spread", f->spread[CT_BEFORE]);
	ct_json_number(j, "after_spread", f->spread[CT_AFTER]);
	ct_json_number(j, "change", after - before);
	/* null: the value before was 0. */
	ct_json_number(j, "ratio", before > 0 ? after / before : NAN);
	ct_json_number(j, "p", f->p);
	/* null: not known. */
	ct_json_number(j, "chance", f->chance);
	ct_json_close(j, '}');
}

static void files(struct ct_json *j, const struct ct_diff *d, const char *key, unsigned side)
{
	ct_json_open(j, key, '[');
	for (size_t i = 0; i < d->file_count; i++)
		if (d->files[i].side == side)
			ct_json_text(j, NULL, d->files[i].name);
	ct_json_close(j, ']');
}

static void rows(struct ct_json *j, const struct ct_diff *d)
{
	uint32_t *order = ct_diff_rows_order(d, d->limits.by_cum ? CT_CUM : CT_FLAT);

	ct_json_open(j, "functions", '[');
	for (size_t i = 0; i < d->row_count; i++) {
		const struct ct_diff_row *row = &d->rows[order[i]];

		ct_json_open(j, NULL, '{');
		ct_json_text(j, "name", ct_frame_name(&d->frames, row->frame));
		figure(j, "flat", &row->figure[CT_FLAT]);
		figure(j, "cum", &row->figure[CT_CUM]);
		if (d->has_own)
			figure(j, "own", &row->figure[CT_OWN]);
		ct_json_bool(j, "regressed", row->regressed);
		ct_json_close(j, '}');
	}
	ct_json_close(j, ']');
	free(order);
}

void ct_diff_json(const struct ct_diff *d)
{
	struct ct_json j = ct_json_to(stdout);

	ct_json_open(&j, NULL, '{');
	ct_json_text(&j, "type", d->type);
	ct_json_text(&j, "unit", d->unit);
	files(&j, d, "before", CT_BEFORE);
	files(&j, d, "after", CT_AFTER);
	ct_json_bool(&j, "regressed", d->verdict == CT_REGRESSION);
	ct_json_text(&j, "verdict",
		     d->limits.fail_over < 0	   ? "none"
		     : d->verdict == CT_REGRESSION ? "regression"
		     : d->verdict == CT_TOO_FEW	   ? "too few"
						   : ct_diff_verdict_word(d));
	ct_json_text(&j, "scope", d->limits.by_function ? "function" : "total");
	ct_json_number(&j, "fail_over", d->limits.fail_over < 0 ? NAN : d->limits.fail_over);
	ct_json_number(&j, "min", d->limits.min);
	ct_json_number(&j, "alpha", d->limits.alpha);
	ct_json_bool(&j, "normalized", d->limits.normalize);
	figure(&j, "total", &d->total);
	rows(&j, d);
	ct_json_close(&j, '}');
}
