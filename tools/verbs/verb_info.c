/* SPDX-License-Identifier: BSD-3-Clause */
/* `cprof info`: prints what a profile says about itself: types, times, mappings, comments. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/read.h"
#include "core/report.h"
#include "core/times.h"
#include "verbs/verbs.h"

static struct {
	bool json;
} my;

static const struct ct_option options[] = { CT_FLAG("json", &my.json, "print JSON"), CT_END };
static const struct ct_option *const tables[] = { options, ct_times_window_options, NULL };

/* Number of locations of a mapping, and of those with a function's name. */
struct use {
	size_t locations, named;
};

static bool is_named(const struct ct_profile *p, const struct ct_location *l)
{
	uint32_t function = l->line_count ? p->lines[l->first_line].function : CT_NONE;

	return function != CT_NONE && !ct_own_jit_is_bare(ct_text(p, p->functions[function].name));
}

/* Returns the counts by mapping; the caller frees them. */
static struct use *count_uses(const struct ct_profile *p)
{
	struct use *uses = ct_memory_alloc(p->mapping_count * sizeof(*uses));

	for (size_t i = 0; i < p->location_count; i++) {
		const struct ct_location *l = &p->locations[i];

		if (l->mapping == CT_NONE)
			continue;
		uses[l->mapping].locations++;
		uses[l->mapping].named += is_named(p, l);
	}
	return uses;
}

static void format_time(int64_t nanos, char *to, size_t size)
{
	time_t seconds = nanos / 1000000000;
	struct tm tm;

	if (!nanos || !gmtime_r(&seconds, &tm) || !strftime(to, size, "%Y-%m-%dT%H:%M:%SZ", &tm))
		*to = '\0';
}

static void info_line(const char *name, const char *text)
{
	printf("%s%-10s%s ", ct_out_paint(CT_BOLD), name, ct_out_paint(CT_PLAIN));
	ct_out_text(stdout, text);
	putchar('\n');
}

static void print_mapping(const struct ct_profile *p, uint32_t i, struct use u)
{
	const struct ct_mapping *m = &p->mappings[i];

	printf("  %#" PRIx64 "-%#" PRIx64 " +%#" PRIx64 " ", m->start, m->limit, m->offset);
	ct_out_text(stdout, *ct_text(p, m->file) ? ct_text(p, m->file) : "(no name)");
	if (*ct_text(p, m->build_id)) {
		fputs(" build id ", stdout);
		ct_out_text(stdout, ct_text(p, m->build_id));
	}
	printf(", %zu locations, %zu named%s%s%s%s\n", u.locations, u.named,
	       m->has_functions ? " [functions]" : "", m->has_filenames ? " [files]" : "",
	       m->has_lines ? " [lines]" : "", m->has_inlines ? " [inlines]" : "");
}

static void print_types(const struct ct_profile *p)
{
	for (size_t i = 0; i < p->type_count; i++) {
		fputs("  ", stdout);
		ct_out_text(stdout, ct_text(p, p->types[i].type));
		putchar('/');
		ct_out_text(stdout, ct_text(p, p->types[i].unit));
		printf(" total %" PRId64 "%s\n", ct_model_total(p, i),
		       i == ct_model_default_type(p) ? " (default)" : "");
	}
}

static size_t count_names(const struct ct_profile *p)
{
	bool *seen = ct_memory_alloc(p->string_count * sizeof(*seen));
	size_t n = 0;

	for (size_t i = 0; i < p->times->span_count; i++) {
		n += !seen[p->times->spans[i].name];
		seen[p->times->spans[i].name] = true;
	}
	free(seen);
	return n;
}

static void put_count(size_t n, const char *what, const char *after)
{
	printf("%zu %s%s%s", n, what, n == 1 ? "" : "s", after);
}

