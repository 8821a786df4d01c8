/* SPDX-License-Identifier: BSD-3-Clause */
/* What -from, -to, -last, -in-span, -span-longer and -latency ask for, and how it is said; see
 * times.h. */
#include <stdlib.h>
#include <string.h>

#include "core/report.h"
#include "core/times.h"

static struct ct_times_asked asked;

const struct ct_option ct_times_window_options[] = {
	CT_TEXT("from", "TIME", &asked.from,
		"only from then on: since the start (2s, 1m30s) or a time of day (12:03:07)"),
	CT_TEXT("to", "TIME", &asked.to, "only up to then"),
	CT_TEXT("last", "DURATION", &asked.last, "only the end of the run (10s)"),
	CT_TEXT("in-span", "NAME", &asked.in_span, "only inside of spans of this name"),
	CT_TEXT("span-longer", "DURATION", &asked.span_longer,
		"only inside of spans that took at least this long (10ms)"),
	CT_FLAG("latency", &asked.latency,
		"a sample weighs 1 / threads that ran at that moment: what limits the latency"),
	CT_END
};

/* What was in the first profiles. */
static struct ct_times_window shown;

bool ct_times_window_by_spans(void)
{
	return asked.in_span || asked.span_longer;
}

const struct ct_times_asked *ct_times_window_asked(void)
{
	return &asked;
}

bool ct_times_window_active(void)
{
	return asked.from || asked.to || asked.last || ct_times_window_by_spans() || asked.latency;
}

int ct_times_window_last(double *ns)
{
	return ct_times_moment_duration(
		"last", asked.from || asked.to || ct_times_window_by_spans() ? NULL : asked.last,
		ns);
}

/* ---- the window ---- */

int ct_times_window_find(struct ct_profile *const *profiles, size_t count,
			 struct ct_times_window *to)
{
	struct ct_times_window window = { .known = true };
	int64_t start = INT64_MAX, end = INT64_MIN;
	double last = -1;

	for (size_t i = 0; i < count; i++) {
		int64_t begins, ends;

		if (!profiles[i]->times)
			continue;
		begins = ct_times_start(profiles[i]);
		ends = ct_add(begins, (int64_t)profiles[i]->times->end);

		start = begins < start ? begins : start;
		end = ends > end ? ends : end;
	}
	end = end > start ? end : ct_add(start, 1);
	window.run_start = window.start = start;
	window.run_end = window.end = end;
	if (asked.last && (asked.from || asked.to))
		return ct_times_moment_wrong("last", asked.last, "excludes -from and -to");
	if (ct_times_moment_read("from", asked.from, start, &window.start) ||
	    ct_times_moment_read("to", asked.to, start, &window.end) ||
	    ct_times_moment_duration("last", asked.last, &last))
		return -1;
	if (last >= 0)
		window.start = ct_add(end, -(int64_t)last);
	window.start = window.start < start ? start : window.start;
	window.end = window.end > end ? end : window.end;
	if (window.start >= end)
		return ct_times_moment_wrong("from", asked.from, "is after the end of the run");
	if (window.start >= window.end)
		return ct_times_moment_wrong("to", asked.to ? asked.to : asked.last,
					     "leaves nothing");
	*to = window;
	return 0;
}

void ct_times_window_show(const struct ct_times_window *window)
{
	if (!shown.known)
		shown = *window;
}

/* ---- what is said ---- */

double ct_times_window_thinning(void)
{
	return shown.thinning ? (double)shown.thinning : 1;
}

double ct_times_window_in_spans(void)
{
	return shown.in_spans;
}

int64_t ct_times_window_begin(void)
{
	return shown.known ? ct_times_between(shown.run_start, shown.start) : 0;
}

static const char *duration(char *to, double ns)
{
	return ct_numbers_format(to, ct_numbers_clamp(ns), "nanoseconds", "auto");
}

