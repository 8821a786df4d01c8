/* SPDX-License-Identifier: BSD-3-Clause */
/* The modes of a followed process; see push.h. */
#include "push/push.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "verbs/verbs.h"

/* Seconds after the last window in which a mode that was turned on for us ends by itself. */
#define GRACE_SECONDS 60.0

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

void ct_push_modes_push(struct ct_push_modes *all, struct ct_profile *p, const char *mode,
			const char *labels)
{
	struct ct_push_item *items[CT_PUSH_SERIES_MAX];
	size_t n;

	ct_push_symbols_apply(all->symbols, p);
	n = ct_push_series_items(p, mode, labels, &all->how->series, items);
	for (size_t i = 0; i < n; i++)
		ct_push_queue_add(all->how->queue, items[i]);
}

void ct_push_modes_say(const struct ct_push_modes *all, char *text)
{
	if (all->how->verbose)
		fprintf(stderr, "cprof push: %s\n", text);
	free(text);
}

void ct_push_modes_close(struct ct_push_mode *m)
{
	ct_window_close(m->window);
	m->window = NULL;
	free(m->path);
	m->path = NULL;
}

static char *mode_path(const struct cp_control_message *status, int mode)
{
	char *name = ct_memory_printf("%s.path", ct_control_modes[mode].name);
	char *path = ct_control_value(status, name);

	free(name);
	return path;
}

/* A heap's peak would count each byte twice. */
static bool is_pushed(const struct ct_companion *c)
{
	return c->name && !c->repeats;
}

static int open_mode(struct ct_push_modes *all, struct ct_push_process *p, int mode,
		     const struct cp_control_message *status, bool from_start, char **why)
{
	struct ct_push_mode *m = &p->modes[mode];
	const char *value = ct_mode_options[mode].value;
	const struct ct_window_how how = { .mode = ct_control_modes[mode].name,
					   .setting = value,
					   .lease = all->how->every * 2 + GRACE_SECONDS,
					   .from_start = from_start };

	if (ct_window_open(&m->window, p->pid, &how, why)) {
		m->window = NULL;
		return -1;
	}
	m->since = ct_control_mode_number(status, ct_control_modes[mode].name, "since");
	m->path = all->how->takes_files ? mode_path(status, mode) : NULL;
	m->any = m->ending = false;
	m->until_ns = from_start && m->since ? (int64_t)m->since * INT64_C(1000000000) : now_ns();
	return 0;
}

static bool is_chosen(const struct cp_control_message *status, int mode, bool start)
{
	bool on[CT_MODES], any = false;

	if (ct_mode_options_count())
		return ct_mode_options[mode].value != NULL;
	for (int m = 0; m < CT_MODES; m++) {
		on[m] = ct_control_mode_number(status, ct_control_modes[m].name, "since");
		any |= on[m];
	}
	return any ? on[mode] : start && mode == CT_CPU;
}

unsigned ct_push_modes_open(struct ct_push_modes *all, struct ct_push_process *p,
			    const struct cp_control_message *status, bool from_start, bool start,
			    char **why)
{
	unsigned count = 0;

	for (int m = 0; m < CT_MODES; m++) {
		if (!p->modes[m].window && is_chosen(status, m, start)) {
			free(*why);
			*why = NULL;
			open_mode(all, p, m, status, from_start, why);
		}
		count += p->modes[m].window != NULL;
	}
	return count;
}

static void take_companions(struct ct_push_modes *all, struct ct_push_process *p, int mode,
			    struct ct_window_taken *t)
{
	for (int i = 0; i < CT_COMPANIONS; i++) {
		const struct ct_companion *c = &ct_control_modes[mode].companions[i];
		struct ct_profile *taken = t->companions[i];

		if (!taken || !is_pushed(c))
			continue;
		taken->time_nanos = t->profile->time_nanos;
		taken->duration_nanos = t->profile->duration_nanos;
		ct_push_modes_push(all, taken, c->name, p->labels);
	}
}

/* Pushes T, which was just taken, and releases it. */
static void push_taken(struct ct_push_modes *all, struct ct_push_process *p, int mode,
		       struct ct_window_taken *t)
{
	struct ct_push_mode *m = &p->modes[mode];
	int64_t until = now_ns();

	/* The first window of a run begins with it. */
	if (!m->any && m->since && t->profile->duration_nanos)
		m->until_ns = until - t->profile->duration_nanos;
	m->any = true;
	m->ending = t->ending;
	t->profile->time_nanos = m->until_ns;
	t->profile->duration_nanos = until - m->until_ns;
	ct_push_modes_push(all, t->profile, ct_control_modes[mode].name, p->labels);
	take_companions(all, p, mode, t);
	ct_window_taken_release(t);
	m->until_ns = until;
}

bool ct_push_modes_take(struct ct_push_modes *all, struct ct_push_process *p, int mode)
{
	struct ct_window_taken t;
	char *why = NULL;
	enum ct_window_result r = ct_window_take(p->modes[mode].window, &t, &why);

	if (r == CT_WINDOW_OK) {
		push_taken(all, p, mode, &t);
	} else if (r != CT_WINDOW_ENDED) {
		ct_push_modes_say(all, ct_memory_strdup(why ? why : "no window"));
	}
	p->gone |= r == CT_WINDOW_ENDED;
	free(why);
	return r != CT_WINDOW_STOPPED;
}

/* ---- the end ---- */

/* Removes the files of modes that were followed; the windows have all that is in them. */
static void remove_files(const struct ct_push_mode *m, int mode)
{
	unlink(m->path);
	for (int i = 0; i < CT_COMPANIONS; i++) {
		const struct ct_companion *c = &ct_control_modes[mode].companions[i];
		char *beside = c->name ? ct_mode_options_infix(m->path, c->infix) : NULL;

		if (beside)
			unlink(beside);
		free(beside);
	}
}

static void say_lost(const struct ct_push_modes *all, const struct ct_push_process *p, int mode)
{
	const struct ct_push_mode *m = &p->modes[mode];
	const struct ct_control_mode *c = &ct_control_modes[mode];

	ct_push_modes_say(
		all, ct_memory_printf(
			     "the last %.1f s of %s of process %s (%s) are lost: the process was "
			     "killed, or could not send them",
			     (double)(now_ns() - m->until_ns) / 1e9, c->name,
			     ct_control_name(p->pid), p->program));
}

void ct_push_modes_end(struct ct_push_modes *all, struct ct_push_process *p, int mode)
{
	struct ct_push_mode *m = &p->modes[mode];
	struct ct_window_taken t;

	if (!m->window)
		return;
	if (ct_window_take_sent(m->window, &t))
		push_taken(all, p, mode, &t);
	if (!m->ending) {
		all->lost++;
		say_lost(all, p, mode);
	}
	if (m->path)
		remove_files(m, mode);
	ct_push_modes_close(m);
}
