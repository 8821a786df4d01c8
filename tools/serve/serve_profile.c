/* SPDX-License-Identifier: BSD-3-Clause */
/* Profiles of a process, windows of them, and the difference of two; runs in a worker.
 *
 * The mode is turned on if it is off. A window that was opened for it (control/window.h) ends it;
 * the server ends what dumps are taken of (serve_modes.h), because other requests may need it by
 * then.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/combine.h"
#include "core/memory.h"
#include "core/read.h"
#include "core/regex.h"
#include "core/strip_labels.h"
#include "core/write.h"
#include "flame/folded.h"
#include "serve/serve_jobs.h"
#include "serve/serve_work.h"
#include "control/control.h"
#include "control/control_modes.h"
#include "control/window.h"
#include "verbs/verb_symbolize.h"

/* Without an earlier dump, a flame graph shows so long a window. */
#define FIRST_LOOK_SECONDS 3

/* Says why process PID didn't do it. */
static void failed(const struct ct_serve_request *r, struct ct_serve_out *out, char *why, int err)
{
	const char *mode = r->route.kind->mode;

	if (why)
		ct_serve_reply_fail(out, kill(r->route.pid, 0) && errno == ESRCH ? 404 : 500,
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

static bool turn_on(const struct ct_serve_request *r, struct ct_serve_out *out)
{
	struct cp_control_message m;
	char *why;

	ct_control_request(&m, CP_CONTROL_START);
	ct_control_line(&m, ct_control_modes[ct_control_modes_find(r->route.kind->mode)].path,
			"/dev/null");
	ct_control_line(&m, "nofile", "1");
	ct_control_nanoseconds(&m, r->lease);
	why = ct_control_ask(r->route.pid, &m, -1);
	out->reply->started = !why && !m.result;
	out->reply->holds = true;
	ct_serve_jobs_may_end();
	if (!why && (!m.result || m.result == -EALREADY))
		return true;
	failed(r, out, why, m.result);
	return false;
}

void ct_serve_profile_stop(const struct ct_serve_request *r)
{
	struct cp_control_message m;

	ct_control_request(&m, CP_CONTROL_STOP);
	ct_control_line(&m, "mode", r->route.kind->mode);
	ct_control_line(&m, "discard", "1");
	free(ct_control_ask(r->route.pid, &m, -1));
}

/* Has the process write what the mode has seen to FD, and renews the mode's lease. FIRST: the mode
 * may have ended since turn_on(), with the last window that somebody had of it. */
static bool dump(const struct ct_serve_request *r, struct ct_serve_out *out, int fd, bool first)
{
	struct cp_control_message m;
	char *why;

	ct_control_request(&m, CP_CONTROL_DUMP);
	ct_control_line(&m, "mode", r->route.kind->dump);
	ct_control_nanoseconds(&m, r->lease);
	why = ct_control_ask(r->route.pid, &m, fd);
	if (!why && !m.result)
		return true;
	if (!why && m.result == -ESRCH && first)
		return turn_on(r, out) && dump(r, out, fd, false);
	failed(r, out, why, m.result);
	return false;
}

/* The mean size of a row's blocks and its longest wait are no sums: they change from dump to dump,
 * and a row whose labels have changed is another row for whoever subtracts. */
static void drop_changing_labels(struct ct_profile *p)
{
	struct ct_regex *changing = ct_regex_new("labels", "^(bytes|longest)$");

	ct_strip_labels(p, changing, NULL);
	ct_regex_free(changing);
}

static struct ct_profile *read_dump(struct ct_serve_out *out, int fd)
{
	char *path = ct_memory_printf("/proc/self/fd/%d", fd);
	struct ct_fault fault = { 0 };
	struct ct_profile *p = NULL;
	struct ct_input *in = NULL;
	int err = ct_input_open(&in, path, &fault);

	if (!err)
		err = ct_read(&p, in, &fault);
	if (err)
		ct_serve_reply_fail(out, 500, "the process's profile can't be read: %s",
				    fault.text);
	else
		drop_changing_labels(p);
	ct_input_close(in);
	free(path);
	return p;
}

/* How often strangers are turned away in a window. */
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

/* ---- the difference ---- */

static bool same_types(const struct ct_profile *p, const struct ct_profile *q)
{
	if (p->type_count != q->type_count)
		return false;
	for (size_t i = 0; i < p->type_count; i++)
		if (strcmp(ct_text(p, p->types[i].type), ct_text(q, q->types[i].type)))
			return false;
	return true;
}

static bool is_in_use(const struct ct_profile *p, size_t type)
{
	return !strncmp(ct_text(p, p->types[type].type), "inuse_", 6);
}

/* A heap profile's time is that of the dump. Whether the mode was off meanwhile, or the process has
 * executed another program, is told by what was allocated: that never gets less. */
static bool has_less(const struct ct_profile *p)
{
	for (size_t i = 0; i < p->sample_count; i++)
		for (size_t t = 0; t < p->type_count; t++)
			if (!is_in_use(p, t) && ct_values(p, i)[t] < 0)
				return true;
	return false;
}

/* P less BEFORE, which is changed, or NULL. IN_USE: also of what is in use. */
static struct ct_profile *subtract(struct ct_profile *p, struct ct_profile *before, bool in_use)
{
	double *ratios = ct_memory_alloc((before->type_count + 1) * sizeof(*ratios));
	struct ct_profile *both[2] = { p, before };

	for (size_t i = 0; i < before->type_count; i++)
		ratios[i] = in_use || !is_in_use(before, i) ? -1 : 0;
	ct_combine_header_scale(before, ratios);
	free(ratios);
	before->comment_count = 0;
	return ct_combine(both, 2);
}

/* P with equal rows joined, or NULL. Frees P. */
static struct ct_profile *joined(struct ct_profile *p)
{
	struct ct_profile *whole = p ? ct_combine(&p, 1) : NULL;

	ct_model_free(p);
	return whole;
}

/* What P has more than BEFORE. Frees both. IN_USE: also of what is in use, as Go's ?seconds= has
 * it; else what is in use is that of P, as in Go's deltas. */
static struct ct_profile *since(struct ct_profile *p, struct ct_profile *before, bool in_use)
{
	bool moment = !p->duration_nanos; /* heap */
	struct ct_profile *window = NULL;

	if ((moment || p->time_nanos == before->time_nanos) && same_types(p, before))
		window = subtract(p, before, in_use);
	if (window && moment && has_less(window)) {
		ct_model_free(window);
		window = NULL;
	}
	/* With a duration, a receiver would take what is in use for the window's. */
	if (window && moment && in_use) {
		window->time_nanos = before->time_nanos;
		window->duration_nanos = p->time_nanos - before->time_nanos;
	} else if (window && !moment) {
		window->time_nanos = before->time_nanos + before->duration_nanos;
		window->duration_nanos = p->duration_nanos - before->duration_nanos;
	}
	ct_model_free(before);
	if (!window)
		return joined(p); /* another run: all of it is new */
	ct_model_free(p);
	return window;
}

/* The dump in FD, less the one in BEFORE (-1: none). */
static struct ct_profile *difference(struct ct_serve_out *out, int fd, int before, bool in_use)
{
	struct ct_profile *p = read_dump(out, fd), *q;

	if (!p || before < 0)
		return joined(p);
	q = read_dump(out, before);
	if (q)
		return since(p, q, in_use);
	ct_model_free(p);
	return NULL;
}

/* ---- lines ---- */

static bool sees_other_files(int pid)
{
	char *path = ct_memory_printf("/proc/%d/ns/mnt", pid);
	struct stat its, ours;
	bool other =
		!stat(path, &its) && !stat("/proc/self/ns/mnt", &ours) && its.st_ino != ours.st_ino;

	free(path);
	return other;
}

void ct_serve_profile_symbolize(struct ct_profile *p, int pid)
{
	char *root = ct_memory_printf("/proc/%d/root", pid),
	     *debug = ct_memory_printf("%s%s", root, CT_DEBUG_ROOT);
	const char *roots[] = { CT_DEBUG_ROOT, debug, NULL };
	uint32_t *files = ct_memory_alloc((p->mapping_count + 1) * sizeof(*files));
	bool other = sees_other_files(pid);
	struct ct_symbolized done;

	/* Of a container: its files are looked for where the kernel shows them to us. */
	for (size_t i = 0; other && i < p->mapping_count; i++) {
		char *file = ct_memory_printf("%s%s", root, ct_text(p, p->mappings[i].file));

		files[i] = p->mappings[i].file;
		if (*ct_text(p, files[i]) == '/')
			p->mappings[i].file = ct_model_string(p, file);
		free(file);
	}
	if (!other)
		roots[1] = NULL;
	ct_serve_jobs_wait_turn();
	ct_verb_symbolize_profile(p, roots, &done);
	for (size_t i = 0; other && i < p->mapping_count; i++) {
		const char *file = ct_text(p, p->mappings[i].file);

		if (!strncmp(file, root, strlen(root)))
			p->mappings[i].file = ct_model_string(p, file + strlen(root));
	}
	free(files);
	free(debug);
	free(root);
}

/* ---- as Go names it ---- */

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

	/* Go has no wakers: with the types of "block" they would be added to it. */
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

static void write_flame(const struct ct_serve_request *r, struct ct_serve_out *out,
			struct ct_profile *p)
{
	double seconds = (double)p->duration_nanos / 1e9;
	char *title = seconds > 0 ? ct_memory_printf("process %d, %s, the last %.0f s",
						     r->route.pid, r->route.kind->dump, seconds)
				  : ct_memory_printf("process %d, %s, now", r->route.pid,
						     r->route.kind->dump);

	ct_serve_reply_set(out->reply, 200, CT_SERVE_HTML, "");
	ct_serve_flame(p, title, out->body);
	free(title);
}

static struct ct_profile *from_dumps(const struct ct_serve_request *r, struct ct_serve_out *out,
				     bool flame)
{
	long seconds = flame && r->before < 0 ? FIRST_LOOK_SECONDS : r->seconds;
	int before = seconds ? memfd_create("cprof", MFD_CLOEXEC) : r->before;

	if (seconds) {
		if (!dump(r, out, before, true))
			return NULL;
		wait_for(r->route.pid, seconds * 1000, NULL);
	}
	if (!dump(r, out, out->snapshot, !seconds))
		return NULL;
	return difference(out, out->snapshot, before,
			  r->route.kind->span == CT_SERVE_TOTAL && !flame);
}

/* ---- a window ---- */

/* Takes from T the profile of R's kind: the mode's, or a companion's. */
static struct ct_profile *wanted(const struct ct_serve_request *r, struct ct_window_taken *t)
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

/* Sets *P to what happens in the next seconds, or up to the end of the process; or to NULL. The
 * process writes only that. Returns false if too many others have windows of the mode. */
static bool window(const struct ct_serve_request *r, struct ct_serve_out *out,
		   struct ct_profile **p)
{
	const struct ct_window_how how = { .mode = r->route.kind->mode,
					   .lease = r->lease,
					   .empty = true };
	struct ct_window_taken t = { 0 };
	struct ct_window *w;
	char *why;
	int err = ct_window_open(&w, r->route.pid, &how, &why);

	*p = NULL;
	if (err == -EUSERS) {
		free(why);
		return false;
	}
	if (!err) {
		out->reply->started = !ct_window_was_on(w);
		/* If this worker dies in its window, the server ends the mode. */
		out->reply->holds = true;
		wait_for(r->route.pid, r->seconds * 1000, w);
		ct_window_take(w, &t, &why);
		ct_window_close(w);
		out->reply->holds = false;
		*p = wanted(r, &t);
		ct_window_taken_release(&t);
	}
	ct_serve_jobs_may_end();
	if (*p)
		drop_changing_labels(*p);
	else
		failed(r, out, why, -ESRCH);
	*p = joined(*p);
	return true;
}

void ct_serve_profile(const struct ct_serve_request *r, struct ct_serve_out *out)
{
	bool flame = r->route.what == CT_SERVE_FLAME;
	/* A window has no change of what is in use, and no dump for the next flame graph. */
	bool in_window = r->seconds && !flame && r->route.kind->span != CT_SERVE_DELTA &&
			 strcmp(r->route.kind->mode, "heap") != 0;
	struct ct_profile *p;

	if (!in_window || !window(r, out, &p))
		p = turn_on(r, out) ? from_dumps(r, out, flame) : NULL;
	if (!p)
		return;
	out->reply->kept = !in_window;
	ct_serve_profile_symbolize(p, r->route.pid);
	if (flame)
		write_flame(r, out, p);
	else
		write_profile(r, out, p);
}