static char *share(char *to, double part, double all)
{
	return to +
	       strspn(ct_numbers_percent(to, (int64_t)(all > 0 ? part / all * 1e9 : 0), 1000000000),
		      " ");
}

/* What was in use then may be more than all that is in use at the end of the run. */
static void put_share(const struct ct_profile *p, size_t type, FILE *to)
{
	const struct ct_times_sums *s = &shown.sums[type];
	const char *unit = ct_text(p, p->types[type].unit);
	char a[CT_NUMBER_ROOM], b[CT_NUMBER_ROOM];

	if (!ct_model_is_of_moment(p, type) || ct_times_window_by_spans()) {
		fprintf(to, "%s of all ", share(a, s->in, s->all));
		ct_out_text(to, ct_text(p, p->types[type].type));
		return;
	}
	fprintf(to, "%s ", ct_numbers_format(a, ct_numbers_clamp(s->in), unit, "auto"));
	ct_out_text(to, ct_text(p, p->types[type].type));
	fprintf(to, " at its end, %s at that of the run",
		ct_numbers_format(b, ct_numbers_clamp(s->all), unit, "auto"));
}

void ct_times_window_say(const struct ct_profile *p, size_t type, FILE *to)
{
	const struct ct_times_sums *s = &shown.sums[type];
	char a[CT_NUMBER_ROOM], b[CT_NUMBER_ROOM], c[CT_NUMBER_ROOM];

	if (!shown.known || type >= p->type_count)
		return;
	fprintf(to, "Window: from %s to %s of %s",
		duration(a, (double)ct_times_between(shown.run_start, shown.start)),
		duration(b, (double)ct_times_between(shown.run_start, shown.end)),
		duration(c, (double)ct_times_between(shown.run_start, shown.run_end)));
	if (ct_times_window_by_spans())
		fprintf(to, ", in %.0f span%s ", shown.spans, shown.spans == 1 ? "" : "s");
	if (asked.in_span)
		ct_out_text(to, asked.in_span);
	if (asked.span_longer)
		fprintf(to, "%sof %s and more", asked.in_span ? " " : "", asked.span_longer);
	fputs(asked.latency ? ", a sample weighs 1 / running threads; " : "; ", to);
	put_share(p, type, to);
	if (s->timed < s->all * 0.9995)
		fprintf(to, "; %s of it has no time and is %s", share(a, s->all - s->timed, s->all),
			ct_model_is_of_moment(p, type) && !ct_times_window_by_spans()
				? "taken as always in use"
				: "left out");
	fputc('\n', to);
}

void ct_times_window_json(size_t type, struct ct_json *j)
{
	const struct ct_times_sums *s = &shown.sums[type];

	if (!shown.known)
		return;
	ct_json_open(j, "window", '{');
	ct_json_integer(j, "from_ns", ct_times_between(shown.run_start, shown.start));
	ct_json_integer(j, "to_ns", ct_times_between(shown.run_start, shown.end));
	ct_json_integer(j, "of_ns", ct_times_between(shown.run_start, shown.run_end));
	ct_json_number(j, "share", s->all > 0 ? s->in / s->all : 0);
	ct_json_number(j, "without_time", s->all > 0 ? 1 - s->timed / s->all : 0);
	if (ct_times_window_by_spans())
		ct_json_number(j, "spans", shown.spans);
	ct_json_close(j, '}');
}

void ct_times_window_no_span(const struct ct_profile *p)
{
	const char *before = "";

	fputs("cprof: no such span was recorded; there are ", stderr);
	for (size_t i = 0, n = 0; i < p->times->span_count && n < 8; i++) {
		size_t k = 0;

		while (p->times->spans[k].name != p->times->spans[i].name)
			k++;
		if (k < i)
			continue;
		fputs(before, stderr);
		ct_out_text(stderr, ct_text(p, p->times->spans[i].name));
		before = ", ";
		n++;
	}
	fputs(*before ? "\n" : "none\n", stderr);
}
