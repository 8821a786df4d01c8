/* SPDX-License-Identifier: BSD-3-Clause */
/* Follows processes; see push_follow.h. */
#include "push/push_follow.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "control/control.h"
#include "control/window.h"
#include "core/combine.h"
#include "core/memory.h"
#include "core/read.h"
#include "push/push_ended.h"
#include "push/push_rest.h"
#include "push/push_symbols.h"
#include "verbs/mode_options.h"

/* A mode that was turned on for us ends by itself so long after the last window. */
#define GRACE_SECONDS 60.0

struct followed_mode {
	struct ct_window *window; /* NULL: not followed */
	char *path;		  /* the file that the process writes at its end, or NULL */
	unsigned long long since; /* UTC seconds: the run of the mode */
	int64_t until_ns;	  /* end of the last window, as it is pushed */
	int64_t end_ns;		  /* the same as the process has it: some time before */
	bool any;		  /* a window was taken */
	bool ending;		  /* the last one came when the process had written its files */
	struct ct_push_rest rest, companion_rests[CT_COMPANIONS];
};

struct followed {
	int pid;     /* or a number below 0: a path (control.h) */
	int process; /* a pidfd; -1: it is out of sight */
	char *program, *labels;
	struct ct_push_ended files; /* how the process's files are reached when it is gone */
	struct followed_mode modes[CT_MODES];
	bool gone;
};

struct ct_push_follow {
	const struct ct_push_follow_how *how;
	struct ct_push_symbols *symbols;
	struct followed *items;
	size_t count, room, lost;
	struct pollfd *polled;
	size_t polled_room;
};

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

struct ct_push_follow *ct_push_follow_new(const struct ct_push_follow_how *how)
{
	struct ct_push_follow *f = ct_memory_alloc(sizeof(*f));

	f->how = how;
	f->symbols = ct_push_symbols_new(how->roots);
	return f;
}

/* ---- profiles ---- */

static void push(struct ct_push_follow *f, struct ct_profile *p, const char *mode,
		 const char *labels)
{
	struct ct_push_item *items[CT_PUSH_SERIES_MAX];
	size_t n;

	ct_push_symbols_apply(f->symbols, p);
	n = ct_push_series_items(p, mode, labels, &f->how->series, items);
	for (size_t i = 0; i < n; i++)
		ct_push_queue_add(f->how->queue, items[i]);
}

static void verbose(const struct ct_push_follow *f, char *text)
{
	if (f->how->verbose)
		fprintf(stderr, "cprof push: %s\n", text);
	free(text);
}

/* ---- modes ---- */

static void close_mode(struct followed_mode *m)
{
	ct_window_close(m->window);
	m->window = NULL;
	free(m->path);
	m->path = NULL;
	ct_push_rest_release(&m->rest);
	for (int i = 0; i < CT_COMPANIONS; i++)
		ct_push_rest_release(&m->companion_rests[i]);
}

static unsigned long long mode_number(const struct cp_control_message *status, int mode,
				      const char *key)
{
	char *name = ct_memory_printf("%s.%s", ct_control_modes[mode].name, key);
	unsigned long long n = ct_control_number(status, name);

	free(name);
	return n;
}

static char *mode_path(const struct cp_control_message *status, int mode)
{
	char *name = ct_memory_printf("%s.path", ct_control_modes[mode].name);
	char *path = ct_control_value(status, name);

	free(name);
	return path;
}

/* All that the mode has seen before it is followed must not be pushed at the end. */
static void note_before(struct ct_push_rest *rest, int pid, const char *mode)
{
	struct ct_profile *p = ct_push_ended_ask(pid, mode);

	if (p)
		ct_push_rest_add(rest, p);
	ct_model_free(p);
}

/* A heap's peak is one of all its time, and would count each byte twice. */
static bool is_pushed(const struct ct_companion *c)
{
	return c->name && !c->since_the_start;
}

