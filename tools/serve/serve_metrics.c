/* SPDX-License-Identifier: BSD-3-Clause */
/* /metrics, in Prometheus' text format: what the processes say of themselves; runs in a worker. */
#include <stdlib.h>
#include <string.h>

#include "cp-build.h"
#include "serve/serve.h"

#define FORMAT "text/plain; version=0.0.4; charset=utf-8"

struct page {
	FILE *to;
	struct ct_serve_processes all;
};

static void put_heading(const struct page *g, const char *name, const char *type, const char *help)
{
	fprintf(g->to, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* Writes the value of a label; what would end the value or the line is escaped. */
static void put_value(FILE *to, const char *text)
{
	for (; *text; text++) {
		if (*text == '\\' || *text == '"')
			fputc('\\', to);
		fputc(*text == '\n' ? ' ' : *text, to);
	}
}

/* Writes NAME{pid="12",program="app" without the closing brace. */
static void begin_line(const struct page *g, const char *name, const struct ct_serve_process *p)
{
	fprintf(g->to, "%s{pid=\"%d\",program=\"", name, p->pid);
	put_value(g->to, p->program);
	fputc('"', g->to);
}

/* Writes a value of each process, from the status's KEY in UNITs. */
static void of_processes(const struct page *g, const char *name, const char *type, const char *help,
			 const char *key, double unit)
{
	put_heading(g, name, type, help);
	for (size_t i = 0; i < g->all.count; i++) {
		const struct ct_serve_process *p = &g->all.items[i];

		begin_line(g, name, p);
		fprintf(g->to, "} %.9g\n", (double)ct_control_number(&p->status, key) * unit);
	}
}

/* Writes a value of each mode that is on, or of MODE alone, from the status's KEY in UNITs. */
static void of_modes(const struct page *g, const char *name, const char *type, const char *help,
		     const char *mode, const char *key, double unit)
{
	put_heading(g, name, type, help);
	for (size_t i = 0; i < g->all.count; i++)
		for (int m = 0; m < CT_MODES; m++) {
			const struct ct_serve_process *p = &g->all.items[i];
			const char *each = ct_control_modes[m].name;

			if (!ct_serve_processes_is_on(p, each) || (mode && strcmp(mode, each)))
				continue;
			begin_line(g, name, p);
			if (!mode)
				fprintf(g->to, ",mode=\"%s\"", each);
			fprintf(g->to, "} %.15g\n",
				(double)ct_control_mode_number(&p->status, each, key) * unit);
		}
}

/* ---- losses ---- */

static void put_lost_of(const struct page *g, const char *name, const struct ct_serve_process *p,
			const char *mode, double unit)
{
	static const char *const causes[] = { "ring", "memory", "thread" };

	for (size_t c = 0; c < sizeof(causes) / sizeof(*causes); c++) {
		char *key = ct_memory_printf("lost_%s", causes[c]);

		begin_line(g, name, p);
		fprintf(g->to, ",mode=\"%s\",cause=\"%s\"} %.15g\n", mode, causes[c],
			(double)ct_control_mode_number(&p->status, mode, key) * unit);
		free(key);
	}
}

/* TIME: writes the losses of modes that lose time, in seconds; else of the others. */
static void put_lost(const struct page *g, const char *name, const char *help, bool time)
{
	put_heading(g, name, "counter", help);
	for (size_t i = 0; i < g->all.count; i++)
		for (int m = 0; m < CT_MODES; m++) {
			const char *mode = ct_control_modes[m].name;

			if (ct_serve_processes_is_on(&g->all.items[i], mode) &&
			    ct_serve_processes_loses_time(mode) == time)
				put_lost_of(g, name, &g->all.items[i], mode, time ? 1e-9 : 1);
		}
}

/* ---- spans ---- */

#define SPANS "cprof_span_duration_seconds"

static void begin_span_metric(const struct page *g, const char *metric,
			      const struct ct_serve_process *p, const char *name)
{
	begin_line(g, metric, p);
	fputs(",span=\"", g->to);
	put_value(g->to, name);
	fputc('"', g->to);
}

static void begin_span(const struct page *g, const char *suffix, const struct ct_serve_process *p,
		       const char *name)
{
	char *metric = ct_memory_printf(SPANS "%s", suffix);

	begin_span_metric(g, metric, p, name);
	free(metric);
}

/* TEXT is "COUNT SUM_NS NS:COUNT_UP_TO_IT,... NAME"; base/control.h. */
static void put_span(const struct page *g, const struct ct_serve_process *p, char *text)
{
	unsigned long long count = strtoull(text, &text, 10), sum = strtoull(text, &text, 10),
			   bound, up_to = 0;
	char *name = text + (*text == ' '), *at = name;

	name += strcspn(name, " ");
	name += *name == ' ';
	while (*at >= '0' && *at <= '9') {
		bound = strtoull(at, &at, 10);
		up_to = *at == ':' ? strtoull(at + 1, &at, 10) : up_to;
		begin_span(g, "_bucket", p, name);
		fprintf(g->to, ",le=\"%g\"} %llu\n", (double)bound / 1e9, up_to);
		at += *at == ',';
	}
	/* The program went on counting while its parts were read. */
	count = count < up_to ? up_to : count;
	begin_span(g, "_bucket", p, name);
	fprintf(g->to, ",le=\"+Inf\"} %llu\n", count);
	begin_span(g, "_sum", p, name);
	fprintf(g->to, "} %.9g\n", (double)sum / 1e9);
	begin_span(g, "_count", p, name);
	fprintf(g->to, "} %llu\n", count);
}

/* The columns of "spent.N": what the spans used (base/control.h). */
static const struct {
	const char *name, *help;
	double unit;
} spent[] = {
	{ "cprof_span_cpu_seconds_total",
	  "CPU time of the spans' threads in them; of short spans an estimate.", 1e-9 },
	{ "cprof_span_wait_seconds_total",
	  "Time of the spans in which their threads did not run: they waited for something, for "
	  "a processor, or had yet to begin.",
	  1e-9 },
	{ "cprof_span_allocated_bytes_total",
	  "Memory that the spans' threads allocated in them while the heap mode was on.", 1 },
};

/* Returns the name in the text of "span.N". */
static const char *name_in(const char *text)
{
	for (int i = 0; i < 3 && text; i++)
		text = strchr(text, ' ') ? strchr(text, ' ') + 1 : NULL;
	return text;
}

static void put_spent(const struct page *g, const struct ct_serve_process *p, unsigned n,
		      size_t column)
{
	char *key = ct_memory_printf("span.%u", n), *text = ct_control_value(&p->status, key),
	     *values, *at;
	const char *name = text ? name_in(text) : NULL;
	unsigned long long value = 0;

	free(key);
	key = ct_memory_printf("spent.%u", n);
	values = at = name ? ct_control_value(&p->status, key) : NULL;
	for (size_t i = 0; at && i <= column; i++)
		value = strtoull(at, &at, 10);
	if (values) {
		begin_span_metric(g, spent[column].name, p, name);
		fprintf(g->to, "} %.15g\n", (double)value * spent[column].unit);
	}
	free(values);
	free(key);
	free(text);
}

static void put_all_spent(const struct page *g)
{
	for (size_t c = 0; c < sizeof(spent) / sizeof(*spent); c++) {
		put_heading(g, spent[c].name, "counter", spent[c].help);
		for (size_t i = 0; i < g->all.count; i++)
			for (unsigned n = 0; n < 256; n++)
				put_spent(g, &g->all.items[i], n, c);
	}
}

static void put_spans(const struct page *g)
{
	put_heading(g, SPANS, "histogram", "How long the program's spans took (cprof_span_begin).");
	for (size_t i = 0; i < g->all.count; i++) {
		const struct ct_serve_process *p = &g->all.items[i];

		for (unsigned n = 0; n < 256; n++) {
			char *key = ct_memory_printf("span.%u", n),
			     *text = ct_control_value(&p->status, key);

			if (text)
				put_span(g, p, text);
			free(text);
			free(key);
		}
	}
}

static void put_info(const struct page *g)
{
	put_heading(g, "cprof_process_info", "gauge",
		    "A process that is served, and its libcprof.");
	for (size_t i = 0; i < g->all.count; i++) {
		char *version = ct_control_value(&g->all.items[i].status, "version");

		begin_line(g, "cprof_process_info", &g->all.items[i]);
		fputs(",version=\"", g->to);
		put_value(g->to, version ? version : "");
		fputs("\"} 1\n", g->to);
		free(version);
	}
}

void ct_serve_metrics(const struct ct_serve_request *r, struct ct_serve_out *out)
{
	struct page g = { .to = out->body };

	ct_serve_processes_ask(&g.all, r->only, true);
	ct_serve_reply_set(out->reply, 200, FORMAT, "");
	put_heading(&g, "cprof_build_info", "gauge", "The cprof that serves.");
	fprintf(g.to, "cprof_build_info{version=\"%s\"} 1\n", PACKAGE_VERSION);
	put_heading(&g, "cprof_processes", "gauge", "Processes that answer.");
	fprintf(g.to, "cprof_processes %zu\n", g.all.count);
	put_info(&g);
	of_processes(&g, "cprof_process_cpu_seconds_total", "counter",
		     "CPU time of the process, with that of the profiler in it.", "cpu_ns", 1e-9);
	of_processes(&g, "cprof_profiler_cpu_seconds_total", "counter",
		     "CPU time that the profiler has used in the process.", "cost_ns", 1e-9);
	of_modes(&g, "cprof_mode_start_time_seconds", "gauge",
		 "When the mode was turned on, in seconds since 1970.", NULL, "since", 1);
	of_modes(&g, "cprof_samples_total", "counter", "Stacks that the mode has recorded.", NULL,
		 "samples", 1);
	put_lost(
		&g, "cprof_lost_samples_total",
		"Samples that the mode has lost: a thread's ring was full, there was no memory, or "
		"the thread was not known.",
		false);
	put_lost(&g, "cprof_lost_wait_seconds_total",
		 "Waits of the modes lock and io whose stacks were lost, by the same causes.",
		 true);
	of_modes(&g, "cprof_heap_in_use_bytes", "gauge",
		 "Memory that was allocated since the heap mode was turned on, and is in use: an "
		 "estimate by sampling.",
		 "heap", "in_use_bytes", 1);
	of_modes(&g, "cprof_heap_allocated_bytes_total", "counter",
		 "Memory that was allocated since the heap mode was turned on: an estimate.",
		 "heap", "allocated_bytes", 1);
	of_modes(&g, "cprof_lock_wait_seconds_total", "counter",
		 "Time that threads have waited for locks since the lock mode was turned on.",
		 "lock", "wait_ns", 1e-9);
	put_spans(&g);
	put_all_spent(&g);
}