static void print_times(const struct ct_profile *p)
{
	const struct ct_times *t = p->times;
	const char *type = ct_text(p, p->types[ct_times_type(p)].type);
	char share[CT_NUMBER_ROOM], kept[CT_NUMBER_ROOM];

	printf("%s%-10s%s %zu events from %.3f s to %.3f s", ct_out_paint(CT_BOLD), "times",
	       ct_out_paint(CT_PLAIN), t->event_count, (double)t->from / 1e9, (double)t->end / 1e9);
	if (t->thinning > 1)
		printf(", each for %" PRIu64, t->thinning);
	ct_numbers_percent(share, (int64_t)(ct_times_share(p, ct_times_type(p)) * 1e6), 1000000);
	printf(": %s of all ", ct_trimmed(share));
	ct_out_text(stdout, type);
	printf("\n%11s", "");
	put_count(t->thread_count, "thread", ", ");
	put_count(t->span_count, "span", " of ");
	put_count(count_names(p), "name", ", ");
	put_count(t->wake_count, "wake", ", memory and CPU time at ");
	put_count(t->counter_count, "moment", "");
	if (t->keep)
		printf("; the last %s were kept",
		       ct_numbers_format(kept, (int64_t)t->keep, "nanoseconds", "auto"));
	putchar('\n');
}

static void print_info(const struct ct_profile *p)
{
	struct use *uses = count_uses(p);
	struct ct_resident resident;
	char when[64];

	info_line("types", "");
	print_types(p);
	format_time(p->time_nanos, when, sizeof(when));
	if (*when)
		info_line("time", when);
	if (p->duration_nanos)
		printf("%s%-10s%s %.3f s\n", ct_out_paint(CT_BOLD), "duration",
		       ct_out_paint(CT_PLAIN), (double)p->duration_nanos / 1e9);
	if (p->period) {
		printf("%s%-10s%s %" PRId64 " ", ct_out_paint(CT_BOLD), "period",
		       ct_out_paint(CT_PLAIN), p->period);
		ct_out_text(stdout, ct_text(p, p->period_type.type));
		putchar('/');
		ct_out_text(stdout, ct_text(p, p->period_type.unit));
		putchar('\n');
	}
	printf("%s%-10s%s %zu samples, %zu locations, %zu functions, %zu label sets\n",
	       ct_out_paint(CT_BOLD), "holds", ct_out_paint(CT_PLAIN), p->sample_count,
	       p->location_count, p->function_count, p->label_set_count - 1);
	if (p->times && p->type_count)
		print_times(p);
	info_line("mappings", "");
	for (uint32_t i = 0; i < p->mapping_count; i++)
		print_mapping(p, i, uses[i]);
	free(uses);
	if (ct_resident_read(p, &resident))
		ct_resident_print(&resident, 0);
	if (p->comment_count)
		info_line("comments", "");
	for (size_t i = 0; i < p->comment_count; i++) {
		fputs("  ", stdout);
		ct_out_text(stdout, ct_notes_comment(p, i));
		putchar('\n');
	}
}

static void json_mappings(struct ct_json *j, const struct ct_profile *p)
{
	struct use *uses = count_uses(p);

	ct_json_open(j, "mappings", '[');
	for (uint32_t i = 0; i < p->mapping_count; i++) {
		const struct ct_mapping *m = &p->mappings[i];
		struct use u = uses[i];

		ct_json_open(j, NULL, '{');
		ct_json_text(j, "file", ct_text(p, m->file));
		ct_json_text(j, "build_id", ct_text(p, m->build_id));
		ct_json_hex(j, "start", m->start);
		ct_json_hex(j, "limit", m->limit);
		ct_json_hex(j, "offset", m->offset);
		ct_json_integer(j, "locations", (int64_t)u.locations);
		ct_json_integer(j, "named", (int64_t)u.named);
		ct_json_bool(j, "has_functions", m->has_functions);
		ct_json_bool(j, "has_filenames", m->has_filenames);
		ct_json_bool(j, "has_lines", m->has_lines);
		ct_json_bool(j, "has_inlines", m->has_inlines);
		ct_json_close(j, '}');
	}
	ct_json_close(j, ']');
	free(uses);
}