static void note_all_before(struct followed_mode *m, int pid, int mode)
{
	const struct ct_control_mode *c = &ct_control_modes[mode];

	note_before(&m->rest, pid, c->name);
	for (int i = 0; i < CT_COMPANIONS; i++)
		if (is_pushed(&c->companions[i]))
			note_before(&m->companion_rests[i], pid, c->companions[i].name);
}

static int open_mode(struct ct_push_follow *f, struct followed *p, int mode,
		     const struct cp_control_message *status, bool from_start, char **why)
{
	struct followed_mode *m = &p->modes[mode];
	const char *value = ct_mode_options[mode].value;
	const struct ct_window_how how = { .mode = ct_control_modes[mode].name,
					   .setting = value,
					   .lease = f->how->every * 2 + GRACE_SECONDS,
					   .from_start = from_start };

	if (ct_window_open(&m->window, p->pid, &how, why)) {
		m->window = NULL;
		return -1;
	}
	m->since = mode_number(status, mode, "since");
	/* The file of a process out of sight is out of sight, too. */
	m->path = p->process >= 0 ? mode_path(status, mode) : NULL;
	m->any = m->ending = false;
	m->rest = (struct ct_push_rest){ .how = &f->how->series };
	for (int i = 0; i < CT_COMPANIONS; i++)
		m->companion_rests[i] = m->rest;
	m->until_ns = from_start && m->since ? (int64_t)m->since * INT64_C(1000000000) : now_ns();
	if (!from_start && m->since && m->path)
		note_all_before(m, p->pid, mode);
	return 0;
}

static bool is_chosen(const struct cp_control_message *status, int mode, bool start)
{
	bool any = false;

	if (ct_mode_options_count())
		return ct_mode_options[mode].value != NULL;
	for (int m = 0; m < CT_MODES; m++)
		any |= mode_number(status, m, "since") != 0;
	return any ? mode_number(status, mode, "since") != 0 : start && mode == CT_CPU;
}

/* Opens the modes that are to be followed and aren't yet. Returns how many are followed; *WHY is
 * the reason of one that isn't. */
static unsigned open_modes(struct ct_push_follow *f, struct followed *p,
			   const struct cp_control_message *status, bool from_start, bool start,
			   char **why)
{
	unsigned count = 0;

	for (int m = 0; m < CT_MODES; m++) {
		if (!p->modes[m].window && is_chosen(status, m, start)) {
			free(*why);
			*why = NULL;
			open_mode(f, p, m, status, from_start, why);
		}
		count += p->modes[m].window != NULL;
	}
	return count;
}

static void take_companions(struct ct_push_follow *f, struct followed *p, int mode,
			    struct ct_window_taken *t)
{
	struct followed_mode *m = &p->modes[mode];

	for (int i = 0; i < CT_COMPANIONS; i++) {
		const struct ct_companion *c = &ct_control_modes[mode].companions[i];
		struct ct_profile *taken = t->companions[i];

		if (!taken || !is_pushed(c))
			continue;
		if (m->path)
			ct_push_rest_add(&m->companion_rests[i], taken);
		taken->time_nanos = t->profile->time_nanos;
		taken->duration_nanos = t->profile->duration_nanos;
		push(f, taken, c->name, p->labels);
	}
}

/* Pushes T, which was just taken, and releases it. */
static void push_taken(struct ct_push_follow *f, struct followed *p, int mode,
		       struct ct_window_taken *t)
{
	struct followed_mode *m = &p->modes[mode];
	int64_t until = now_ns();

	m->end_ns = t->profile->time_nanos + t->profile->duration_nanos;
	if (m->path)
		ct_push_rest_add(&m->rest, t->profile);
	/* The first window of a run begins with it. */
	if (!m->any && m->since && t->profile->duration_nanos)
		m->until_ns = until - t->profile->duration_nanos;
	m->any = true;
	m->ending = t->ending;
	t->profile->time_nanos = m->until_ns;
	t->profile->duration_nanos = until - m->until_ns;
	push(f, t->profile, ct_control_modes[mode].name, p->labels);
	take_companions(f, p, mode, t);
	ct_window_taken_release(t);
	m->until_ns = until;
}

