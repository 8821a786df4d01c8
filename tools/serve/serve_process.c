/* SPDX-License-Identifier: BSD-3-Clause */
/* Replies about one process that need no profile: its index page, command line, symbols and
 * threads; runs in a worker. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/read.h"
#include "serve/serve.h"

/* Opens a file of the process in /proc, or replies why that is impossible. */
static FILE *open_proc(const struct ct_serve_request *r, struct ct_serve_out *out, const char *name)
{
	char *path = ct_memory_printf("/proc/%d/%s", r->route.pid, name);
	FILE *f = fopen(path, "re");

	if (!f)
		ct_serve_reply_fail(out, errno == ENOENT ? 404 : 500, "process %d: %s",
				    r->route.pid,
				    errno == ENOENT ? "there is no such process" : strerror(errno));
	free(path);
	return f;
}

void ct_serve_process_cmdline(const struct ct_serve_request *r, struct ct_serve_out *out)
{
	FILE *f = open_proc(r, out, "cmdline");
	int c, nuls = 0;

	if (!f)
		return;
	ct_serve_reply_set(out->reply, 200, CT_SERVE_PLAIN, "");
	/* Arguments are separated by NUL, as Go does it; the kernel also ends them so. They may
	 * contain passwords, so without -arguments only the program's name is shown. */
	while ((c = getc(f)) != EOF && (c || r->arguments)) {
		if (!c) {
			nuls++;
			continue;
		}
		for (; nuls; nuls--)
			fputc('\0', out->body);
		fputc(c, out->body);
	}
	fclose(f);
}

/* ---- threads ---- */

static int64_t count_threads(FILE *status)
{
	char line[256];
	int64_t threads = 0;

	while (fgets(line, sizeof(line), status))
		sscanf(line, "Threads: %" SCNd64, &threads);
	return threads;
}

void ct_serve_process_threadcreate(const struct ct_serve_request *r, struct ct_serve_out *out)
{
	FILE *f = open_proc(r, out, "status");
	struct ct_profile *p;
	struct timespec now;
	int64_t threads;

	if (!f)
		return;
	threads = count_threads(f);
	fclose(f);
	if (r->debug) {
		ct_serve_reply_set(out->reply, 200, CT_SERVE_PLAIN, "");
		fprintf(out->body, "threadcreate profile: total %" PRId64 "\n%" PRId64 " @\n#\n",
			threads, threads);
		return;
	}
	clock_gettime(CLOCK_REALTIME, &now);
	p = ct_model_new();
	p->time_nanos = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	p->period = 1;
	p->period_type.type = ct_model_string(p, "threadcreate");
	p->period_type.unit = ct_model_string(p, "count");
	ct_model_add_type(p, p->period_type);
	ct_model_add_sample(p, NULL, 0, &threads, 0);
	ct_serve_reply_set(out->reply, 200, CT_SERVE_BINARY, "threadcreate");
	if (ct_write(p, out->body))
		ct_serve_reply_fail(out, 500, "the profile can't be written");
}

/* ---- symbols ---- */

/* Adds the process's executable mappings to P. */
static void add_mappings(struct ct_profile *p, FILE *maps)
{
	char line[4200], permissions[5], file[4096];
	struct ct_mapping m = { 0 };

	while (fgets(line, sizeof(line), maps)) {
		file[0] = '\0';
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*u %4095[^\n]",
			   &m.start, &m.limit, permissions, &m.offset, file) < 4 ||
		    !strchr(permissions, 'x'))
			continue;
		m.file = ct_model_string(p, file);
		ct_model_add_mapping(p, &m);
	}
}

static void add_address(struct ct_profile *p, uint64_t address)
{
	struct ct_location l = { .address = address, .mapping = CT_NONE };

	for (size_t i = 0; i < p->mapping_count && l.mapping == CT_NONE; i++)
		if (address >= p->mappings[i].start && address < p->mappings[i].limit)
			l.mapping = (uint32_t)i;
	ct_model_add_location(p, &l, NULL, 0);
}

/* Addresses separated by '+', as pprof sends them. */
static void add_addresses(struct ct_profile *p, const char *text)
{
	char *end;

	while (*text) {
		uint64_t address = strtoull(text, &end, 0);

		if (address && (*end == '+' || !*end || *end == '\n'))
			add_address(p, address);
		text = end + strcspn(end, "+");
		text += *text == '+';
	}
}

