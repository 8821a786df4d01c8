/* SPDX-License-Identifier: BSD-3-Clause */
/* `cprof timeline`: what each thread did when, as lines of text, and the moments that differ from
 * the rest of the run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/read.h"
#include "core/report.h"
#include "core/times.h"
#include "verbs/timeline.h"
#include "verbs/verbs.h"

/* Of names that mean themselves in an expression. */
#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:"

static struct {
	const char *by, *type;
	bool json;
} my;

static const struct ct_option options[] = {
	CT_TEXT("by", "WHAT", &my.by, "rows: thread (default) or state"),
	CT_TEXT("sample_index", "TYPE", &my.type, "value to show, if a file has it: a name"),
	CT_FLAG("json", &my.json, "as JSON"), CT_END
};
static const struct ct_option *const tables[] = {
	options,	   ct_own_options,	  ct_times_window_options,
	ct_filter_options, ct_short_name_options, NULL
};

/* ---- the sentences ---- */

/* Returns "cprof VERB -from=... -to=... FILE" for T, which the caller frees. */
static char *command_for(const struct ct_timeline *t, const char *verb, double from, double to)
{
	int digits = ct_timeline_draw_digits(fmin(to - from, 1e9) / 10);
	char a[CT_NUMBER_ROOM], b[CT_NUMBER_ROOM], *word = ct_out_word(t->name);
	char *text = ct_memory_printf("cprof %s -from=%s -to=%s %s", verb,
				      ct_timeline_draw_time(a, fmax(from - t->start, 0), digits),
				      ct_timeline_draw_time(b, to - t->start, digits), word);

	free(word);
	return text;
}

static bool has_type(const struct ct_timeline *t, const char *type)
{
	return ct_model_type(t->p, type) < t->p->type_count;
}

/* Does each sample have the name of its thread, so that -tagfocus can choose by it? */
static bool has_threads(const struct ct_profile *p)
{
	return p->sample_count && ct_own_stack_label(p, 0, "thread");
}

static char *command_of(const struct ct_timeline_moment *m)
{
	const struct ct_timeline *t = m->file;
	bool waits = t->is_wall && ct_ends(m->function, "]") && strstr(m->function, " [");
	char *word, *verb, *text;

	if (has_type(t, "contentions") || waits)
		return command_for(t, waits ? "waits" : "locks", m->from, m->to);
	if (!m->every || m->thread == CT_NONE || !has_threads(t->p))
		return command_for(t, "top", m->from, m->to);
	text = ct_memory_printf("thread=%s", ct_text(t->p, t->p->times->threads[m->thread].name));
	word = ct_out_word(text);
	verb = ct_memory_printf("top -tagfocus=%s", word);
	free(text);
	text = command_for(t, verb, m->from, m->to);
	free(word);
	free(verb);
	return text;
}

/* "compute takes 3.10 processors", "3.10 threads are in compute [lock] (wall)", "3.10 threads wait
 * for lock config in compute", "reload makes 3.10 threads wait for lock config". The caller frees
 * it. */
static char *amount_of(const struct ct_timeline_moment *m)
{
	const struct ct_timeline *t = m->file;
	const char *type = ct_text(t->p, t->p->types[t->type].type);
	const char *within = m->caller ? " < " : "", *caller = m->caller ? m->caller : "";
	char rate[CT_NUMBER_ROOM];

	ct_timeline_draw_rate(t, rate, m->rate);
	if (m->every && !t->is_time)
		ct_numbers_format(rate, ct_numbers_clamp(m->rate),
				  ct_text(t->p, t->p->types[t->type].unit), "auto");
	if (m->lock && t->is_shared)
		return ct_memory_printf("%s%s%s makes %s threads wait for lock %s", m->function,
					within, caller, rate, m->lock);
	if (m->lock)
		return ct_memory_printf("%s threads wait for lock %s in %s%s%s", rate, m->lock,
					m->function, within, caller);
	if (t->is_time && strcmp(type, "cpu") != 0)
		return ct_memory_printf("%s threads are in %s%s%s (%s)", rate, m->function, within,
					caller, has_type(t, "calls") ? "input and output" : type);
	return ct_memory_printf("%s%s%s takes %s%s%s", m->function, within, caller, rate,
				t->is_time ? " processors" : " of ", t->is_time ? "" : type);
}