/* Takes a window of mode M. Returns false if the mode has ended. */
static bool take_mode(struct ct_push_follow *f, struct followed *p, int mode)
{
	struct ct_window_taken t;
	char *why = NULL;
	enum ct_window_result r = ct_window_take(p->modes[mode].window, &t, &why);

	if (r == CT_WINDOW_OK) {
		push_taken(f, p, mode, &t);
	} else if (r != CT_WINDOW_ENDED) {
		verbose(f, ct_memory_strdup(why ? why : "no window"));
	}
	p->gone |= r == CT_WINDOW_ENDED;
	free(why);
	return r != CT_WINDOW_STOPPED;
}

/* ---- the end of a process, or of a run ---- */

static bool push_rest(struct ct_push_follow *f, struct followed *p, struct followed_mode *m,
		      const char *mode, const char *path, const struct ct_push_rest *rest)
{
	struct ct_profile *file = ct_push_ended_read(&p->files, path), *left = NULL;
	bool is_it = file && (!m->since || !file->duration_nanos ||
			      file->time_nanos / INT64_C(1000000000) == (int64_t)m->since);
	int64_t end = file ? file->time_nanos + file->duration_nanos : 0;
	/* Written after the last window? If it was killed, there is an older checkpoint only. */
	bool is_new = is_it && end > (m->any ? m->end_ns : m->until_ns);

	if (is_new)
		left = ct_push_rest_of(rest, file);
	if (left) {
		if (!m->any && file->duration_nanos && !rest->taken)
			m->until_ns = file->time_nanos;
		/* It ended while the answer to the last request was on its way. */
		if (end <= m->until_ns)
			m->until_ns = m->end_ns;
		left->time_nanos = m->until_ns;
		left->duration_nanos = end - m->until_ns;
		push(f, left, mode, p->labels);
	}
	ct_model_free(left);
	ct_model_free(file);
	if (f->how->takes_files)
		unlink(path);
	return is_new;
}

static void push_companion_rests(struct ct_push_follow *f, struct followed *p, int mode)
{
	struct followed_mode *m = &p->modes[mode];

	for (int i = 0; i < CT_COMPANIONS; i++) {
		const struct ct_companion *c = &ct_control_modes[mode].companions[i];
		char *beside;

		if (!is_pushed(c))
			continue;
		beside = ct_mode_options_infix(m->path, c->infix);
		push_rest(f, p, m, c->name, beside, &m->companion_rests[i]);
		free(beside);
	}
}

static void say_lost(const struct ct_push_follow *f, const struct followed *p, int mode)
{
	const struct followed_mode *m = &p->modes[mode];
	const struct ct_control_mode *c = &ct_control_modes[mode];

	verbose(f, ct_memory_printf(
			   "the last %.1f s of %s of process %s (%s) are lost: the process was "
			   "killed, %s%s",
			   (double)(now_ns() - m->until_ns) / 1e9, c->name, ct_control_name(p->pid),
			   p->program, m->path ? "and did not write " : "or could not send them",
			   m->path ? m->path : ""));
}

/* What mode M did after its last window is in its file, or the process has sent it. */
static void end_mode(struct ct_push_follow *f, struct followed *p, int mode)
{
	struct followed_mode *m = &p->modes[mode];
	struct ct_window_taken t;

	if (!m->window)
		return;
	if (ct_window_take_sent(m->window, &t))
		push_taken(f, p, mode, &t);
	if (m->path && push_rest(f, p, m, ct_control_modes[mode].name, m->path, &m->rest)) {
		push_companion_rests(f, p, mode);
	} else if (!m->ending) {
		f->lost++;
		say_lost(f, p, mode);
	}
	close_mode(m);
}