static void json_resident(struct ct_json *j, const struct ct_profile *p)
{
	struct ct_resident r;

	if (!ct_resident_read(p, &r))
		return;
	ct_json_open(j, "resident", '{');
	ct_json_integer(j, "all", r.all);
	for (size_t i = 0; i < r.count; i++)
		ct_json_integer(j, r.rows[i].name, r.rows[i].bytes);
	ct_json_close(j, '}');
}

static void json_times(struct ct_json *j, const struct ct_profile *p)
{
	const struct ct_times *t = p->times;

	if (!t || !p->type_count)
		return;
	ct_json_open(j, "times", '{');
	ct_json_integer(j, "events", (int64_t)t->event_count);
	ct_json_integer(j, "from_ns", (int64_t)t->from);
	ct_json_integer(j, "end_ns", (int64_t)t->end);
	ct_json_integer(j, "thinning", (int64_t)t->thinning);
	ct_json_integer(j, "seen", (int64_t)t->seen);
	ct_json_integer(j, "budget_bytes", (int64_t)t->budget);
	ct_json_integer(j, "keep_ns", (int64_t)t->keep);
	ct_json_text(j, "type", ct_text(p, p->types[ct_times_type(p)].type));
	ct_json_number(j, "share", ct_times_share(p, ct_times_type(p)));
	ct_json_integer(j, "threads", (int64_t)t->thread_count);
	ct_json_integer(j, "spans", (int64_t)t->span_count);
	ct_json_integer(j, "span_names", (int64_t)count_names(p));
	ct_json_integer(j, "wakes", (int64_t)t->wake_count);
	ct_json_integer(j, "counters", (int64_t)t->counter_count);
	ct_json_close(j, '}');
}

static void print_json(const struct ct_profile *p)
{
	struct ct_json j = ct_json_to(stdout);

	ct_json_open(&j, NULL, '{');
	ct_json_open(&j, "types", '[');
	for (size_t i = 0; i < p->type_count; i++) {
		ct_json_open(&j, NULL, '{');
		ct_json_text(&j, "type", ct_text(p, p->types[i].type));
		ct_json_text(&j, "unit", ct_text(p, p->types[i].unit));
		ct_json_integer(&j, "total", ct_model_total(p, i));
		ct_json_bool(&j, "default", i == ct_model_default_type(p));
		ct_json_close(&j, '}');
	}
	ct_json_close(&j, ']');
	ct_json_integer(&j, "time_nanos", p->time_nanos);
	ct_json_integer(&j, "duration_nanos", p->duration_nanos);
	ct_json_integer(&j, "period", p->period);
	ct_json_text(&j, "period_type", ct_text(p, p->period_type.type));
	ct_json_text(&j, "period_unit", ct_text(p, p->period_type.unit));
	ct_json_integer(&j, "samples", (int64_t)p->sample_count);
	ct_json_integer(&j, "locations", (int64_t)p->location_count);
	ct_json_integer(&j, "functions", (int64_t)p->function_count);
	json_times(&j, p);
	json_mappings(&j, p);
	json_resident(&j, p);
	ct_json_open(&j, "comments", '[');
	for (size_t i = 0; i < p->comment_count; i++)
		ct_json_text(&j, NULL, ct_notes_comment(p, i));
	ct_json_close(&j, ']');
	ct_json_close(&j, '}');
}

static int verb_info(int argc, char **argv)
{
	struct ct_profile *p = ct_load_file(*argv);

	(void)argc;
	if (!p)
		return CT_FAILED;
	ct_out_begin();
	if (my.json)
		print_json(p);
	else
		print_info(p);
	ct_model_free(p);
	return ct_out_end();
}

const struct ct_verb ct_verb_info = {
	.name = "info",
	.operands = "FILE",
	.summary = "The profile's own description: types, times, mappings, comments",
	.details = "",
	.tables = tables,
	.wanted = "one profile is needed, not %d",
	.least = 1,
	.most = 1,
	.run = verb_info,
};
