/* SPDX-License-Identifier: BSD-3-Clause */
/* Profiles of a process: windows (control/control.h), and sums since the mode's start; runs in a
 * worker.
 *
 * The mode is turned on if it is off, and ends with the last window that anybody has of it. For a
 * sum there is a window, too, of which nothing is taken. The server ends the windows that are left
 * open here (serve.h), also if this worker dies. ?seconds= of the heap is the difference of
 * two sums: what is in use is a state, of which there is no window.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/read.h"
#include "flame/flame.h"
#include "serve/serve.h"
#include "verbs/verbs.h"

/* Seconds of the window that a flame graph shows if there is no earlier one. */
#define FIRST_LOOK_SECONDS 3

/* Replies why process PID didn't do it. */
static void request_failed(const struct ct_serve_request *r, struct ct_serve_out *out, char *why,
			   int err)
{
	const char *mode = r->route.kind->mode;

	if (why)
		ct_serve_reply_fail(out,
				    ct_control_has_ended(r->route.pid) ? 404
				    : err == -EUSERS		       ? 503
								       : 500,
				    "Could not enable %s profiling: %s", mode, why);
	else
		ct_serve_reply_fail(
			out, 500, "Could not enable %s profiling: process %d: %s", mode,
			r->route.pid,
			err == -EBUSY	? "the program starts or stops a profile itself; try again"
			: err == -ESRCH ? "the mode was turned off meanwhile"
					: strerror(-err));
	free(why);
}

/* The mean size of a row's blocks and its longest wait are no sums: they change from dump to dump,
 * and a row whose labels have changed is another row for whoever subtracts. */
static void drop_changing_labels(struct ct_profile *p)
{
	struct ct_regex *changing = ct_regex_new("labels", "^(bytes|longest)$");

	ct_model_strip_labels(p, changing, NULL);
	ct_regex_free(changing);
}

/* Returns what the mode has seen since its start, or NULL. */
static struct ct_profile *dump_profile(const struct ct_serve_request *r, struct ct_serve_out *out)
{
	struct cp_control_message m;
	struct ct_profile *p = NULL;
	char *why;
	int err;

	ct_control_request(&m, CP_CONTROL_DUMP);
	err = ct_control_profile_ask_all(r->route.pid, &m, &r->route.kind->dump, 1, &p, &why);
	if (err)
		request_failed(r, out, why, err);
	else
		drop_changing_labels(p);
	return p;
}

/* Time between two looks at which strangers are turned away during a window. */
#define TURN_AWAY_MS 100

/* Waits for MS milliseconds, or for the end of the process, or until this worker is to end. */
static void wait_for(int pid, long ms, struct ct_window *w)
{
	struct pollfd p = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };

	for (; ms > 0 && !ct_serve_jobs_is_cancelled(); ms -= TURN_AWAY_MS) {
		if (poll(&p, 1, ms < TURN_AWAY_MS ? (int)ms : TURN_AWAY_MS) > 0)
			break;
		if (w)
			ct_window_turn_away(w);
	}
	if (p.fd >= 0)
		close(p.fd);
}

void ct_serve_profile_symbolize(struct ct_profile *p, int pid)
{
	ct_serve_jobs_wait_turn();
	ct_symbolize_process(p, pid);
}

/* ---- the names that Go uses ---- */

static void rename_types(struct ct_profile *p, const char *const names[][2])
{
	for (; (*names)[0]; names++)
		for (size_t i = 0; i < p->type_count; i++)
			if (!strcmp(ct_text(p, p->types[i].type), (*names)[0]))
				p->types[i].type = ct_model_string(p, (*names)[1]);
}

static void name_as_go(struct ct_profile *p, const struct ct_serve_kind *k)
{
	static const char *const holders[][2] = { { "waits", "contentions" },
						  { "blocking", "delay" },
						  { NULL, NULL } };

	/* Go has no wakers; with the types of "block" they would be added to it. */
	if (!strcmp(k->dump, "wakers"))
		return;
	if (!strcmp(k->mode, "lock")) {
		rename_types(p, holders);
		p->period_type.type = ct_model_string(p, "contentions");
		p->period_type.unit = ct_model_string(p, "count");
		p->default_type = ct_model_string(p, "delay");
	} else if (!strcmp(k->mode, "heap")) {
		p->period_type.type = ct_model_string(p, "space");
		p->period_type.unit = ct_model_string(p, "bytes");
		p->default_type = ct_model_string(p, !strcmp(k->name, "allocs") ? "alloc_space"
										: "inuse_space");
	}
}

/* ---- the reply ---- */

/* A sum since the mode's start has no duration, as Go's block and mutex have none: receivers take a
 * profile with a duration for what happened in that time, and add all scrapes up (Parca). */
