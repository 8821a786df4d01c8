/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows of a running process; see control.h.
 *
 * The process knows this window as a consumer, by a number (base/control.h), and keeps what it
 * needs to write the difference. */
#include "control/control.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A process that is ending and no longer answers is gone after this time. */
#define ENDING_MS 2000

/* Profiles of a window: the mode's, and those of its companions. */
#define PROFILES (1 + CT_COMPANIONS)

struct ct_window {
	int pid;
	int process; /* a pidfd, or -1 */
	const struct ct_control_mode *mode;
	double lease;
	bool started;  /* the mode was turned on for this window */
	bool holds;    /* nothing is taken from the window */
	bool has_file; /* the process writes a file at its end */
	bool empty;    /* empty companions are wanted, too */
	struct ct_last_window
		*last; /* connection on which the process sends its last windows; or NULL */
	struct ct_window_id *id, own;
	/* The profiles that are wanted: the mode's, and those of companions. WHERE: their places in
	 * what is taken, 0 for the mode. */
	const char *names[PROFILES];
	int where[PROFILES], count;
};

/* ---- the process ---- */

static bool window_ended(const struct ct_window *w, int patience)
{
	struct pollfd p = { .fd = w->process, .events = POLLIN };

	return w->process >= 0 && poll(&p, 1, patience) == 1;
}

/* REPLY may contain the reason. */
static char *window_failed(const struct ct_window *w, const struct cp_control_message *reply,
			   int err)
{
	char *own = err == -ERANGE ? ct_control_value(reply, "why") : NULL;
	char *text = ct_memory_printf(
		"process %s: %s: %s", ct_control_name(w->pid), w->mode->name,
		own		 ? own
		: err == -EBUSY	 ? "the program starts or stops a profile itself; try again"
		: err == -ESRCH	 ? "the mode ended meanwhile"
		: err == -EUSERS ? "too many others have windows of it; try again later"
				 : strerror(-err));

	free(own);
	return text;
}

/* Sends request M. Returns 0, the reply's error, or -EIO without a reply; then *WHY is set. */
static int ask_window(const struct ct_window *w, struct cp_control_message *m, int fd, char **why)
{
	*why = ct_control_ask(w->pid, m, fd);
	if (*why)
		return -EIO;
	if (m->result)
		*why = window_failed(w, m, m->result);
	return m->result;
}

/* ---- windows of the mode and of its companions ---- */

static void add_number(struct cp_control_message *m, const char *key, uint64_t value)
{
	char *text = ct_memory_printf("%llu", (unsigned long long)value);

	ct_control_line(m, key, text);
	free(text);
}

static void request(const struct ct_window *w, struct cp_control_message *m, const char *what)
{
	ct_control_request(m, CP_CONTROL_WINDOW);
	add_number(m, "consumer", w->id->consumer);
	ct_control_nanoseconds(m, w->lease);
	if (w->last)
		ct_control_line(m, "last", "1");
	if (what)
		ct_control_line(m, "do", what);
}

static int begin_all(struct ct_window *w, bool from_start, char **why)
{
	struct cp_control_message m;
	int err;

	request(w, &m, from_start ? "all" : "begin");
	ct_control_names(&m, w->names, w->count);
	err = ask_window(w, &m, -1, why);
	if (err == -EINVAL) {
		free(*why);
		*why = ct_control_profile_older(w->pid);
	}
	if (!err)
		w->id->since = ct_control_number(&m, "end");
	return err;
}

static int take_once(struct ct_window *w, struct ct_profile *p[PROFILES], bool *ending, char **why)
{
	struct cp_control_message m;
	uint64_t end;
	int err;

	request(w, &m, NULL);
	add_number(&m, "since", w->id->since);
	err = ct_control_profile_ask_all(w->pid, &m, w->names, w->count, p, why);
	if (err && !*why)
		*why = window_failed(w, &m, err);
	end = err == -EIO ? 0 : ct_control_number(&m, "end");
	if (end)
		w->id->since = end;
	*ending = err != -EIO && ct_control_number(&m, "ending");
	return err;
}

