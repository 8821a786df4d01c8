/* SPDX-License-Identifier: BSD-3-Clause */
/* `cprof waits`: shows where the time of a wall profile goes while nothing runs, by cause and by
 * function of the program. */
#include <stdlib.h>
#include <string.h>

#include "core/read.h"
#include "verbs/verbs.h"

#define COLUMNS_BEFORE 22
#define ROWS 5

static struct {
	long rows;
} my = { .rows = ROWS };

static const struct ct_option options[] = {
	CT_INTEGER("nodecount", "N", &my.rows, "functions of a cause (5; 0: all)"), CT_END
};
static const struct ct_option *const tables[] = { options,
						  ct_own_options,
						  ct_threads_options,
						  ct_filter_options,
						  ct_times_window_options,
						  ct_short_name_options,
						  NULL };

struct waits {
	const struct ct_profile *p;
	size_t type;
	/* [1] is of waits for something to do; names in FUNCTIONS are "cause\tfunction [kind]" */
	struct ct_sums causes[2], functions[2];
	int64_t waiting, idle, running, runnable; /* IDLE is part of WAITING */
	struct ct_waits_threads *threads;	  /* NULL: they aren't wanted */
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

static void add_sample(struct waits *w, struct ct_own *o, struct ct_idle *t, size_t sample)
{
	const char *state = ct_own_stack_label(w->p, sample, "state"),
		   *cause = ct_own_stack_label(w->p, sample, "wait");
	const char *kind = ct_own_stack_label(w->p, sample, "kind");
	int64_t value = ct_values(w->p, sample)[w->type];
	const char *thread = ct_own_stack_label(w->p, sample, "thread");
	bool idle;
	char *both;

	if (!state || strcmp(state, "waiting") != 0) {
		int64_t *sum = state && !strcmp(state, "runnable") ? &w->runnable : &w->running;

		*sum = ct_add(*sum, value);
		if (w->threads)
			ct_waits_threads_add(w->threads, thread,
					     sum == &w->runnable ? "runnable" : NULL, NULL, false,
					     value);
		return;
	}
	if (!cause)
		cause = "other";
	w->waiting = ct_add(w->waiting, value);
	idle = ct_idle_is(t, sample);
	if (idle)
		w->idle = ct_add(w->idle, value);
	add_to(&w->causes[idle], cause, value);
	if (w->threads)
		ct_waits_threads_add(w->threads, thread, cause,
				     ct_own_stack_function(o, w->p, sample), idle, value);
	w->woken |= is_woken(cause, kind);
	both = ct_memory_printf("%s\t%s%s%s%s", cause, ct_own_stack_function(o, w->p, sample),
				kind ? " [" : "", kind ? kind : "", kind ? "]" : "");
	add_to(&w->functions[idle], both, value);
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

static void print_cause(const struct waits *w, bool idle, const struct ct_sum *cause)
{
	long shown = 0, more = 0;

	fputs(ct_out_paint(CT_BOLD), stdout);
	put_row(w, cause->value, "", cause->name);
	fputs(ct_out_paint(CT_PLAIN), stdout);
	for (size_t i = 0; i < w->functions[idle].count; i++) {
		const struct ct_sum *f = &w->functions[idle].list[i];

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
		printf("; %s of it idle", ct_numbers_format(idle_time, w->idle, unit, "auto"));
	puts(":");
	for (int idle = 0; idle <= 1; idle++) {
		if (idle && w->idle)
			printf("%s%22sidle, mostly: polls, and waits in a thread's own loop%s\n",
			       ct_out_paint(CT_DIM), "", ct_out_paint(CT_PLAIN));
		for (size_t i = 0; i < w->causes[idle].count; i++)
			print_cause(w, idle, &w->causes[idle].list[i]);
	}
	if (w->running)
		put_row(w, w->running, "", "(running)");
}

static int wrong_file(const char *file)
{
	fprintf(stderr,
		"cprof waits: %s is no wall profile; \"cprof run --wall -- COMMAND\" makes one\n",
		file);
	return CT_FAILED;
}

static int show_waits(struct ct_profile *p, const char *file, bool is_alone)
{
	struct waits w = { .p = p, .type = ct_model_default_type(p) };
	struct ct_idle *t;
	struct ct_own *o;
	const char *filter;
	unsigned wakers;
	int status;

	if (!p->type_count || strcmp(ct_text(p, p->types[w.type].type), "wall") != 0)
		return wrong_file(file);
	o = ct_own_new(p, ct_own_asked);
	if (!o)
		return CT_FAILED;
	if (ct_filter_tags_threads_wanted())
		w.threads = ct_waits_threads_new();
	status = ct_filter_alone(p);
	t = ct_idle_new(o, p);
	ct_filter_tags_threads_apart(p);
	for (size_t i = 0; i < p->sample_count; i++)
		add_sample(&w, o, t, i);
	if (w.runnable)
		add_to(&w.causes[0], "(ready to run, but no processor was free)", w.runnable);
	for (int idle = 0; idle <= 1; idle++) {
		ct_own_stack_sort(&w.causes[idle]);
		ct_own_stack_sort(&w.functions[idle]);
	}
	if (status)
		goto out;
	ct_out_begin();
	print_waits(&w);
	if (w.threads) {
		ct_waits_threads_print(w.threads, ct_text(p, p->types[w.type].unit),
				       my.rows == ROWS ? 0 : my.rows);
	}
	/* The files of wakers are not filtered. */
	is_alone &= !ct_filter_active(&filter, 1);
	wakers = is_alone ? ct_waits_wakers_print(file, p, ct_own_asked, my.rows) : 0;
	status = ct_out_end();
	if (w.woken && !wakers && is_alone)
		fputs("cprof: \"cprof run --wall --lock\" says who ends the waits, with "
		      "CPROF_IO_WAKERS=1 "
		      "and --io also at pipes\n",
		      stderr);
out:
	if (w.threads)
		ct_waits_threads_free(w.threads);
	for (int idle = 0; idle <= 1; idle++) {
		ct_own_stack_release(&w.causes[idle]);
		ct_own_stack_release(&w.functions[idle]);
	}
	ct_idle_free(t);
	ct_own_free(o);
	return status ? CT_FAILED : CT_OK;
}

static int verb_waits(int argc, char **argv)
{
	struct ct_profile *p = ct_load_files(argv, argc);
	int status;

	if (!p)
		return CT_FAILED;
	status = show_waits(p, *argv, argc == 1);
	if (status == CT_OK)
		ct_siblings_say(p, *argv);
	ct_model_free(p);
	return status;
}

const struct ct_verb ct_verb_waits = {
	.name = "waits",
	.operands = "FILE...",
	.summary = "Where the time goes while nothing runs: locks, sleep, disk, network, pipes",
	.details =
		"FILE is a wall profile; several are added up. -threads adds a table by thread. "
		"The system call that a thread waits in, and the kind of "
		"its descriptor,\n"
		"tell the cause. Waits for something to do come last: epoll; polls, conditions "
		"and\n"
		"semaphores in a worker's loop; joins in the first thread; sleep in a thread's "
		"loop.\n"
		"The files of wakers of the same run beside FILE (lock.wakers.pb, io.wakers.pb for "
		"wall.pb) tell\nwho ended the waits.\n",
	.tables = tables,
	.wanted = "a wall profile is needed",
	.least = 1,
	.run = verb_waits,
};
