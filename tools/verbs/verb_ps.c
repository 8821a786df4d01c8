/* SPDX-License-Identifier: BSD-3-Clause */
/* cprof ps: the profiled processes of this machine that answer us. */
#include <stdlib.h>
#include <string.h>

#include "verbs/verbs.h"

/* A share of less CPU time than this says nothing. */
#define ENOUGH_CPU_NS 100000000u

static struct {
	bool json;
} my;

static const struct ct_option options[] = { CT_FLAG("json", &my.json, "as JSON"), CT_END };
static const struct ct_option *const tables[] = { options, NULL };

struct row {
	int pid;
	struct cp_control_message status;
};

struct rows {
	struct row *items;
	size_t count, room;
	/* Processes in user namespaces that refuse us. */
	int elsewhere[8];
	size_t elsewhere_count;
};

static void add_process(const struct ct_controlled *p, const struct cp_control_message *status,
			void *arg)
{
	struct rows *r = arg;
	struct row *row = CT_PUSH(r->items, r->count, r->room);

	row->pid = p->pid;
	row->status = *status;
}

static void add_elsewhere(int pid, void *arg)
{
	struct rows *r = arg;

	if (r->elsewhere_count < sizeof(r->elsewhere) / sizeof(*r->elsewhere))
		r->elsewhere[r->elsewhere_count] = pid;
	r->elsewhere_count++;
}

/* Anybody can have thousands of such processes, so only the first are named. */
static void say_elsewhere(const struct rows *r)
{
	const size_t most = sizeof(r->elsewhere) / sizeof(*r->elsewhere);

	if (!r->elsewhere_count)
		return;
	fputs("cprof ps: not shown:", stderr);
	for (size_t i = 0; i < r->elsewhere_count && i < most; i++)
		fprintf(stderr, " %d", r->elsewhere[i]);
	if (r->elsewhere_count > most)
		fprintf(stderr, " and %zu more", r->elsewhere_count - most);
	fputs(", in " CT_CONTROL_ELSEWHERE "\n", stderr);
}

