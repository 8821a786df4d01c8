/* SPDX-License-Identifier: BSD-3-Clause */
/* The screen's life: news come in, keys are obeyed, pictures are drawn. See live.h. */
#include "live/live.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "verbs/verbs.h"

/* ---- what is shown ---- */

struct ct_profile *ct_live_profile(const struct ct_live *l)
{
	return l->profiles[l->mode][l->companion];
}

bool ct_live_matches(const struct ct_live *l, const char *text)
{
	return !*l->filter || strcasestr(text, l->filter) != NULL;
}

/* Drops what refers to the shown profile: the table and the tree have its strings. */
static void forget_profile(struct ct_live *l)
{
	if (l->zoom) {
		l->zoom_path = ct_live_flame_path(l->zoom);
		l->chosen_path = ct_live_flame_path(l->chosen);
	}
	l->zoom = l->chosen = NULL;
	ct_live_table_release(&l->table);
	ct_live_tree_release(&l->tree);
}

void ct_live_rebuild(struct ct_live *l)
{
	struct ct_profile *p = ct_live_profile(l);
	size_t *type = &l->types[l->mode][l->companion];

	forget_profile(l);
	if (p && p->type_count) {
		size_t shown =
			*type && *type <= p->type_count ? *type - 1 : ct_model_default_type(p);

		ct_live_table_make(&l->table, p, shown);
		ct_live_table_sort(&l->table, l->by_total);
		ct_live_tree_make(&l->tree, p, shown);
	}
	l->zoom = ct_live_flame_find(&l->tree, &l->zoom_path);
	l->chosen = ct_live_flame_find(&l->tree, &l->chosen_path);
}

/* ---- threads ---- */

static void release_lines(struct ct_live *l)
{
	for (size_t i = 0; i < l->line_count; i++)
		free(l->lines[i]);
	l->line_count = 0;
}

static void add_lines(struct ct_live *l, const char *text)
{
	for (size_t n; *text; text += n) {
		n = strcspn(text, "\n");
		*CT_PUSH(l->lines, l->line_count, l->line_room) =
			ct_memory_printf("%.*s", (int)n, text);
		n += text[n] == '\n';
	}
}

/* Adds TEXT: a heading, and groups of threads with an empty line before each. */
static void add_groups(struct ct_live *l, const char *text)
{
	bool heading = true;

	for (const char *end; *text; text = end) {
		const char *next = strstr(text + 1, "\n\n");
		char *group;

		end = next ? next + 1 : text + strlen(text);
		group = ct_memory_printf("%.*s", (int)(end - text), text);
		if (heading || ct_live_matches(l, group))
			add_lines(l, group);
		heading = false;
		free(group);
	}
}

void ct_live_rebuild_lines(struct ct_live *l)
{
	struct ct_threads all;
	char *text = NULL;
	size_t size;
	FILE *to;

	release_lines(l);
	if (!l->threads)
		return;
	to = open_memstream(&text, &size);
	if (!to)
		return;
	ct_threads_text_group(&all, l->threads);
	ct_threads_text_print(&all, l->pid, (size_t)ct_live_screen_columns(), to);
	all.p = NULL; /* the caller keeps it */
	ct_threads_text_release(&all);
	fclose(to);
	add_groups(l, text);
	free(text);
}

/* ---- news ---- */

static void take_status(struct ct_live *l, const struct cp_control_message *status)
{
	unsigned long long cpu = ct_control_number(status, "cpu_ns");
	double time = ct_now();

	if (l->has_status && time > l->status_time && cpu >= l->cpu_ns)
		l->cpu = (double)(cpu - l->cpu_ns) / 1e9 / (time - l->status_time);
	l->status = *status;
	l->status_time = time;
	l->cpu_ns = cpu;
	l->has_status = true;
}

static void replace_profile(struct ct_profile **to, struct ct_profile **from)
{
	ct_model_free(*to);
	*to = *from;
	*from = NULL;
}

