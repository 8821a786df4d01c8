/* SPDX-License-Identifier: BSD-3-Clause */
/* The processes of a run, by program; see verbs.h. */
#include "verbs/verbs.h"

#include <stdlib.h>
#include <string.h>

/* Programs of a tree that are shown. */
#define SHOWN 5

static void add_process(struct ct_run_processes *to, int64_t id)
{
	for (size_t i = to->count; i-- > 0;)
		if (to->ids[i] == id)
			return;
	*CT_PUSH(to->ids, to->count, to->room) = id;
}

static struct ct_run_program *program_of(struct ct_run_programs *r, const char *name)
{
	for (size_t i = 0; i < r->count; i++)
		if (!strcmp(r->all[i].name, name))
			return &r->all[i];
	*CT_PUSH(r->all, r->count, r->room) =
		(struct ct_run_program){ .name = ct_memory_strdup(name) };
	return &r->all[r->count - 1];
}

void ct_run_programs_add(struct ct_run_programs *r, int64_t id, const struct ct_profile *p,
			 const char *path, int64_t total)
{
	struct ct_run_program *program;

	if (id != r->command)
		add_process(&r->children, id);
	if (!p || !p->mapping_count)
		return;
	program = program_of(r, ct_own_program_name(p, 0));
	add_process(&program->processes, id);
	program->total = ct_add(program->total, total);
	if (!program->largest || total > program->most) {
		program->most = total;
		program->largest = path;
	}
}

static int by_total(const void *x, const void *y)
{
	const struct ct_run_program *a = x, *b = y;

	return a->total != b->total ? (a->total > b->total ? -1 : 1) : strcmp(a->name, b->name);
}

static void show(const struct ct_run_program *p, const char *unit, int64_t all)
{
	char number[CT_NUMBER_ROOM], share[CT_NUMBER_ROOM];

	fprintf(stderr, "%10s %s  ", ct_numbers_format(number, p->total, unit, "auto"),
		ct_numbers_percent(share, p->total, all));
	ct_out_text(stderr, p->name);
	if (p->processes.count > 1)
		fprintf(stderr, ", %zu processes, the largest %s", p->processes.count,
			ct_numbers_format(number, p->most, unit, "auto"));
	fputs(": ", stderr);
	ct_out_text(stderr, ct_base_name(p->largest));
	fputc('\n', stderr);
}

void ct_run_programs_show(struct ct_run_programs *r, const char *mode, const char *unit,
			  int64_t all)
{
	fprintf(stderr, "cprof: %s of the command", mode);
	if (r->children.count)
		fprintf(stderr, " and %zu child%s together", r->children.count,
			r->children.count == 1 ? "" : "ren");
	fputs(", by program:\n", stderr);
	qsort(r->all, r->count, sizeof(*r->all), by_total);
	for (size_t i = 0; i < r->count && i < SHOWN; i++) {
		if (!r->all[i].total)
			return;
		show(&r->all[i], unit, all);
	}
	if (r->count > SHOWN)
		fprintf(stderr, "%20s%zu more\n", "", r->count - SHOWN);
}

void ct_run_programs_free(struct ct_run_programs *r)
{
	for (size_t i = 0; i < r->count; i++) {
		free(r->all[i].name);
		free(r->all[i].processes.ids);
	}
	free(r->all);
	free(r->children.ids);
}
