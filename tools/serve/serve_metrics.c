/* SPDX-License-Identifier: BSD-3-Clause */
/* /metrics, in Prometheus' text format: what the processes say of themselves; runs in a worker. */
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "cp-build.h"
#include "serve/serve_processes.h"
#include "serve/serve_work.h"

#define FORMAT "text/plain; version=0.0.4; charset=utf-8"

struct page {
	FILE *to;
	struct ct_serve_processes all;
};

static void heading(const struct page *g, const char *name, const char *type, const char *help)
{
	fprintf(g->to, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* A label's value: what would end it, or the line, is escaped. */
static void put_value(FILE *to, const char *text)
{
	for (; *text; text++) {
		if (*text == '\\' || *text == '"')
			fputc('\\', to);
		fputc(*text == '\n' ? ' ' : *text, to);
	}
}

/* NAME{pid="12",program="app" and not yet the end. */
static void begin(const struct page *g, const char *name, const struct ct_serve_process *p)
{
	fprintf(g->to, "%s{pid=\"%d\",program=\"", name, p->pid);
	put_value(g->to, p->program);
	fputc('"', g->to);
}

/* A value of each process, from the status's KEY in UNITs. */
static void of_processes(const struct page *g, const char *name, const char *type, const char *help,
			 const char *key, double unit)
{
	heading(g, name, type, help);
	for (size_t i = 0; i < g->all.count; i++) {
		const struct ct_serve_process *p = &g->all.items[i];

		begin(g, name, p);
		fprintf(g->to, "} %.9g\n", (double)ct_control_number(&p->status, key) * unit);
	}
}

/* A value of each mode that is on and has KEY. */
static void of_modes(const struct page *g, const char *name, const char *type, const char *help,
		     const char *key, double unit)
{
	heading(g, name, type, help);
	for (size_t i = 0; i < g->all.count; i++)
		for (const char *const *m = ct_serve_processes_modes; *m; m++) {
			const struct ct_serve_process *p = &g->all.items[i];

			if (!ct_serve_processes_is_on(p, *m))
				continue;
			begin(g, name, p);
			fprintf(g->to, ",mode=\"%s\"} %.15g\n", *m,
				(double)ct_serve_processes_number(p, *m, key) * unit);
		}
}

static void put_info(const struct page *g)
{
	heading(g, "cprof_process_info", "gauge", "A process that is served, and its libcprof.");
	for (size_t i = 0; i < g->all.count; i++) {
		char *version = ct_control_value(&g->all.items[i].status, "version");

		begin(g, "cprof_process_info", &g->all.items[i]);
		fputs(",version=\"", g->to);
		put_value(g->to, version ? version : "");
		fputs("\"} 1\n", g->to);
		free(version);
	}
}

void ct_serve_metrics(const struct ct_serve_request *r, struct ct_serve_out *out)
{
	struct page g = { .to = out->body };

	ct_serve_processes_ask(&g.all, r->only);
	ct_serve_reply_set(out->reply, 200, FORMAT, "");
	heading(&g, "cprof_build_info", "gauge", "The cprof that serves.");
	fprintf(g.to, "cprof_build_info{version=\"%s\"} 1\n", PACKAGE_VERSION);
	heading(&g, "cprof_processes", "gauge", "Processes that answer.");
	fprintf(g.to, "cprof_processes %zu\n", g.all.count);
	put_info(&g);
	of_processes(&g, "cprof_process_cpu_seconds_total", "counter",
		     "CPU time of the process, with that of the profiler in it.", "cpu_ns", 1e-9);
	of_processes(&g, "cprof_profiler_cpu_seconds_total", "counter",
		     "CPU time that the profiler has used in the process.", "cost_ns", 1e-9);
	of_modes(&g, "cprof_mode_start_time_seconds", "gauge",
		 "When the mode was turned on, in seconds since 1970.", "since", 1);
	of_modes(&g, "cprof_samples_total", "counter", "Stacks that the mode has recorded.",
		 "samples", 1);
	of_modes(&g, "cprof_lost_samples_total", "counter",
		 "Samples that the mode has lost, for want of room, memory or a known thread.",
		 "lost", 1);
}