/* "; meanwhile 5.21 threads are ready to run, 0.40 in the rest of the run", or nothing. */
static char *ready_of(const struct ct_timeline_moment *m)
{
	return m->ready > 0
		       ? ct_memory_printf("; meanwhile %.2f threads are ready to run, but have "
					  "no processor, %.2f in the rest of the run",
					  m->ready / 1e9, m->ready_rest / 1e9)
		       : ct_memory_strdup("");
}

/* The caller frees the result. */
static char *sentence_of(const struct ct_timeline_moment *m)
{
	char a[CT_NUMBER_ROOM], b[CT_NUMBER_ROOM], c[CT_NUMBER_ROOM];
	int digits = ct_timeline_draw_digits(fmax(fmin(m->to - m->from, 1e9) / 10, 1e6));
	char *what = amount_of(m), *ready = ready_of(m), *text;
	const char *and = m->other ? "; it is " : "", *who = m->other ? m->other : "";

	if (m->every)
		text = ct_memory_printf("Every %s for %s, %zu times from %s on, %s, on %s%s%s.",
					ct_timeline_draw_time(a, m->every, digits),
					ct_timeline_draw_time(b, m->to - m->from, digits), m->count,
					ct_timeline_draw_time(c, m->first, digits), what,
					m->threads, and, who);
	else
		text = ct_memory_printf("From %s to %s %s, %s in the rest of the run, on %s%s%s%s.",
					ct_timeline_draw_time(a, m->from, digits),
					ct_timeline_draw_time(b, m->to, digits), what,
					ct_timeline_draw_rate(m->file, c, m->rest), m->threads, and,
					who, ready);
	free(what);
	free(ready);
	return text;
}

/* ---- jumps of memory ---- */

/* Returns the file that tells of the memory: one of the heap's, if there is one. */
static const struct ct_timeline *memory_of(const struct ct_timeline_view *v, bool *is_heap)
{
	for (size_t i = 0; i < v->count; i++) {
		*is_heap = has_type(&v->files[i], "alloc_space");
		if (*is_heap)
			return &v->files[i];
	}
	return &v->files[0];
}

struct told_jump {
	struct ct_timeline_jump jump;
	struct ct_timeline_moment cause; /* FUNCTION NULL: it isn't known */
	char *sentence, *command;	 /* COMMAND NULL: there is no heap profile */
};

/* Returns the command that shows what M's function allocated. The caller frees it. */
static char *allocations_of(const struct ct_timeline_moment *m)
{
	const char *name = m->caller ? m->caller : m->function;
	bool plain = !name[strspn(name, NAME_CHARACTERS)];
	char *focus = ct_memory_printf("%s%s%s", plain ? "" : "\\Q", name, plain ? "" : "\\E");
	char *word = ct_out_word(focus);
	char *verb = ct_memory_printf("top -cum -sample_index=alloc_space -focus=%s", word);
	char *text = command_for(m->file, verb, m->from, m->to);

	free(focus);
	free(word);
	free(verb);
	return text;
}