static void write_profile(const struct ct_serve_request *r, struct ct_serve_out *out,
			  struct ct_profile *p)
{
	const struct ct_serve_kind *k = r->route.kind;
	char *file = ct_memory_printf("%s%s", k->file,
				      k->span == CT_SERVE_TOTAL && r->seconds ? "-delta" : "");

	if (out->reply->started)
		ct_model_add_comment(p, ct_model_string(p, "# note: this request has turned the "
							   "mode on: nothing from before is "
							   "known"));
	name_as_go(p, k);
	if (k->span == CT_SERVE_TOTAL && !r->seconds)
		p->duration_nanos = 0;
	if (r->folded) {
		ct_serve_reply_set(out->reply, 200, CT_SERVE_PLAIN, "");
		ct_folded_write(
			&(struct ct_folded){ .profile = p, .type = ct_model_default_type(p) },
			out->body);
	} else if (r->debug && k->span == CT_SERVE_TOTAL) {
		ct_serve_reply_set(out->reply, 200, CT_SERVE_PLAIN, "");
		ct_serve_text(p, k, out->body);
	} else {
		ct_serve_reply_set(out->reply, 200, CT_SERVE_BINARY, file);
		if (ct_write(p, out->body))
			ct_serve_reply_fail(out, 500, "the profile can't be written");
	}
	free(file);
}

/* Writes the page of `cprof flame` for P. */
static void serve_flame(struct ct_profile *p, const char *title, FILE *to)
{
	struct ct_flame_tab tab = {
		.name = "", .file = (char *)title, .profile = p, .type = ct_model_default_type(p)
	};
	struct ct_flame flame = { .title = title, .tabs = &tab, .tab_count = 1 };

	ct_flame_frames_init(&flame.frames, CT_BY_FUNCTION);
	flame.frames.builds_are_one = true;
	ct_flame_make_tree(&flame, &tab);
	ct_flame_page(&flame, to);
	ct_flame_tree_release(&tab.tree);
	ct_flame_frames_release(&flame.frames);
}

static void write_flame(const struct ct_serve_request *r, struct ct_serve_out *out,
			struct ct_profile *p)
{
	double seconds = (double)p->duration_nanos / 1e9;
	char *title = seconds > 0 ? ct_memory_printf("process %d, %s, the last %.0f s",
						     r->route.pid, r->route.kind->dump, seconds)
				  : ct_memory_printf("process %d, %s, now", r->route.pid,
						     r->route.kind->dump);

	ct_serve_reply_set(out->reply, 200, CT_SERVE_HTML, "");
	serve_flame(p, title, out->body);
	free(title);
}

/* ---- a window ---- */

/* Takes from T the profile of R's kind: the mode's, or a companion's. */
static struct ct_profile *wanted_profile(const struct ct_serve_request *r,
					 struct ct_window_taken *t)
{
	const struct ct_companion *c =
		ct_control_modes[ct_control_modes_find(r->route.kind->mode)].companions;
	struct ct_profile **from = &t->profile, *p;

	for (int i = 0; i < CT_COMPANIONS; i++)
		if (c[i].name && !strcmp(c[i].name, r->route.kind->dump))
			from = &t->companions[i];
	p = *from;
	*from = NULL;
	return p;
}

static bool goes_on(const struct ct_serve_request *r)
{
	return r->route.what == CT_SERVE_FLAME || r->route.kind->span == CT_SERVE_DELTA;
}

/* Opens R's window, or goes on with it. HOLDS: nothing will be taken. Returns NULL with *ERR. */
static struct ct_window *open_window(const struct ct_serve_request *r, struct ct_serve_out *out,
				     bool holds, char **why, int *err)
{
	bool is_delta = r->route.kind->span == CT_SERVE_DELTA;
	struct ct_serve_reply *reply = out->reply;
	const struct ct_window_how how = {
		.mode = r->route.kind->mode,
		.lease = (r->seconds ? (double)r->seconds : r->keep) + CT_SERVE_GRACE,
		.patience = is_delta ? CT_SERVE_PATIENCE + CT_SERVE_GRACE : 0,
		.empty = true,
		/* Sums need whole companions, too. */
		.only = holds ? NULL : r->route.kind->dump,
		.id = &reply->id,
		.holds = holds
	};
	struct ct_window *w;

	reply->id = r->window->id;
	if (is_delta && !r->window->id.since)
		reply->id.since = CT_WINDOW_ALL;
	/* If this worker dies, the server ends the window at once. */
	reply->lease = 0;
	*err = ct_window_open(&w, r->route.pid, &how, why);
	if (*err) {
		reply->lease = -1;
		return NULL;
	}
	reply->started = !ct_window_was_on(w);
	return w;
}

/* Leaves the window to the server, or ends it. This worker may be ended from here on. */
static void leave_window(struct ct_serve_out *out, struct ct_window *w, bool open)
{
	double lease = -1;

	if (open && w)
		lease = ct_window_leave(w) - CT_SERVE_GRACE;
	else
		ct_window_close(w);
	out->reply->lease = lease;
	ct_serve_jobs_may_end();
}