/* A window that goes on begins anew if the process has forgotten it, or has given up the rows at
 * its begin. */
static int take_all(struct ct_window *w, struct ct_profile *p[PROFILES], bool *ending, char **why)
{
	int err = take_once(w, p, ending, why);

	if (err != -ESTALE || w->id == &w->own)
		return err;
	free(*why);
	return take_once(w, p, ending, why);
}

/* ---- open, take, close ---- */

static void free_window(struct ct_window *w)
{
	if (w->process >= 0)
		close(w->process);
	ct_last_window_close(w->last);
	free(w);
}

static bool has_path(const struct ct_window *w, const struct cp_control_message *status)
{
	char *key = ct_memory_printf("%s.path", w->mode->name),
	     *path = ct_control_value(status, key);
	bool has = path != NULL;

	free(path);
	free(key);
	return has;
}

static int turn_on(struct ct_window *w, const struct ct_window_how *how, char **why)
{
	struct cp_control_message m;
	int err;

	ct_control_request(&m, CP_CONTROL_START);
	ct_control_line(&m, w->mode->path, "/dev/null");
	ct_control_line(&m, "nofile", "1");
	if (how->setting && *how->setting)
		ct_control_line(&m, w->mode->setting, how->setting);
	ct_control_nanoseconds(&m, w->lease);
	err = ask_window(w, &m, -1, why);
	w->started = !err;
	w->has_file = err != -EIO && has_path(w, &m);
	if (w->has_file && how->patience > w->lease)
		w->lease = how->patience;
	if (err == -EALREADY) {
		free(*why);
		*why = NULL;
		err = 0;
	}
	return err;
}

static int turn_on_and_begin(struct ct_window *w, const struct ct_window_how *how, char **why)
{
	int err = turn_on(w, how, why);

	/* A window that goes on has begun already, and a mode with a file stays on by itself. */
	if (err || (w->holds ? w->has_file : w->id->since != 0))
		return err;
	return begin_all(w, w->started || how->from_start || w->holds, why);
}

struct ct_window_id ct_window_id_new(void)
{
	struct ct_window_id id = { 0 };

	while (getrandom(&id.consumer, sizeof(id.consumer), 0) < 0 || !id.consumer)
		;
	return id;
}

/* Chooses the mode and its companions; ONLY: no other companion. */
static void choose(struct ct_window *w, const char *only)
{
	w->names[w->count++] = w->mode->name;
	for (int i = 0; i < CT_COMPANIONS; i++) {
		const char *name = w->mode->companions[i].name;

		if (!name || (only && strcmp(name, only) != 0))
			continue;
		w->where[w->count] = i + 1;
		w->names[w->count++] = name;
	}
}

int ct_window_open(struct ct_window **to, int pid, const struct ct_window_how *how, char **why)
{
	struct ct_window *w;
	int mode = ct_control_modes_find(how->mode), err;

	*why = mode < 0 ? ct_memory_printf("\"%s\" is no mode", how->mode) : NULL;
	if (mode < 0)
		return -EINVAL;
	w = ct_memory_alloc(sizeof(*w));
	w->pid = pid;
	w->mode = &ct_control_modes[mode];
	w->lease = how->lease;
	w->empty = how->empty;
	w->holds = how->holds;
	w->process = (int)syscall(SYS_pidfd_open, ct_control_pid(pid), 0);
	w->own = ct_window_id_new();
	w->id = how->id ? how->id : &w->own;
	w->last = how->holds ? NULL : ct_last_window_listen(pid, w->id->consumer);
	choose(w, how->only);
	err = turn_on_and_begin(w, how, why);
	/* The last consumer has ended the mode in the meantime. */
	if (err == -ESRCH) {
		free(*why);
		err = turn_on_and_begin(w, how, why);
	}
	if (err) {
		/* Without this end the mode would stay on for its lease. */
		if (w->started)
			ct_window_close(w);
		else
			free_window(w);
		return err;
	}
	*to = w;
	return 0;
}

bool ct_window_was_on(const struct ct_window *w)
{
	return !w->started;
}