/* Says in J what allocated. T is of the heap. */
static void tell_cause(const struct ct_timeline *t, struct told_jump *j)
{
	char a[CT_NUMBER_ROOM], b[CT_NUMBER_ROOM], by[CT_NUMBER_ROOM], *grows = j->sentence;
	const struct ct_timeline_moment *m = &j->cause;
	int digits;

	if (!ct_timeline_memory_cause(t, &j->jump, &j->cause)) {
		j->sentence = ct_memory_printf("%s; the stacks that allocated:", grows);
		j->command = command_for(t, "top -cum -sample_index=alloc_space", j->jump.from,
					 j->jump.to);
	} else {
		digits = ct_timeline_draw_digits(fmin(m->to - m->from, 1e9) / 10);
		j->sentence = ct_memory_printf(
			"%s; %s%s%s allocates %s of it, from %s to %s:", grows, m->function,
			m->caller ? " < " : "", m->caller ? m->caller : "",
			ct_numbers_format(by, ct_numbers_clamp(m->rate), "bytes", "auto"),
			ct_timeline_draw_time(a, m->from, digits),
			ct_timeline_draw_time(b, m->to, digits));
		j->command = allocations_of(m);
	}
	free(grows);
}

/* Finds the jumps of V, on its axis, and how they are told. Returns how many. */
static size_t find_jumps(const struct ct_timeline_view *v, struct told_jump *told)
{
	struct ct_timeline_jump jumps[CT_TIMELINE_JUMPS];
	bool is_heap;
	const struct ct_timeline *t = memory_of(v, &is_heap);
	size_t n =
		ct_timeline_memory_jumps(t->p->times->counters, t->p->times->counter_count, jumps);
	char a[CT_NUMBER_ROOM], b[CT_NUMBER_ROOM], by[CT_NUMBER_ROOM];

	for (size_t i = 0; i < n; i++) {
		struct ct_timeline_jump *j = &told[i].jump;

		told[i] = (struct told_jump){ .jump = jumps[i] };
		j->from += t->offset;
		j->to += t->offset;
		told[i].sentence = ct_memory_printf(
			"Resident memory grows by %s between %s and %s%s",
			ct_numbers_format(by, ct_numbers_clamp(j->bytes), "bytes", "auto"),
			ct_timeline_draw_time(a, j->from, 1), ct_timeline_draw_time(b, j->to, 1),
			is_heap ? "" : ".");
		if (is_heap)
			tell_cause(t, &told[i]);
	}
	return n;
}

/* ---- what is told ---- */

struct told {
	struct told_jump jumps[CT_TIMELINE_JUMPS];
	struct ct_timeline_moment *moments;
	size_t jump_count, count, periodic; /* the last PERIODIC of COUNT moments */
};

/* Does a jump tell what M tells? */
static bool is_told(const struct told *told, const struct ct_timeline_moment *m)
{
	for (size_t i = 0; i < told->jump_count; i++) {
		const struct ct_timeline_moment *cause = &told->jumps[i].cause;

		if (cause->file == m->file && cause->function && m->from < cause->to &&
		    cause->from < m->to && !m->every)
			return true;
	}
	return false;
}

static struct told find(const struct ct_timeline_view *v)
{
	struct told told = { 0 };
	size_t n = 0;

	told.moments = ct_memory_alloc(2 * CT_TIMELINE_MOMENTS * v->count * sizeof(*told.moments));
	told.count = ct_timeline_moments_find(v, told.moments, &told.periodic);
	told.jump_count = find_jumps(v, told.jumps);
	for (size_t i = 0; i < told.count; i++) {
		if (is_told(&told, &told.moments[i]))
			ct_timeline_moments_release(&told.moments[i]);
		else
			told.moments[n++] = told.moments[i];
	}
	told.count = n;
	return told;
}

static void free_told(struct told *told)
{
	for (size_t i = 0; i < told->count; i++)
		ct_timeline_moments_release(&told->moments[i]);
	for (size_t i = 0; i < told->jump_count; i++) {
		free(told->jumps[i].sentence);
		free(told->jumps[i].command);
	}
	free(told->moments);
}

/* ---- text and JSON ---- */

static void put_head(const char *text)
{
	printf("\n%s%s%s\n", ct_out_paint(CT_BOLD), text, ct_out_paint(CT_PLAIN));
}

static void put_one(const char *sentence, const char *command)
{
	ct_out_text(stdout, sentence);
	fputs(command ? "\n    " : "", stdout);
	ct_out_text(stdout, command ? command : "");
	putchar('\n');
}

