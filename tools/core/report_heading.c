/* SPDX-License-Identifier: BSD-3-Clause */
/* The lines above a table; see report.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/read.h"
#include "core/report.h"
#include "core/times.h"

#define FILTERS 8
#define FILTER_SHOWN 80

void ct_report_heading_total(const struct ct_report *r)
{
	char length[CT_NUMBER_ROOM], total[CT_NUMBER_ROOM], share[CT_NUMBER_ROOM];
	int64_t passed = r->p->duration_nanos;
	const char *unit;
	double nanos;

	printf("%s %s", ct_report_value(r, total, r->total), r->settings.mean ? "mean_" : "");
	ct_out_text(stdout, r->type);
	if (!passed)
		return;
	printf(" in %s", ct_numbers_format(length, passed, "nanoseconds", "auto"));
	nanos = ct_numbers_scale(r->total, r->from_unit, "nanoseconds", &unit);
	if (!strcmp(unit, "ns") && nanos)
		printf(" (%s)",
		       ct_trimmed(ct_numbers_percent(share, ct_numbers_clamp(nanos), passed)));
}

static void filters(void)
{
	const char *lines[FILTERS];
	size_t n = ct_filter_active(lines, FILTERS);

	if (n)
		puts("Active filters:");
	for (size_t i = 0; i < n; i++) {
		char *shown = ct_memory_printf("   %.*s%s", FILTER_SHOWN, lines[i],
					       strlen(lines[i]) > FILTER_SHOWN ? "…" : "");

		ct_out_text(stdout, shown);
		putchar('\n');
		free(shown);
	}
}

static int64_t shown_flat(const struct ct_graph *g)
{
	int64_t sum = 0;

	for (size_t i = 0; i < g->kept_count; i++)
		sum = ct_add(sum, ct_graph_node_flat(&g->nodes[g->order[i]]));
	return sum;
}

static void shown(const struct ct_report *r, size_t rows)
{
	const struct ct_graph *g = r->graph;
	size_t all = r->trimmed.before_count + r->trimmed.dropped;
	int64_t flat = shown_flat(g);
	char share[CT_NUMBER_ROOM];

	if (g->kept_count < all && r->total)
		printf("%zu of %zu rows, %s of the total\n", rows, all,
		       ct_trimmed(ct_report_share(r, share, flat)));
}

static bool is_difference(const struct ct_profile *p, size_t type)
{
	for (size_t i = 0; i < p->sample_count; i++)
		if (ct_values(p, i)[type] < 0)
			return true;
	return ct_load_is_difference();
}

double ct_report_heading_unsure(const struct ct_report *r)
{
	/* The report is a difference, so what both profiles share doesn't vary. */
	return r->settings.mean || is_difference(r->p, r->settings.type)
		       ? 0
		       : ct_sampling_unsure(r->p, r->settings.type);
}

/* Is the larger value of the table's first row below LIMIT? */
static bool first_is_below(const struct ct_report *r, double limit)
{
	const struct ct_graph *g = r->graph;
	const struct ct_node *n = g->kept_count ? &g->nodes[g->order[0]] : NULL;

	return n && fmax((double)ct_abs(ct_graph_node_flat(n)),
			 (double)ct_abs(ct_graph_node_cum(n))) < limit;
}

/* Says how far sampled values may be from the truth. The variance of a value is proportional to it.
 * For profiles of samples a hint does (hints.c). */
static void sampled(const struct ct_report *r)
{
	char error[CT_NUMBER_ROOM], half[CT_NUMBER_ROOM];
	double unsure = ct_report_heading_unsure(r), variance = 0;
	size_t type = r->settings.type;
	bool blocks = ct_sampling_is_sampled(r->p, type);

	for (size_t i = 0; blocks && i < r->p->sample_count; i++)
		variance += ct_sampling_variance(r->p, i, type);
	ct_sampling_format(error, sizeof(error), (double)r->total, variance);
	if (unsure < 1 || (blocks ? !*error : !ct_sampling_is_calibrated(r->p)))
		return;
	printf(blocks ? "Sampled: total %s in 95 of 100 cases; values under %s \302\26150%% and "
			"more"
		      : "Sampled: total exact%s; values under %s \302\26150%% and more",
	       error, ct_report_value(r, half, ct_numbers_clamp(unsure)));
	puts(first_is_below(r, unsure) ? "; the first row may be chance" : "");
}

void ct_report_heading(const struct ct_report *r, bool told, size_t rows)
{
	const struct ct_profile *p = r->p;
	const char *program = p->mapping_count ? ct_own_program_name(p, 0) : "";

	if (!told && *program) {
		ct_out_text(stdout, program);
		fputs(": ", stdout);
	}
	if (!told) {
		ct_report_heading_total(r);
		putchar('\n');
	}
	filters();
	shown(r, rows);
	sampled(r);
}

void ct_report_heading_below(const struct ct_report *r)
{
	filters();
	sampled(r);
}

void ct_report_heading_json(const struct ct_report *r, struct ct_json *j)
{
	ct_json_text(j, "type", r->type);
	ct_json_text(j, "unit", r->from_unit);
	ct_json_integer(j, "total", r->total);
	ct_json_integer(j, "time_nanos", r->p->time_nanos);
	ct_json_integer(j, "duration_nanos", r->p->duration_nanos);
	ct_times_window_json(r->settings.type, j);
	if (r->graph) {
		ct_json_integer(j, "shown", shown_flat(r->graph));
		ct_json_integer(j, "dropped_nodes", (int64_t)r->trimmed.dropped);
		ct_json_integer(j, "nodes", (int64_t)r->trimmed.before_count);
	}
}
