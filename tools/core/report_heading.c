/* SPDX-License-Identifier: BSD-3-Clause */
/* The lines above a table; see report.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/read.h"
#include "core/report.h"

#define FILTERS 8
#define FILTER_SHOWN 80

static void heading_line(const char *name, const char *text)
{
	printf("%s: ", name);
	ct_out_text(stdout, text);
	putchar('\n');
}

/* Adds the program: the first mapping. */
static void program(const struct ct_profile *p)
{
	const char *file;

	if (!p->mapping_count)
		return;
	file = ct_text(p, p->mappings[0].file);
	if (*file)
		heading_line("File", ct_base_name(file));
	if (p->mappings[0].build_id)
		heading_line("Build ID", ct_text(p, p->mappings[0].build_id));
}

static void taken_at(int64_t nanos)
{
	time_t seconds = (time_t)(nanos / 1000000000);
	char month[32], zone[32];
	struct tm tm;
	int hour;

	if (!nanos || !localtime_r(&seconds, &tm))
		return;
	strftime(month, sizeof(month), "%b", &tm);
	strftime(zone, sizeof(zone), "%Z", &tm);
	hour = tm.tm_hour % 12 ? tm.tm_hour % 12 : 12;
	printf("Time: %s %d, %ld at %d:%02d%s (%s)\n", month, tm.tm_mday, tm.tm_year + 1900L, hour,
	       tm.tm_min, tm.tm_hour < 12 ? "am" : "pm", zone);
}

static void duration(const struct ct_report *r)
{
	char length[CT_NUMBER_ROOM], total[CT_NUMBER_ROOM], share[CT_NUMBER_ROOM];
	const char *unit;
	double nanos;

	if (!r->p->duration_nanos)
		return;
	ct_numbers_format(length, r->p->duration_nanos, "nanoseconds", "auto");
	printf("Duration: %s, Total samples = %s ", length, ct_report_value(r, total, r->total));
	nanos = ct_numbers_scale(r->total, r->from_unit, "nanoseconds", &unit);
	if (!strcmp(unit, "ns") && nanos)
		printf("(%s)",
		       ct_numbers_percent(share, ct_numbers_clamp(nanos), r->p->duration_nanos));
	putchar('\n');
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

static void shown(const struct ct_report *r)
{
	char a[CT_NUMBER_ROOM], b[CT_NUMBER_ROOM], c[CT_NUMBER_ROOM];
	const struct ct_graph *g = r->graph;
	int64_t flat = shown_flat(g);

	printf("Showing nodes accounting for %s, %s of %s total\n", ct_report_value(r, a, flat),
	       ct_trimmed(ct_report_share(r, b, flat)), ct_report_value(r, c, r->total));
	if (!r->total)
		return;
	if (r->trimmed.dropped) {
		int64_t cutoff = ct_abs(ct_numbers_clamp((double)r->total * r->trim.node_fraction));

		printf("Dropped %zu node%s (cum <= %s)\n", r->trimmed.dropped,
		       r->trimmed.dropped > 1 ? "s" : "", ct_report_value(r, a, cutoff));
	}
	if (g->kept_count && g->kept_count < r->trimmed.before_count)
		printf("Showing top %zu nodes out of %zu\n", g->kept_count,
		       r->trimmed.before_count);
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

void ct_report_heading(const struct ct_report *r)
{
	program(r->p);
	printf("Type: %s", r->settings.mean ? "mean_" : "");
	ct_out_text(stdout, r->type);
	putchar('\n');
	taken_at(r->p->time_nanos);
	duration(r);
	filters();
	shown(r);
	sampled(r);
}

void ct_report_heading_json(const struct ct_report *r, struct ct_json *j)
{
	ct_json_text(j, "type", r->type);
	ct_json_text(j, "unit", r->from_unit);
	ct_json_integer(j, "total", r->total);
	ct_json_integer(j, "time_nanos", r->p->time_nanos);
	ct_json_integer(j, "duration_nanos", r->p->duration_nanos);
	if (r->graph) {
		ct_json_integer(j, "shown", shown_flat(r->graph));
		ct_json_integer(j, "dropped_nodes", (int64_t)r->trimmed.dropped);
		ct_json_integer(j, "nodes", (int64_t)r->trimmed.before_count);
	}
}