static void put_text(const struct ct_timeline_view *v, const struct told *told)
{
	size_t once = told->count - told->periodic;

	ct_timeline_draw_text(v);
	if (once + told->jump_count)
		put_head("What differs most from the rest of the run, beyond chance:");
	else
		puts("\nNo moment differs from the rest of the run beyond chance.");
	for (size_t i = 0; i < told->jump_count; i++)
		put_one(told->jumps[i].sentence, told->jumps[i].command);
	for (size_t i = 0; i < told->count; i++) {
		char *sentence = sentence_of(&told->moments[i]);
		char *command = command_of(&told->moments[i]);

		if (i == once)
			put_head("What returns periodically:");
		put_one(sentence, command);
		free(sentence);
		free(command);
	}
}

static void json_moment(struct ct_json *j, const struct ct_timeline_moment *m)
{
	char *sentence = sentence_of(m), *command = command_of(m);

	ct_json_open(j, NULL, '{');
	ct_json_text(j, "file", m->file->name);
	ct_json_text(j, "function", m->function);
	ct_json_text(j, "threads", m->threads);
	ct_json_number(j, "from_ns", m->from);
	ct_json_number(j, "to_ns", m->to);
	ct_json_number(j, "rate", m->rate);
	ct_json_number(j, m->every ? "every_ns" : "rest_rate", m->every ? m->every : m->rest);
	ct_json_text(j, "text", sentence);
	ct_json_text(j, "command", command);
	ct_json_close(j, '}');
	free(sentence);
	free(command);
}

static void json_jump(struct ct_json *j, const struct told_jump *told)
{
	ct_json_open(j, NULL, '{');
	ct_json_number(j, "from_ns", told->jump.from);
	ct_json_number(j, "to_ns", told->jump.to);
	ct_json_number(j, "bytes", told->jump.bytes);
	if (told->cause.function)
		ct_json_text(j, "function", told->cause.function);
	ct_json_text(j, "text", told->sentence);
	if (told->command)
		ct_json_text(j, "command", told->command);
	ct_json_close(j, '}');
}

static void put_json(const struct ct_timeline_view *v, const struct told *told)
{
	struct ct_json json = ct_json_to(stdout), *j = &json;

	ct_json_open(j, NULL, '{');
	ct_json_integer(j, "start_ns", v->zero);
	ct_json_number(j, "from_ns", v->from);
	ct_json_number(j, "to_ns", v->to);
	ct_timeline_draw_json(v, j);
	ct_json_open(j, "moments", '[');
	for (size_t i = 0; i < told->count; i++)
		json_moment(j, &told->moments[i]);
	ct_json_close(j, ']');
	ct_json_open(j, "memory_jumps", '[');
	for (size_t i = 0; i < told->jump_count; i++)
		json_jump(j, &told->jumps[i]);
	ct_json_close(j, ']');
	ct_json_close(j, '}');
}

/* ---- the files ---- */

static size_t type_of(const struct ct_profile *p)
{
	size_t type = my.type ? ct_model_type(p, my.type) : p->type_count;

	if (type == p->type_count)
		type = ct_model_default_type(p);
	return ct_model_is_of_moment(p, type) ? ct_times_type(p) : type;
}

static bool prepare(struct ct_timeline *t, int64_t zero)
{
	const struct ct_profile *p = t->p;

	if (ct_filter_alone(t->p))
		return false;
	t->own = ct_own_new(p, ct_own_asked);
	if (!t->own)
		return false;
	t->type = type_of(p);
	t->is_time = !strcmp(ct_text(p, p->types[t->type].unit), "nanoseconds");
	t->is_wall = !strcmp(ct_text(p, p->types[t->type].type), "wall");
	t->is_shared = !strcmp(ct_text(p, p->types[t->type].type), "blocking");
	t->offset = (double)ct_times_between(zero, ct_times_start(p));
	t->worth = ct_memory_alloc((p->sample_count + 1) * sizeof(*t->worth));
	for (size_t i = 0; i < p->sample_count; i++)
		t->worth[i] = p->times->recorded[i] ? (double)ct_values(p, i)[t->type] /
							      (double)p->times->recorded[i]
						    : 0;
	ct_timeline_pieces_functions(t);
	ct_timeline_pieces_make(t);
	return true;
}