static void forget(struct ct_push_follow *f, size_t i)
{
	struct followed *p = &f->items[i];

	for (int m = 0; m < CT_MODES; m++)
		close_mode(&p->modes[m]);
	ct_push_ended_close(&p->files);
	if (p->process >= 0)
		close(p->process);
	free(p->program);
	free(p->labels);
	f->items[i] = f->items[--f->count];
}

static void end_process(struct ct_push_follow *f, size_t i)
{
	struct followed *p = &f->items[i];

	for (int m = 0; m < CT_MODES; m++) {
		/* A mode without a file has sent its last window. */
		if (p->modes[m].window && !p->modes[m].path)
			take_mode(f, p, m);
		end_mode(f, p, m);
	}
	forget(f, i);
}

/* ---- processes ---- */

static bool is_followed(const struct ct_push_follow *f, int pid)
{
	for (size_t i = 0; i < f->count; i++)
		if (f->items[i].pid == pid)
			return true;
	return false;
}

/* A process out of sight is called as it calls itself: its environment isn't known, and cprof's
 * own, of which the other labels are, may name another service. */
static char *labels_of(const struct ct_push_follow *f, const struct followed *p,
		       const struct cp_control_message *status)
{
	struct ct_push_labels_how how = f->how->labels;
	int pid = ct_control_pid(p->pid);

	if (pid)
		return ct_push_labels_of(pid, p->program, 0, &how);
	if (!how.name)
		how.name = p->program;
	return ct_push_labels_of(getpid(), p->program, (int)ct_control_number(status, "pid"), &how);
}

static void name_process(struct ct_push_follow *f, struct followed *p,
			 const struct cp_control_message *status)
{
	free(p->program);
	free(p->labels);
	p->program = ct_control_value(status, "program");
	if (!p->program)
		p->program = ct_memory_strdup("unknown");
	p->labels = labels_of(f, p, status);
}

static int add(struct ct_push_follow *f, int pid, const struct cp_control_message *status,
	       bool from_start, bool start, char **why)
{
	int seen = ct_control_pid(pid);
	struct followed p = { .pid = pid,
			      .process = seen ? (int)syscall(SYS_pidfd_open, seen, 0) : -1 };

	*why = NULL;
	if (seen && p.process < 0) {
		*why = ct_memory_printf("process %s: %s", ct_control_name(pid),
					errno == ESRCH ? "it has ended" : strerror(errno));
		return -1;
	}
	ct_push_ended_open(&p.files, seen);
	name_process(f, &p, status);
	*CT_PUSH(f->items, f->count, f->room) = p;
	if (open_modes(f, &f->items[f->count - 1], status, from_start, start, why)) {
		free(*why);
		*why = NULL;
		verbose(f, ct_memory_printf("process %s (%s) is followed", ct_control_name(pid),
					    p.program));
		return 0;
	}
	if (!*why)
		*why = ct_memory_printf("process %s: no mode is on; -cpu turns one on",
					ct_control_name(pid));
	forget(f, f->count - 1);
	return -1;
}

int ct_push_follow_add(struct ct_push_follow *f, int pid, bool from_start, bool start, char **why)
{
	struct cp_control_message status;

	if (is_followed(f, pid))
		return 0;
	ct_control_request(&status, CP_CONTROL_STATUS);
	*why = ct_control_ask(pid, &status, -1);
	return *why ? -1 : add(f, pid, &status, from_start, start, why);
}

struct all {
	struct ct_push_follow *f;
	bool from_start;
	bool (*is_wanted)(const struct cp_control_message *status, void *arg);
	void *arg;
};

static void see(const struct ct_controlled *c, const struct cp_control_message *status, void *arg)
{
	const struct all *a = arg;
	char *why;

	if (c->pid <= 0 || is_followed(a->f, c->pid) ||
	    (a->is_wanted && !a->is_wanted(status, a->arg)))
		return;
	/* A process without a mode is no error: it may get one later. */
	add(a->f, c->pid, status, a->from_start, false, &why);
	free(why);
}