/* Does the screen keep its contents although there is something newer? */
static bool keeps(const struct ct_live *l, int mode)
{
	return l->paused && l->profiles[mode][0];
}

static void take_profiles(struct ct_live *l, struct ct_live_news *n)
{
	for (int m = 0; m < CT_MODES; m++) {
		if (n->profiles[m] && !keeps(l, m)) {
			if (m == l->mode)
				forget_profile(l);
			replace_profile(&l->profiles[m][0], &n->profiles[m]);
			for (int i = 0; i < CT_COMPANIONS; i++)
				replace_profile(&l->profiles[m][1 + i], &n->companions[m][i]);
			if (m == l->mode)
				ct_live_rebuild(l);
		}
		ct_model_free(n->profiles[m]);
		for (int i = 0; i < CT_COMPANIONS; i++)
			ct_model_free(n->companions[m][i]);
	}
}

static void take_news(struct ct_live *l)
{
	struct ct_live_news n;
	bool fresh = false;

	if (!ct_live_watch_news(l->watch, &n))
		return;
	for (int m = 0; m < CT_MODES; m++)
		fresh |= n.profiles[m] != NULL;
	take_profiles(l, &n);
	if (n.threads && !(l->paused && l->threads)) {
		replace_profile(&l->threads, &n.threads);
		ct_live_rebuild_lines(l);
	}
	ct_model_free(n.threads);
	if (n.has_status)
		take_status(l, &n.status);
	memcpy(l->watched, n.watched, sizeof(l->watched));
	memcpy(l->started, n.started, sizeof(l->started));
	l->ended |= n.ended;
	/* A message stays until the next window. */
	if (n.said || fresh) {
		free(l->said);
		l->said = n.said;
	}
}

/* ---- the life ---- */

static bool obey(struct ct_live *l)
{
	for (int key; (key = ct_live_screen_key()) >= 0;)
		if (!ct_live_keys(l, key))
			return false;
	return true;
}

static void live_loop(struct ct_live *l, int process)
{
	for (;;) {
		struct pollfd p = { .fd = process, .events = POLLIN };

		ct_live_draw(l);
		switch (ct_live_screen_wait(ct_live_watch_fd(l->watch), l->ended ? -1 : process)) {
		case CT_EVENT_END: return;
		case CT_EVENT_REDRAW: ct_live_rebuild_lines(l); break;
		case CT_EVENT_NEWS: take_news(l); break;
		case CT_EVENT_KEYS: break;
		}
		if (!obey(l))
			return;
		if (!l->ended && process >= 0 && poll(&p, 1, 0) == 1) {
			l->ended = true;
			ct_live_watch_gone(l->watch);
		}
	}
}

static void release_live(struct ct_live *l)
{
	forget_profile(l);
	ct_live_flame_drop(&l->zoom_path);
	ct_live_flame_drop(&l->chosen_path);
	for (int m = 0; m < CT_MODES; m++) {
		ct_model_free(l->profiles[m][0]);
		ct_model_free(l->profiles[m][1]);
	}
	ct_model_free(l->threads);
	release_lines(l);
	free(l->lines);
	free(l->said);
	free(l->program);
}

/* Turns off what was turned on, and ends this program as a signal asked for. */
static int leave_live(struct ct_live *l)
{
	bool mine = false;

	for (int m = 0; m < CT_MODES; m++)
		mine |= l->started[m];
	ct_live_screen_close();
	if (!ct_live_watch_end(l->watch)) {
		fprintf(stderr, "cprof live: process %d does not answer%s\n", l->pid,
			mine ? "; the modes that were turned on end by themselves within a minute "
			       "and "
			       "a half"
			     : "");
		_exit(CT_FAILED);
	}
	release_live(l);
	ct_live_screen_obey_signal();
	return CT_OK;
}

