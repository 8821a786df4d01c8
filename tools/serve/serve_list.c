/* SPDX-License-Identifier: BSD-3-Clause */
/* The processes as a page, as targets of a scraper, and the only one; runs in a worker. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "serve/serve.h"

void ct_serve_list_resolve(const struct ct_serve_request *r, struct ct_serve_out *out)
{
	struct ct_serve_processes all;

	if (r->only->count == 1) {
		out->reply->pid = r->only->pids[0];
		ct_serve_reply_set(out->reply, 200, CT_SERVE_PLAIN, "");
		return;
	}
	ct_serve_processes_ask(&all, r->only, false);
	if (all.count == 1) {
		out->reply->pid = all.items[0].pid;
		ct_serve_reply_set(out->reply, 200, CT_SERVE_PLAIN, "");
	} else if (!all.count) {
		ct_serve_reply_fail(out, 404,
				    "no process answers: start one with CPROF_CONTROL=on and "
				    "LD_PRELOAD=libcprof.so, or with cprof run");
	} else {
		ct_serve_reply_fail(
			out, 404,
			"%zu processes answer: name one, as /pid/%d/debug/pprof/; / and "
			"/targets list them",
			all.count, all.items[0].pid);
	}
}

/* ---- targets ---- */

/* For Prometheus' http_sd. Scrapers of profiles prefix paths with __profile_path_prefix__. */
void ct_serve_list_targets(const struct ct_serve_request *r, struct ct_serve_out *out)
{
	struct ct_json j = ct_json_to(out->body);
	struct ct_serve_processes all;

	ct_serve_processes_ask(&all, r->only, false);
	ct_serve_reply_set(out->reply, 200, CT_SERVE_JSON, "");
	ct_json_open(&j, NULL, '[');
	for (size_t i = 0; i < all.count; i++) {
		const struct ct_serve_process *p = &all.items[i];
		char *prefix = ct_memory_printf("/pid/%d", p->pid),
		     *pid = ct_memory_printf("%d", p->pid);

		ct_json_open(&j, NULL, '{');
		ct_json_open(&j, "targets", '[');
		ct_json_text(&j, NULL, r->host);
		ct_json_close(&j, ']');
		ct_json_open(&j, "labels", '{');
		ct_json_text(&j, "__profile_path_prefix__", prefix);
		ct_json_text(&j, "service_name", p->program);
		ct_json_text(&j, "pid", pid);
		ct_json_close(&j, '}');
		ct_json_close(&j, '}');
		free(prefix);
		free(pid);
	}
	ct_json_close(&j, ']');
}

/* ---- the page ---- */

/* Returns per cent of the program's own CPU time. */
static double cost(const struct ct_serve_process *p)
{
	unsigned long long own = ct_control_number(&p->status, "cost_ns"),
			   all = ct_control_number(&p->status, "cpu_ns");

	return all > own ? 100.0 * (double)own / (double)(all - own) : 0;
}

static void put_since(unsigned long long since, FILE *to)
{
	unsigned long long now = (unsigned long long)time(NULL), s = now > since ? now - since : 0;

	if (s < 60)
		fprintf(to, "%llus", s);
	else if (s < 3600)
		fprintf(to, "%llum%02llus", s / 60, s % 60);
	else
		fprintf(to, "%lluh%02llum", s / 3600, s / 60 % 60);
}

static void put_modes(const struct ct_serve_process *p, FILE *to)
{
	bool any = false;

	for (int m = 0; m < CT_MODES; m++) {
		const char *mode = ct_control_modes[m].name;

		if (!ct_serve_processes_is_on(p, mode))
			continue;
		fprintf(to, "%s%s ", any ? ", " : "", mode);
		put_since(ct_control_mode_number(&p->status, mode, "since"), to);
		any = true;
	}
	if (!any)
		fputs("<span class=\"faint\">none</span>", to);
}

static void put_looks(const struct ct_serve_process *p, FILE *to)
{
	static const char *const modes[] = { "cpu",	"wall",	  "heap", "lock",
					     "holders", "wakers", "io",	  "event" };

	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		fprintf(to,
			"<a href=\"#pid=%d&amp;mode=%s\" data-pid=\"%d\" "
			"data-mode=\"%s\"%s>%s</a> ",
			p->pid, modes[i], p->pid, modes[i],
			ct_serve_processes_is_on(p, modes[i]) ? " class=\"on\"" : "", modes[i]);
}

static void put_row(const struct ct_serve_process *p, FILE *to)
{
	unsigned long long samples = 0, lost = 0, lost_ns = 0;
	const char *on = "";

	for (int m = 0; m < CT_MODES; m++) {
		const char *mode = ct_control_modes[m].name;

		samples += ct_control_mode_number(&p->status, mode, "samples");
		if (ct_serve_processes_loses_time(mode))
			lost_ns += ct_control_mode_number(&p->status, mode, "lost");
		else
			lost += ct_control_mode_number(&p->status, mode, "lost");
		if (ct_serve_processes_is_on(p, mode) && !*on)
			on = mode;
	}
	fprintf(to, "<tr data-pid=\"%d\" data-modes=\"%s\"><td class=\"number\">%d</td><td>",
		p->pid, on, p->pid);
	ct_serve_html_text(to, p->program);
	fputs("</td><td class=\"looks\">", to);
	put_looks(p, to);
	fputs("</td><td>", to);
	put_modes(p, to);
	fprintf(to, "</td><td class=\"number\">%llu</td><td class=\"number%s\">%llu", samples,
		lost || lost_ns ? " lost" : "", lost);
	if (lost_ns)
		fprintf(to, ", %.3f&nbsp;s of waits", (double)lost_ns / 1e9);
	fprintf(to,
		"</td><td class=\"number\">%.2f&nbsp;%%</td>"
		"<td><a href=\"/pid/%d/debug/pprof/\">/pid/%d/debug/pprof/</a></td></tr>\n",
		cost(p), p->pid, p->pid);
}

void ct_serve_list_home(const struct ct_serve_request *r, struct ct_serve_out *out)
{
	struct ct_serve_processes all;
	FILE *to = out->body;

	ct_serve_processes_ask(&all, r->only, false);
	ct_serve_reply_set(out->reply, 200, CT_SERVE_HTML, "");
	ct_serve_html_begin_home(to, "cprof serve");
	fprintf(to,
		"<header><h1>cprof serve</h1><p id=\"count\">%zu process%s</p>"
		"<a href=\"/targets\">/targets</a><a href=\"/metrics\">/metrics</a></header>\n",
		all.count, all.count == 1 ? "" : "es");
	fputs("<div class=\"wide\"><table>\n<thead><tr><th class=\"number\">PID</th>"
	      "<th>Program</th><th>Flame graph</th><th>Modes, since</th>"
	      "<th class=\"number\">Samples</th><th class=\"number\">Lost</th>"
	      "<th class=\"number\" title=\"The profiler's CPU time beside the program's own\">Cost"
	      "</th><th>Profiles</th></tr></thead>\n<tbody>\n",
	      to);
	for (size_t i = 0; i < all.count; i++)
		put_row(&all.items[i], to);
	fputs("</tbody></table></div>\n<section id=\"look\" aria-label=\"Flame graph\"><p "
	      "id=\"said\" role=\"status\"></p><div id=\"frames\"></div></section>\n"
	      "<noscript><p>The flame graphs need scripts; the profiles don't.</p></noscript>\n",
	      to);
	ct_serve_html_script(to);
	ct_serve_html_end(to);
}