static void release(struct ct_timeline *t)
{
	for (size_t i = 0; i < t->name_count; i++)
		free(t->names[i]);
	free(t->names);
	free(t->functions);
	free(t->first_function);
	free(t->worth);
	free(t->idle);
	free(t->pieces);
	ct_own_free(t->own);
	ct_model_free(t->p);
}

/* Reads the files with an index into V, and finds the axis. */
static int open_files(struct ct_timeline_view *v, char **names, int count)
{
	struct ct_profile **all = ct_memory_alloc((size_t)count * sizeof(struct ct_profile *));
	int status = CT_OK;

	v->zero = INT64_MAX;
	for (int i = 0; i < count && status == CT_OK; i++) {
		struct ct_profile *p = ct_read_source(names[i]);

		if (!p || !ct_times_filter_has(p, names[i]) || !p->type_count) {
			status = p && count > 1 ? CT_OK : CT_FAILED;
			if (p)
				ct_model_free(p);
			continue;
		}
		v->zero = ct_times_start(p) < v->zero ? ct_times_start(p) : v->zero;
		all[v->count] = p;
		names[v->count] = names[i];
		v->files[v->count++] = (struct ct_timeline){ .name = names[i],
							     .p = p,
							     .start = (double)ct_times_start(p) };
	}
	if (!v->count || (status == CT_OK && ct_times_window_active() &&
			  ct_times_filter(all, (const char *const *)names, v->count)))
		status = CT_FAILED;
	free(all);
	v->from = INFINITY;
	for (size_t i = 0; i < v->count && status == CT_OK; i++) {
		struct ct_timeline *t = &v->files[i];

		t->start -= (double)v->zero;
		if (!t->p->times || !prepare(t, v->zero)) {
			status = CT_FAILED;
			break;
		}
		v->from = fmin(v->from, t->offset + (double)t->p->times->from);
		v->to = fmax(v->to, t->offset + (double)t->p->times->end);
	}
	return status;
}

static int verb_timeline(int argc, char **argv)
{
	struct ct_timeline_view v = { .files = ct_memory_alloc((size_t)argc * sizeof(*v.files)),
				      .by_state = my.by && !strcmp(my.by, "state") };
	struct told told;
	int status;

	if (my.by && strcmp(my.by, "thread") != 0 && !v.by_state)
		return ct_options_wrong(&ct_verb_timeline, "-by=%s is neither thread nor state",
					my.by);
	status = open_files(&v, argv, argc);
	if (status == CT_OK) {
		ct_timeline_draw_measure(&v);
		told = find(&v);
		ct_out_begin();
		(my.json ? put_json : put_text)(&v, &told);
		status = ct_out_end();
		free_told(&told);
	}
	for (size_t i = 0; i < v.count; i++)
		release(&v.files[i]);
	free(v.files);
	return status;
}

const struct ct_verb ct_verb_timeline = {
	.name = "timeline",
	.operands = "FILE...",
	.summary = "What each thread did when, and the moments that differ from the rest",
	.details =
		"FILEs are profiles of one run, of several modes or processes, with a time index. "
		"A row is a thread,\na column a part of the run, and a block's height the share "
		"of it. Below stand when memory jumped,\nthe moments at which a function takes "
		"more than in the rest of the run, by more than chance\nexplains, and the "
		"functions that return periodically, each with the command that shows it.\n",
	.tables = tables,
	.wanted = "a profile is needed",
	.least = 1,
	.run = verb_timeline,
};
