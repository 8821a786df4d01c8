/* SPDX-License-Identifier: BSD-3-Clause */
/* cprof threads: where every thread of a process is now, equal stacks together. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dwarf/dwarf.h"
#include "verbs/verbs.h"

static struct {
	bool json;
	struct ct_list roots;
} my;

static const struct ct_option options[] = {
	CT_FLAG("json", &my.json, "as JSON"),
	CT_LIST("debug-dir", "DIR", &my.roots, "look for debug files in DIR, too"), CT_END
};
static const struct ct_option *const tables[] = { options, ct_short_name_options, NULL };

static void json_frame(const struct ct_profile *p, const struct ct_location *l,
		       const struct ct_line *line, void *arg)
{
	const struct ct_function *f =
		line && line->function != CT_NONE ? &p->functions[line->function] : NULL;
	struct ct_json *j = arg;

	ct_json_open(j, NULL, '{');
	ct_json_hex(j, "address", l->address);
	if (l->mapping != CT_NONE)
		ct_json_text(j, "module", ct_text(p, p->mappings[l->mapping].file));
	if (f) {
		ct_json_text(j, "function", ct_text(p, f->name));
		ct_json_text(j, "file", ct_text(p, f->filename));
		ct_json_integer(j, "line", line->line);
	}
	ct_json_close(j, '}');
}

static void json_texts(struct ct_json *j, const struct ct_thread_wait *t)
{
	const struct {
		const char *key, *text;
	} texts[] = {
		{ "wait", t->cause }, { "lock", t->lock },     { "lock_kind", t->lock_kind },
		{ "kind", t->kind },  { "target", t->target }, { "child_name", t->child_name }
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (*texts[i].text)
			ct_json_text(j, texts[i].key, texts[i].text);
}

static void json_thread(const struct ct_thread_wait *t, struct ct_json *j)
{
	const struct {
		const char *key;
		int64_t number;
	} numbers[] = { { "holder", t->holder },	   { "readers", t->readers },
			{ "joined", t->joined },	   { "fd", t->fd },
			{ "descriptors", t->descriptors }, { "child", t->child },
			{ "deadlock", t->deadlock } };

	ct_json_open(j, NULL, '{');
	ct_json_integer(j, "tid", t->tid);
	ct_json_text(j, "name", t->name);
	json_texts(j, t);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (numbers[i].number >= 0)
			ct_json_integer(j, numbers[i].key, numbers[i].number);
	ct_json_close(j, '}');
}

static void json_in_deadlock(const struct ct_threads *all, const struct ct_thread_wait *t,
			     void *arg)
{
	(void)all;
	ct_json_integer(arg, NULL, t->tid);
}

/* Each is the ids of its threads; each thread waits for the next, the last for the first. */
static void json_deadlocks(const struct ct_threads *all, struct ct_json *j)
{
	ct_json_open(j, "deadlocks", '[');
	for (int64_t n = 1; ct_threads_text_deadlock(all, n, NULL, NULL); n++) {
		ct_json_open(j, NULL, '[');
		ct_threads_text_deadlock(all, n, json_in_deadlock, j);
		ct_json_close(j, ']');
	}
	ct_json_close(j, ']');
}

static void json_group(const struct ct_threads *all, const struct ct_thread_group *g,
		       struct ct_json *j)
{
	const struct ct_thread_wait *t = &all->threads[g->first];

	ct_json_open(j, NULL, '{');
	ct_json_integer(j, "count", (int64_t)g->count);
	ct_json_text(j, "state", t->state);
	if (ct_threads_text_has_stack(t) && t->call >= 0)
		ct_json_text(j, "syscall", ct_thread_wait_call(t->call));
	ct_json_open(j, "threads", '[');
	for (size_t i = 0; i < g->count; i++)
		json_thread(&all->threads[g->first + i], j);
	ct_json_close(j, ']');
	ct_json_open(j, "stack", '[');
	ct_threads_text_frames(all->p, t, json_frame, j);
	ct_json_close(j, ']');
	ct_json_close(j, '}');
}

static void json_all(const struct ct_threads *all, int pid)
{
	struct ct_json j;

	ct_out_begin();
	j = ct_json_to(stdout);
	ct_json_open(&j, NULL, '{');
	ct_json_integer(&j, "pid", ct_control_pid(pid));
	ct_json_integer(&j, "threads", (int64_t)all->count);
	json_deadlocks(all, &j);
	ct_json_open(&j, "groups", '[');
	for (size_t i = 0; i < all->group_count; i++)
		json_group(all, &all->groups[i], &j);
	ct_json_close(&j, ']');
	ct_json_close(&j, '}');
}

/* Notes the name by which the program was started, as its files do. */
static void note_program(struct ct_profile *p, int pid)
{
	const char *file = p->mapping_count ? ct_base_name(ct_text(p, p->mappings[0].file)) : "";
	struct cp_control_message status;
	char *why = ct_control_status(pid, &status),
	     *name = why ? NULL : ct_control_value(&status, "program"), *text;

	text = ct_memory_printf("program: %s, started as %s", file, name ? name : file);
	ct_notes_add(p, text);
	free(text);
	free(name);
	free(why);
}

static void name_functions(struct ct_profile *p, int pid)
{
	const char **roots = ct_verb_symbolize_roots(&my.roots);
	struct ct_symbolized done;

	ct_symbolize_profile(p, roots, &done);
	free(roots);
	ct_dwarf_module_file_addresses(p);
	note_program(p, pid);
	ct_own_name_places(p);
	p->comment_count--; /* the note; others are for the reader */
}

static void print_all(const struct ct_threads *all, int pid)
{
	/* Must come before the pager begins, because a pager has no width. */
	size_t columns = ct_short_name_columns();

	ct_out_begin();
	ct_threads_text_print(all, pid, columns, stdout);
}

static int show_threads(int pid)
{
	struct ct_threads all;
	char *why;
	struct ct_profile *p = ct_control_profile_threads(pid, &why);

	if (!p) {
		fprintf(stderr, "cprof threads: %s\n", why);
		free(why);
		return CT_FAILED;
	}
	name_functions(p, pid);
	ct_threads_text_group(&all, p);
	if (my.json)
		json_all(&all, pid);
	else
		print_all(&all, pid);
	ct_threads_text_release(&all);
	return ct_out_end();
}

static int verb_threads(int argc, char **argv)
{
	int pid = ct_control_process(*argv);

	(void)argc;
	return pid ? show_threads(pid)
		   : ct_options_wrong(&ct_verb_threads, CT_CONTROL_NO_PROCESS, *argv);
}

const struct ct_verb ct_verb_threads = {
	.name = "threads",
	.operands = "PID|PATH",
	.summary = "Show where every thread of a running process is now",
	.details =
		"Equal stacks together, the most frequent first, and what they wait for: the "
		"lock and\n"
		"who holds it, the descriptor, the child, the thread. Deadlocks come first. No "
		"thread is\n"
		"stopped or signalled, because a signal may end a poll or a sleep early: one that "
		"runs has\n"
		"no stack, \"cprof record PID\" shows where it runs. The process needs no mode "
		"that is on.\n",
	.tables = tables,
	.wanted = "give one process id; \"cprof ps\" lists them",
	.least = 1,
	.most = 1,
	.run = verb_threads,
};