void ct_push_follow_all(struct ct_push_follow *f, bool from_start,
			bool (*is_wanted)(const struct cp_control_message *status, void *arg),
			void *arg)
{
	struct all a = { f, from_start, is_wanted, arg };

	ct_control_each(see, &a);
}

/* After an exec, or when a mode was turned off and on again, another run has begun. */
static void look_at(struct ct_push_follow *f, struct followed *p, bool *answers)
{
	struct cp_control_message status;
	char *why, *program;

	ct_control_request(&status, CP_CONTROL_STATUS);
	why = ct_control_ask(p->pid, &status, -1);
	*answers = !why;
	if (why) {
		free(why); /* the windows tell it, too */
		return;
	}
	/* The mode isn't asked for a window: what the new run did comes with that run's first
	 * one. */
	for (int m = 0; m < CT_MODES; m++)
		if (p->modes[m].window && p->modes[m].since &&
		    mode_number(&status, m, "since") != p->modes[m].since)
			end_mode(f, p, m);
	program = ct_control_value(&status, "program");
	if (program && strcmp(program, p->program))
		name_process(f, p, &status);
	free(program);
	why = NULL;
	open_modes(f, p, &status, true, false, &why);
	free(why);
}

void ct_push_follow_take(struct ct_push_follow *f)
{
	for (size_t i = f->count; i > 0; i--) {
		struct followed *p = &f->items[i - 1];
		bool answers;

		look_at(f, p, &answers);
		/* Of a process that is out of sight nothing else tells the end. It may be stopped:
		 * a later window has what this one would have had. */
		if (p->process < 0 && !answers)
			p->gone = ct_control_path_is_left(p->pid);
		for (int m = 0; m < CT_MODES && !p->gone && (answers || p->process >= 0); m++)
			if (p->modes[m].window && !take_mode(f, p, m))
				end_mode(f, p, m);
		if (p->gone)
			end_process(f, i - 1);
	}
}

static void turn_away(const struct followed *p)
{
	for (int m = 0; m < CT_MODES; m++)
		if (p->modes[m].window)
			ct_window_turn_away(p->modes[m].window);
}

bool ct_push_follow_wait(struct ct_push_follow *f, int fd, double seconds)
{
	size_t n = f->count;

	if (n + 1 > f->polled_room)
		f->polled = ct_memory_grow(f->polled, &f->polled_room, n + 1, sizeof(*f->polled));
	for (size_t i = 0; i < n; i++)
		f->polled[i] = (struct pollfd){ .fd = f->items[i].process, .events = POLLIN };
	for (size_t i = 0; i < n; i++)
		turn_away(&f->items[i]);
	f->polled[n] = (struct pollfd){ .fd = fd, .events = POLLIN };
	if (poll(f->polled, n + 1, seconds > 0 ? (int)(seconds * 1000) + 1 : 0) <= 0)
		return false;
	for (size_t i = n; i > 0; i--)
		if (f->polled[i - 1].revents)
			end_process(f, i - 1);
	return f->polled[n].revents != 0;
}

size_t ct_push_follow_count(const struct ct_push_follow *f)
{
	return f->count;
}

size_t ct_push_follow_lost(const struct ct_push_follow *f)
{
	return f->lost;
}

bool ct_push_follow_file(struct ct_push_follow *f, const char *file)
{
	struct ct_profile *p = ct_push_ended_read(NULL, file);
	char *mode = p ? ct_push_ended_mode(p) : NULL, *program, *labels;
	bool any = mode && p->sample_count && strcmp(mode, "peak");

	if (any) {
		program = ct_push_ended_program(p);
		labels =
			ct_push_labels_of(getpid(), program, ct_push_ended_pid(p), &f->how->labels);
		push(f, p, mode, labels);
		free(labels);
		free(program);
	}
	free(mode);
	ct_model_free(p);
	return any;
}

void ct_push_follow_free(struct ct_push_follow *f)
{
	while (f->count)
		forget(f, f->count - 1);
	ct_push_symbols_free(f->symbols);
	free(f->items);
	free(f->polled);
	free(f);
}