static int by_pid(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* CPU time of the profiler in per cent of the program's own: "0.12%"; "-" for a program that has
 * used so little CPU time that the start of the profiler is a large part of it. */
static void print_cost(const struct row *r)
{
	unsigned long long own = ct_control_number(&r->status, "cost_ns");
	unsigned long long all = ct_control_number(&r->status, "cpu_ns");

	if (all < own + ENOUGH_CPU_NS)
		printf("%7s ", "-");
	else
		printf("%6.2f%% ", 100.0 * (double)own / (double)(all - own));
}

/* ---- as a table ---- */

/* Seconds as 59s, 12m05s, 3h07m or 12d03h. */
static void print_since(unsigned long long begun)
{
	unsigned long long now = (unsigned long long)time(NULL), s = now > begun ? now - begun : 0;
	char text[32];

	if (!begun)
		strcpy(text, "-");
	else if (s < 60)
		snprintf(text, sizeof(text), "%llus", s);
	else if (s < 3600)
		snprintf(text, sizeof(text), "%llum%02llus", s / 60, s % 60);
	else if (s < 86400)
		snprintf(text, sizeof(text), "%lluh%02llum", s / 3600, s / 60 % 60);
	else
		snprintf(text, sizeof(text), "%llud%02lluh", s / 86400, s / 3600 % 24);
	printf("%8s ", text);
}

static void print_row(const struct row *r)
{
	char *program = ct_control_value(&r->status, "program"), text[64] = "";
	unsigned long long since = 0, samples = 0, lost = 0;

	for (size_t i = 0; i < CT_MODES; i++) {
		unsigned long long begun =
			ct_control_mode_number(&r->status, ct_control_modes[i].name, "since");

		if (!begun)
			continue;
		sprintf(text + strlen(text), "%s%s", *text ? "," : "", ct_control_modes[i].name);
		since = since && since < begun ? since : begun;
		samples += ct_control_mode_number(&r->status, ct_control_modes[i].name, "samples");
		lost += ct_control_mode_number(&r->status, ct_control_modes[i].name, "lost");
	}
	/* A process of another pid namespace may be out of sight. */
	if (r->pid)
		printf("%8d ", r->pid);
	else
		printf("%8s ", "-");
	printf("%-19s ", *text ? text : "-");
	print_since(since);
	printf("%10llu ", samples);
	print_cost(r);
	ct_out_text(stdout, program ? program : "?");
	if (lost)
		printf(" (%llu samples lost)", lost);
	putchar('\n');
	free(program);
}

static void print_processes(const struct rows *r)
{
	printf("%8s %-19s %8s %10s %7s %s\n", "PID", "MODES", "SINCE", "SAMPLES", "COST",
	       "PROGRAM");
	for (size_t i = 0; i < r->count; i++)
		print_row(&r->items[i]);
}

/* ---- as JSON ---- */

static void json_text(struct ct_json *j, const struct row *r, const char *key)
{
	char *value = ct_control_value(&r->status, key);
	const char *dot = strrchr(key, '.');

	if (value)
		ct_json_text(j, dot ? dot + 1 : key, value);
	free(value);
}

static void json_mode(struct ct_json *j, const struct row *r, const char *mode)
{
	static const char *const numbers[] = { "since", "samples", "lost", "period" };
	char *path = ct_memory_printf("%s.path", mode);

	if (ct_control_mode_number(&r->status, mode, "since")) {
		ct_json_open(j, mode, '{');
		for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
			ct_json_integer(
				j, numbers[i],
				(int64_t)ct_control_mode_number(&r->status, mode, numbers[i]));
		json_text(j, r, path);
		ct_json_close(j, '}');
	}
	free(path);
}

static void print_json(const struct rows *r)
{
	struct ct_json j = ct_json_to(stdout);

	ct_json_open(&j, NULL, '[');
	for (size_t i = 0; i < r->count; i++) {
		const struct row *row = &r->items[i];

		ct_json_open(&j, NULL, '{');
		ct_json_integer(&j, "pid", row->pid);
		json_text(&j, row, "program");
		json_text(&j, row, "version");
		ct_json_integer(&j, "cost_ns", (int64_t)ct_control_number(&row->status, "cost_ns"));
		ct_json_integer(&j, "cpu_ns", (int64_t)ct_control_number(&row->status, "cpu_ns"));
		ct_json_open(&j, "modes", '{');
		for (size_t m = 0; m < CT_MODES; m++)
			json_mode(&j, row, ct_control_modes[m].name);
		ct_json_close(&j, '}');
		ct_json_close(&j, '}');
	}
	ct_json_close(&j, ']');
}

static int add_one(const char *process, struct rows *r)
{
	char *why = ct_control_one(ct_control_process(process), add_process, r);

	if (why)
		fprintf(stderr, "cprof ps: %s\n", why);
	free(why);
	return why ? CT_FAILED : CT_OK;
}

static int verb_ps(int argc, char **argv)
{
	struct rows r = { 0 };
	int status = CT_OK;

	for (int i = 0; i < argc; i++)
		if (!ct_control_process(argv[i]))
			return ct_options_wrong(&ct_verb_ps, CT_CONTROL_NO_PROCESS, argv[i]);
	if (!argc)
		ct_control_each(&(struct ct_control_which){ .elsewhere = add_elsewhere },
				add_process, &r);
	for (int i = 0; i < argc; i++)
		status |= add_one(argv[i], &r);
	if (r.count)
		qsort(r.items, r.count, sizeof(*r.items), by_pid);
	else if (!my.json && !argc && !r.elsewhere_count)
		fputs("cprof: no process is being profiled, as far as can be seen: start one with "
		      "\"cprof run\", or with LD_PRELOAD=libcprof.so and CPUPROFILE=FILE or "
		      "CPROF_CONTROL=on\n",
		      stderr);
	say_elsewhere(&r);
	ct_out_begin();
	if (my.json)
		print_json(&r);
	else if (r.count)
		print_processes(&r);
	free(r.items);
	return ct_out_end() || status ? CT_FAILED : CT_OK;
}

const struct ct_verb ct_verb_ps = {
	.name = "ps",
	.operands = "[PID|PATH]...",
	.summary = "The processes that are being profiled: modes, samples, cost",
	.details =
		"Yours, and as root everybody's, in containers too. COST is the profiler's CPU "
		"time beside the\nprogram's own; \"-\": the program has used less than a tenth of "
		"a second.\n",
	.tables = tables,
	.run = verb_ps,
};
