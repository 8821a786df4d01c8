/* SPDX-License-Identifier: BSD-3-Clause */
/* `cprof waits`: shows where the time of a wall profile goes while nothing runs, by cause and by
 * function of the program. */
#include <stdlib.h>
#include <string.h>

#include "core/read.h"
#include "verbs/verbs.h"

#define COLUMNS_BEFORE 22

static struct {
	const char *own;
	long rows;
} my = { .rows = 5 };

static const struct ct_option options[] = {
	CT_TEXT("own", "REGEX", &my.own, "your code: functions and modules that match"),
	CT_INTEGER("nodecount", "N", &my.rows, "functions of a cause (5; 0: all)"), CT_END
};
static const struct ct_option *const tables[] = { options, ct_short_name_options, NULL };

/* Mostly the time in which there is nothing to do: shown after the delays. */
#define IDLE "poll"

struct waits {
	const struct ct_profile *p;
	size_t type;
	struct ct_sums causes, functions; /* names in FUNCTIONS are "cause\tfunction [kind]" */
	int64_t waiting, idle, running, runnable; /* IDLE is part of WAITING */
	bool woken;				  /* there are waits that another thread ends */
};

static void add_to(struct ct_sums *s, const char *name, int64_t value)
{
	struct ct_sum *sum = ct_own_stack_sum(s, name);

	sum->value = ct_add(sum->value, value);
}

/* Waits whose end a file of wakers may tell. */
static bool is_woken(const char *cause, const char *kind)
{
	static const char *const ended[] = { "condition", "semaphore", "barrier", "thread" };

	for (size_t i = 0; i < sizeof(ended) / sizeof(*ended); i++)
		if (!strcmp(cause, ended[i]))
			return true;
	return kind && (!strcmp(kind, "pipe") || !strcmp(kind, "eventfd"));
}

static void add_sample(struct waits *w, struct ct_own *o, size_t sample)
{
	const char *state = ct_own_stack_label(w->p, sample, "state"),
		   *cause = ct_own_stack_label(w->p, sample, "wait");
	const char *kind = ct_own_stack_label(w->p, sample, "kind");
	int64_t value = ct_values(w->p, sample)[w->type];
	char *both;

	if (!state || strcmp(state, "waiting") != 0) {
		int64_t *sum = state && !strcmp(state, "runnable") ? &w->runnable : &w->running;

		*sum = ct_add(*sum, value);
		return;
	}
	if (!cause)
		cause = "other";
	w->waiting = ct_add(w->waiting, value);
	if (!strcmp(cause, IDLE))
		w->idle = ct_add(w->idle, value);
	add_to(&w->causes, cause, value);
	w->woken |= is_woken(cause, kind);
	both = ct_memory_printf("%s\t%s%s%s%s", cause, ct_own_stack_function(o, w->p, sample),
				kind ? " [" : "", kind ? kind : "", kind ? "]" : "");
	add_to(&w->functions, both, value);
	free(both);
}

static int64_t all_of(const struct waits *w)
{
	return ct_add(ct_add(w->waiting, w->runnable), w->running);
}

static void put_row(const struct waits *w, int64_t value, const char *indent, const char *name)
{
	char number[CT_NUMBER_ROOM], share[CT_NUMBER_ROOM];

	printf("%10s %s  %s",
	       ct_numbers_format(number, value, ct_text(w->p, w->p->types[w->type].unit), "auto"),
	       ct_numbers_percent(share, value, all_of(w)), indent);
	ct_short_name_print(name, COLUMNS_BEFORE);
	putchar('\n');
}

static bool is_of(const struct ct_sum *function, const char *cause)
{
	size_t n = strlen(cause);

	return !strncmp(function->name, cause, n) && function->name[n] == '\t';
}