void ct_serve_process_symbol(const struct ct_serve_request *r, struct ct_serve_out *out)
{
	FILE *maps = open_proc(r, out, "maps");
	struct ct_profile *p;

	if (!maps)
		return;
	p = ct_model_new();
	add_mappings(p, maps);
	fclose(maps);
	add_addresses(p, r->text ? r->text : "");
	if (p->location_count)
		ct_serve_profile_symbolize(p, r->route.pid);
	ct_serve_reply_set(out->reply, 200, CT_SERVE_PLAIN, "");
	/* pprof only checks whether it is 0. */
	fputs("num_symbols: 1\n", out->body);
	for (size_t i = 0; i < p->location_count; i++) {
		const struct ct_location *l = &p->locations[i];
		uint32_t f = l->line_count ? p->lines[l->first_line + l->line_count - 1].function
					   : CT_NONE;

		if (f != CT_NONE)
			fprintf(out->body, "0x%" PRIx64 " %s\n", l->address,
				ct_text(p, p->functions[f].name));
	}
}

/* ---- the index ---- */

/* Writes the number of samples, or that the mode is off. */
static void put_count(const struct cp_control_message *status, const char *mode, FILE *to)
{
	if (ct_control_mode_number(status, mode, "since"))
		fprintf(to, "%llu", ct_control_mode_number(status, mode, "samples"));
	else
		fputs("off", to);
}

static void put_row(const struct cp_control_message *status, const struct ct_serve_kind *k,
		    FILE *to)
{
	fputs("<tr><td>", to);
	put_count(status, k->mode, to);
	fprintf(to, "</td><td><a href='%s%s'>%s</a></td><td>%s</td></tr>\n", k->name,
		k->span == CT_SERVE_TOTAL ? "?debug=1" : "", k->name, k->description);
}

void ct_serve_process_index(const struct ct_serve_request *r, struct ct_serve_out *out)
{
	struct cp_control_message status;
	char *why, *program;

	why = ct_control_status(r->route.pid, &status);
	if (why) {
		ct_serve_reply_fail(out, 404, "%s", why);
		free(why);
		return;
	}
	program = ct_control_value(&status, "program");
	ct_serve_reply_set(out->reply, 200, CT_SERVE_HTML, "");
	ct_serve_html_begin(out->body, "/debug/pprof/");
	fputs("<header><h1>/debug/pprof/</h1><p>process ", out->body);
	fprintf(out->body, "%d, ", r->route.pid);
	ct_serve_html_text(out->body, program ? program : "?");
	fputs("</p></header>\n<main><p>Set debug=1 as a query parameter to export in legacy text "
	      "format. A request turns the mode on that it needs.</p>\n"
	      "<div class=\"wide\"><table>\n"
	      "<thead><tr><th>Samples</th><th>Profile</th><th></th></tr></thead>\n",
	      out->body);
	for (const struct ct_serve_kind *k = ct_serve_route_kinds; k->name; k++)
		if (k->description)
			put_row(&status, k, out->body);
	fputs("<tr><td></td><td><a href='cmdline'>cmdline</a></td><td>The command line, arguments "
	      "separated by NUL</td></tr>\n"
	      "<tr><td></td><td><a href='goroutine?debug=1'>goroutine</a></td><td>Where every "
	      "thread is now; debug=2: each by itself</td></tr>\n"
	      "<tr><td></td><td><a href='symbol'>symbol</a></td><td>Names of addresses, given in "
	      "the query or the body, separated by +</td></tr>\n"
	      "<tr><td></td><td><a href='threadcreate?debug=1'>threadcreate</a></td><td>How many "
	      "threads there are, without stacks</td></tr>\n"
	      "<tr><td>",
	      out->body);
	put_count(&status, "wall", out->body);
	fputs("</td><td><a href='../fgprof'>fgprof</a></td><td>Wall-clock profile of the next 30 "
	      "seconds, of running and waiting threads</td></tr>\n"
	      "</table></div>\n<p><a href='../../flame?mode=cpu'>Flame graph of the last "
	      "minute</a></p></main>",
	      out->body);
	ct_serve_html_end(out->body);
	free(program);
}