static void put_companion(const struct ct_window *w, struct ct_window_taken *to, int which,
			  struct ct_profile *p)
{
	if (p && !p->sample_count && !w->empty) {
		ct_model_free(p);
		p = NULL;
	}
	to->companions[which - 1] = p;
}

struct sent {
	const struct ct_window *w;
	struct ct_profile *p[PROFILES];
	bool any; /* the mode itself has samples */
};

static void see_sent(const char *mode, struct ct_profile *p, void *arg)
{
	struct sent *s = arg;

	for (int i = 0; i < s->w->count; i++) {
		if (strcmp(mode, s->w->names[i]) != 0)
			continue;
		ct_last_window_add(&s->p[s->w->where[i]], p);
		s->any |= !i;
		return;
	}
	ct_model_free(p);
}

/* Adds to TO what the process sent at its end, or before an exec. Returns whether it did. */
static bool take_sent(struct ct_window *w, struct ct_window_taken *to)
{
	struct sent s = { .w = w, .p = { to->profile } };

	for (int i = 1; i < PROFILES; i++)
		s.p[i] = to->companions[i - 1];
	ct_last_window_receive(w->last, see_sent, &s);
	to->profile = s.p[0];
	to->ending |= s.any;
	for (int i = 1; i < PROFILES; i++) {
		if (to->profile) {
			put_companion(w, to, i, s.p[i]);
			continue;
		}
		ct_model_free(s.p[i]);
		to->companions[i - 1] = NULL;
	}
	return s.any;
}

static enum ct_window_result no_profile(struct ct_window *w, int err, struct ct_window_taken *to,
					char **why)
{
	bool gone = window_ended(w, err == -EIO ? ENDING_MS : 0);

	/* Before an exec the process sends them, too, because the new program may run without the
	 * library. */
	if (take_sent(w, to)) {
		free(*why);
		*why = NULL;
		return CT_WINDOW_OK;
	}
	if (!gone)
		return err == -ESRCH ? CT_WINDOW_STOPPED : CT_WINDOW_FAILED;
	free(*why);
	*why = ct_memory_printf("process %s has ended", ct_control_name(w->pid));
	return CT_WINDOW_ENDED;
}

enum ct_window_result ct_window_take(struct ct_window *w, struct ct_window_taken *to, char **why)
{
	struct ct_profile *p[PROFILES];
	int err;

	*why = NULL;
	memset(to, 0, sizeof(*to));
	ct_last_window_turn_away(w->last);
	err = take_all(w, p, &to->ending, why);
	if (err)
		return no_profile(w, err, to, why);
	to->profile = p[0];
	for (int i = 1; i < w->count; i++)
		put_companion(w, to, w->where[i], p[i]);
	/* Needed if the process has called exec since. */
	take_sent(w, to);
	return CT_WINDOW_OK;
}

bool ct_window_take_sent(struct ct_window *w, struct ct_window_taken *to)
{
	memset(to, 0, sizeof(*to));
	return take_sent(w, to);
}

void ct_window_taken_release(struct ct_window_taken *t)
{
	ct_model_free(t->profile);
	for (int i = 0; i < CT_COMPANIONS; i++)
		ct_model_free(t->companions[i]);
	memset(t, 0, sizeof(*t));
}

void ct_window_turn_away(struct ct_window *w)
{
	ct_last_window_turn_away(w->last);
}

void ct_window_end(int pid, const char *mode, uint64_t consumer)
{
	struct cp_control_message m;

	ct_control_request(&m, CP_CONTROL_WINDOW);
	ct_control_line(&m, "mode", mode);
	add_number(&m, "consumer", consumer);
	ct_control_line(&m, "do", "end");
	free(ct_control_ask(pid, &m, -1));
}

void ct_window_close(struct ct_window *w)
{
	if (w && !window_ended(w, 0))
		ct_window_end(w->pid, w->mode->name, w->id->consumer);
	if (w)
		free_window(w);
}

double ct_window_leave(struct ct_window *w)
{
	double lease = w->holds && w->has_file ? 0 : w->lease;

	free_window(w);
	return lease;
}