/* Returns false after a message if the process can't be watched. */
static bool ask_first(struct ct_live *l)
{
	struct cp_control_message m;
	char *why = ct_control_status(l->pid, &m);

	if (why) {
		fprintf(stderr, "cprof live: %s\n", why);
		free(why);
		return false;
	}
	l->program = ct_control_value(&m, "program");
	take_status(l, &m);
	return true;
}

/* Returns the mode that is already on, else CPU time. */
static int mode_that_is_on(const struct ct_live *l)
{
	for (int m = 0; m < CT_MODES; m++)
		if (ct_control_mode_number(&l->status, ct_control_modes[m].name, "since"))
			return m;
	return CT_CPU;
}

int ct_live(int pid, double every, int first, const bool *modes, const char *const *settings)
{
	struct ct_live l = { .pid = pid, .every = every, .cpu = -1 };
	int process;
	char *why;

	if (!ask_first(&l)) {
		release_live(&l);
		return CT_FAILED;
	}
	why = ct_live_screen_open();
	if (why) {
		fprintf(stderr, "cprof live: %s\n", why);
		free(why);
		release_live(&l);
		return CT_FAILED;
	}
	l.watch = ct_live_watch_new(pid, every, settings);
	if (!l.watch) {
		ct_live_screen_close();
		fputs("cprof live: no thread can be made\n", stderr);
		return CT_FAILED;
	}
	l.mode = first >= 0 ? first : mode_that_is_on(&l);
	for (int m = 0; m < CT_MODES; m++)
		if (modes[m] || m == l.mode)
			ct_live_watch_mode(l.watch, m);
	process = (int)syscall(SYS_pidfd_open, pid, 0);
	live_loop(&l, process);
	if (process >= 0)
		close(process);
	return leave_live(&l);
}

/* ---- the verb: a running process on the screen, as top shows all processes ---- */

static struct {
	const char *every;
} my = { .every = "2s" };

static const struct ct_option options[] = {
	CT_TEXT("every", "DUR", &my.every, "how long a window is (2s); the keys + and - change it"),
	CT_END
};
static const struct ct_option *const tables[] = { ct_mode_options_table, options, ct_own_options,
						  NULL };

static int verb_live(int argc, char **argv)
{
	int mode = -1;
	const char *settings[CT_MODES];
	bool modes[CT_MODES];
	double every;
	char *rest;
	long pid;

	(void)argc;
	pid = strtol(*argv, &rest, 10);
	if (*rest || pid <= 0 || pid > INT32_MAX)
		return ct_options_wrong(&ct_verb_live,
					"\"%s\" is no process id; \"cprof ps\" lists them", *argv);
	every = ct_options_seconds(my.every);
	if (!(every >= CT_LIVE_LEAST_EVERY && every <= CT_LIVE_MOST_EVERY))
		return ct_options_wrong(&ct_verb_live, "-every=%s is not 0.5s to 1m", my.every);
	if (ct_mode_options_check(&ct_verb_live) || ct_own_table_check())
		return CT_FAILED;
	for (int m = CT_MODES - 1; m >= 0; m--) {
		settings[m] = ct_mode_options[m].value;
		modes[m] = settings[m] != NULL;
		mode = modes[m] ? m : mode;
	}
	return ct_live((int)pid, every, mode, modes, settings);
}

const struct ct_verb ct_verb_live = {
	.name = "live",
	.operands = "PID",
	.summary = "Watch a running process on the screen: functions, flame graph, threads",
	.details =
		"Your code and all functions, of the last two seconds. Keys change the mode (c w h "
		"l i e), show\na flame graph (f) or every thread (t), sort, filter and pause; ? "
		"lists them. Without a mode: one\nthat is on, else the CPU time. A mode that is "
		"on goes on; others are on until the end.\n",
	.tables = tables,
	.wanted = "give one process id; \"cprof ps\" lists them",
	.least = 1,
	.most = 1,
	.run = verb_live,
};