static void print_cause(const struct waits *w, const struct ct_sum *cause)
{
	long shown = 0, more = 0;

	fputs(ct_out_paint(CT_BOLD), stdout);
	put_row(w, cause->value, "", cause->name);
	fputs(ct_out_paint(CT_PLAIN), stdout);
	for (size_t i = 0; i < w->functions.count; i++) {
		const struct ct_sum *f = &w->functions.list[i];

		if (!is_of(f, cause->name))
			continue;
		if (my.rows && shown == my.rows) {
			more++;
			continue;
		}
		put_row(w, f->value, "  ", f->name + strlen(cause->name) + 1);
		shown++;
	}
	if (more)
		printf("%20s%ld more\n", "", more);
}

static void print_waits(const struct waits *w)
{
	const char *unit = ct_text(w->p, w->p->types[w->type].unit);
	char waiting[CT_NUMBER_ROOM], all[CT_NUMBER_ROOM], share[CT_NUMBER_ROOM],
		idle_time[CT_NUMBER_ROOM];
	int64_t total = all_of(w);
	const char *percent = ct_numbers_percent(share, w->waiting, total);

	printf("Threads waited %s, %s of their %s, by cause and own function",
	       ct_numbers_format(waiting, w->waiting, unit, "auto"), percent + strspn(percent, " "),
	       ct_numbers_format(all, total, unit, "auto"));
	if (w->idle)
		printf("; %s of it in poll, where most have nothing to do",
		       ct_numbers_format(idle_time, w->idle, unit, "auto"));
	puts(":");
	for (int idle = 0; idle <= 1; idle++)
		for (size_t i = 0; i < w->causes.count; i++)
			if (idle == !strcmp(w->causes.list[i].name, IDLE))
				print_cause(w, &w->causes.list[i]);
	if (w->runnable)
		put_row(w, w->runnable, "", "(ready to run, but no processor was free)");
	put_row(w, w->running, "", "(running)");
}

static int wrong_file(const char *file)
{
	fprintf(stderr,
		"cprof waits: %s is no wall profile; \"cprof run --wall -- COMMAND\" makes one\n",
		file);
	return CT_FAILED;
}

static int show_waits(const struct ct_profile *p, const char *file)
{
	struct waits w = { .p = p, .type = ct_model_default_type(p) };
	struct ct_own *o;
	unsigned wakers;
	int status;

	if (!p->type_count || strcmp(ct_text(p, p->types[w.type].type), "wall") != 0)
		return wrong_file(file);
	o = ct_own_new(p, my.own);
	if (!o)
		return CT_FAILED;
	for (size_t i = 0; i < p->sample_count; i++)
		add_sample(&w, o, i);
	ct_own_stack_sort(&w.causes);
	ct_own_stack_sort(&w.functions);
	ct_short_name_columns();
	ct_out_begin();
	print_waits(&w);
	wakers = ct_waits_wakers_print(file, p, my.own, my.rows);
	status = ct_out_end();
	if (w.woken && !wakers)
		fputs("cprof: \"cprof run --wall --lock\" says who ends the waits, with "
		      "CPROF_IO_WAKERS=1 "
		      "and --io also at pipes\n",
		      stderr);
	ct_own_stack_release(&w.causes);
	ct_own_stack_release(&w.functions);
	ct_own_free(o);
	return status;
}

static int verb_waits(int argc, char **argv)
{
	struct ct_profile *p = ct_read_source(*argv);
	int status;

	(void)argc;
	if (!p)
		return CT_FAILED;
	status = show_waits(p, *argv);
	if (status == CT_OK)
		ct_siblings_say(p, *argv);
	ct_model_free(p);
	return status;
}

const struct ct_verb ct_verb_waits = {
	.name = "waits",
	.operands = "FILE",
	.summary = "Where the time goes while nothing runs: locks, sleep, disk, network, pipes",
	.details =
		"FILE is a wall profile. The system call that a thread waits in, and the kind of "
		"its descriptor,\n"
		"tell the cause. Waits in poll, select and epoll are for something to do: they "
		"are idle time,\nwhich the first line leaves out.\n"
		"The files of wakers of the same run beside FILE (lock.wakers.pb, io.wakers.pb for "
		"wall.pb) tell\nwho ended the waits.\n",
	.tables = tables,
	.wanted = "one wall profile is needed, not %d",
	.least = 1,
	.most = 1,
	.run = verb_waits,
};