/* Waits for what R asks for. If nobody wants it any more, the window and this worker end, unless a
 * later request goes on with the window. */
static void wait_for_window(const struct ct_serve_request *r, struct ct_serve_out *out,
			    struct ct_window *w, long seconds)
{
	wait_for(r->route.pid, seconds * 1000, w);
	if (ct_serve_jobs_is_cancelled() && !goes_on(r))
		leave_window(out, w, false);
}

/* Saves what was taken, to be shown again with the next window. */
static void save(struct ct_serve_out *out, struct ct_profile *p)
{
	FILE *f = fdopen(dup(out->snapshot), "w");
	int err = f ? ct_write(p, f) : -1;

	out->reply->taken = f && !fclose(f) && !err;
}

/* Opens R's window, waits, and takes it; its profiles are in *T. Returns as open_window. */
static struct ct_window *take_window(const struct ct_serve_request *r, struct ct_serve_out *out,
				     struct ct_window_taken *t, char **why, int *err)
{
	bool first_look = r->route.what == CT_SERVE_FLAME && !r->window->id.since;
	struct ct_window *w = open_window(r, out, false, why, err);

	if (!w)
		return NULL;
	wait_for_window(r, out, w, first_look ? FIRST_LOOK_SECONDS : r->seconds);
	if (ct_window_take(w, t, why) != CT_WINDOW_STOPPED || out->reply->id.since != CT_WINDOW_ALL)
		return w;
	/* The process knows a first delta's window only from its take on. Another client has ended
	 * the mode before. */
	free(*why);
	ct_window_leave(w);
	w = open_window(r, out, false, why, err);
	if (w)
		ct_window_take(w, t, why);
	return w;
}

/* Returns what happens in the next seconds, or up to the end of the process; or since the window's
 * last request. NULL: the reply says why. */
static struct ct_profile *window_profile(const struct ct_serve_request *r, struct ct_serve_out *out)
{
	struct ct_window_taken t = { 0 };
	struct ct_profile *p;
	char *why;
	int err;
	struct ct_window *w = take_window(r, out, &t, &why, &err);

	if (!w) {
		request_failed(r, out, why, err);
		return NULL;
	}
	p = wanted_profile(r, &t);
	ct_window_taken_release(&t);
	if (p)
		drop_changing_labels(p);
	if (p && goes_on(r))
		save(out, p);
	leave_window(out, w, goes_on(r));
	if (!p) {
		request_failed(r, out, why, -ESRCH);
		return NULL;
	}
	return ct_serve_sums_with_parts(r->window, p);
}

/* Returns everything since the mode's start, or its change. NULL: the reply says why. */
static struct ct_profile *sums(const struct ct_serve_request *r, struct ct_serve_out *out)
{
	struct ct_profile *before = NULL, *p = NULL;
	char *why;
	int err;
	struct ct_window *w = open_window(r, out, true, &why, &err);

	/* So many clients have windows that the mode stays on anyway. */
	if (err == -EUSERS) {
		free(why);
	} else if (err) {
		request_failed(r, out, why, err);
		return NULL;
	}
	if (r->seconds)
		before = dump_profile(r, out);
	if (before)
		wait_for_window(r, out, w, r->seconds);
	if (!r->seconds || before)
		p = dump_profile(r, out);
	leave_window(out, w, !r->seconds);
	if (p && before)
		return ct_serve_sums_change(p, before);
	ct_model_free(before);
	return ct_serve_sums_joined(p);
}

/* Is R's mode off? */
static bool is_off(const struct ct_serve_request *r)
{
	struct cp_control_message m;
	char *why = ct_control_status(r->route.pid, &m);
	bool off = !why && !ct_control_mode_number(&m, r->route.kind->mode, "since");

	free(why);
	return off;
}

void ct_serve_profile(const struct ct_serve_request *r, struct ct_serve_out *out)
{
	const struct ct_serve_kind *k = r->route.kind;
	bool flame = r->route.what == CT_SERVE_FLAME,
	     is_sum = !flame && k->span == CT_SERVE_TOTAL &&
		      (!r->seconds || !strcmp(k->mode, "heap"));
	struct ct_profile *p;

	if (r->foreign && is_off(r)) {
		ct_serve_reply_fail(out, 403,
				    "%s profiling is off, and a page of another site may ask: "
				    "choose it on the page of this server, or use curl",
				    k->mode);
		return;
	}
	p = is_sum ? sums(r, out) : window_profile(r, out);
	if (!p)
		return;
	ct_serve_profile_symbolize(p, r->route.pid);
	if (flame)
		write_flame(r, out, p);
	else
		write_profile(r, out, p);
}
