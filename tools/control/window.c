/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows of a running process; see window.h.
 *
 * The process is asked for all that its mode has seen; what was there at the last take is
 * subtracted.
 */
#include "control/window.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "control/control.h"
#include "control/control_modes.h"
#include "core/combine.h"
#include "core/memory.h"
#include "core/read.h"
#include "core/regex.h"
#include "core/strip_labels.h"

/* A process that no longer answers, because it is ending, is gone after this time. */
#define ENDING_MS 2000

struct ct_window {
	int pid;
	int process; /* a pidfd, or -1 */
	const struct ct_control_mode *mode;
	double lease;
	bool started;				      /* for this window */
	struct ct_profile *before, *before_companion; /* at the last take */
};

/* ---- the process ---- */

static bool ended(const struct ct_window *w, int patience)
{
	struct pollfd p = { .fd = w->process, .events = POLLIN };

	return w->process >= 0 && poll(&p, 1, patience) == 1;
}

static char *failed(const struct ct_window *w, int err)
{
	return ct_memory_printf("process %d: %s: %s", w->pid, w->mode->name,
				err == -EBUSY
					? "the program starts or stops a profile itself; try again"
				: err == -ESRCH ? "the mode ended meanwhile"
						: strerror(-err));
}

/* Asks. Returns 0, or the reply's error, or -EIO without a reply; then *WHY is set. */
static int ask(const struct ct_window *w, struct cp_control_message *m, int fd, char **why)
{
	*why = ct_control_ask(w->pid, m, fd);
	if (*why)
		return -EIO;
	if (m->result)
		*why = failed(w, m->result);
	return m->result;
}

/* ---- profiles ---- */

static struct ct_profile *read_fd(int fd, char **why)
{
	char *path = ct_memory_printf("/proc/self/fd/%d", fd);
	struct ct_fault fault = { 0 };
	struct ct_profile *p = NULL;
	struct ct_input *in = NULL;
	int err = ct_input_open(&in, path, &fault);

	if (!err)
		err = ct_read(&p, in, &fault);
	if (err)
		*why = ct_memory_printf("the process's profile can't be read: %s", fault.text);
	ct_input_close(in);
	free(path);
	return p;
}

/* Sets *P to all that MODE has seen. Returns 0, or an error as ask(). */
static int get(const struct ct_window *w, const char *mode, struct ct_profile **p, char **why)
{
	struct cp_control_message m;
	int fd = memfd_create("cprof", MFD_CLOEXEC), err;

	if (fd < 0) {
		*why = ct_memory_printf("no file in memory: %s", strerror(errno));
		return -EIO;
	}
	ct_control_request(&m, CP_CONTROL_DUMP);
	ct_control_line(&m, "mode", mode);
	ct_control_nanoseconds(&m, w->lease);
	err = ask(w, &m, fd, why);
	if (!err && !(*p = read_fd(fd, why)))
		err = -EIO;
	close(fd);
	return err;
}

static bool has_types(const struct ct_profile *p, const struct ct_profile *q)
{
	if (p->type_count != q->type_count)
		return false;
	for (size_t i = 0; i < p->type_count; i++)
		if (strcmp(ct_text(p, p->types[i].type), ct_text(q, q->types[i].type)))
			return false;
	return true;
}

/* The sum of P's first sample type: what happened, not what is in use. */
static int64_t sum(const struct ct_profile *p)
{
	int64_t n = 0;

	for (size_t i = 0; i < p->sample_count; i++)
		n += ct_values(p, i)[0];
	return n;
}

/* P and BEFORE are of one run of the mode. It isn't so after an exec, or if somebody turned the
 * mode off and on. A profile without a duration has the time of its moment, not that of its run. */
static bool same_run(const struct ct_profile *p, const struct ct_profile *before)
{
	if (!has_types(p, before))
		return false;
	return p->duration_nanos ? p->time_nanos == before->time_nanos : sum(p) >= sum(before);
}

/* The longest wait of a row is not a sum: the window's can't be told from the two. */
static void drop_longest(struct ct_profile *p)
{
	struct ct_regex *longest = ct_regex_new("longest", "^longest$");

	ct_strip_labels(p, longest, NULL);
	ct_regex_free(longest);
}

/* What P has more than BEFORE, which is changed. Memory in use is that of P. NULL after a message.
 */
static struct ct_profile *subtract(struct ct_profile *p, struct ct_profile *before)
{
	double *ratios = ct_memory_alloc(before->type_count * sizeof(*ratios));
	struct ct_profile *both[2] = { p, before }, *window;

	for (size_t i = 0; i < before->type_count; i++)
		ratios[i] = strncmp(ct_text(before, before->types[i].type), "inuse_", 6) ? -1 : 0;
	ct_combine_header_scale(before, ratios);
	free(ratios);
	before->comment_count = 0;
	drop_longest(p);
	drop_longest(before);
	window = ct_combine(both, 2);
	if (!window)
		return NULL;
	window->time_nanos = before->time_nanos + before->duration_nanos;
	window->duration_nanos = p->time_nanos + p->duration_nanos - window->time_nanos;
	ct_model_add_comment(
		window, ct_model_string(window, "# note: the mode was on before; the samples are "
						"those of the window, the lines above tell of all "
						"its time"));
	return window;
}

/* Returns what P has more than *BEFORE, and makes P the new *BEFORE. */
static struct ct_profile *since(struct ct_profile *p, struct ct_profile **before)
{
	struct ct_profile *window =
		*before && same_run(p, *before) ? subtract(p, *before) : ct_combine(&p, 1);

	ct_model_free(*before);
	*before = p;
	return window;
}

/* ---- open, take, close ---- */

static void free_window(struct ct_window *w)
{
	ct_model_free(w->before);
	ct_model_free(w->before_companion);
	if (w->process >= 0)
		close(w->process);
	free(w);
}

/* Returns the reason if there is none; *P then stays as it is. */
static char *get_companion(const struct ct_window *w, struct ct_profile **p)
{
	char *why = NULL;

	get(w, w->mode->companion, p, &why);
	return why;
}

/* The peak is that of all time, as a window's has no meaning. */
static bool is_peak(const struct ct_window *w)
{
	return !strcmp(w->mode->companion, "peak");
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
	err = ask(w, &m, -1, why);
	w->started = !err;
	if (err != -EALREADY)
		return err;
	free(*why);
	*why = NULL;
	if (how->from_start)
		return 0;
	err = get(w, w->mode->name, &w->before, why);
	if (!err && w->mode->companion)
		free(get_companion(w, &w->before_companion));
	return err;
}

int ct_window_open(struct ct_window **to, int pid, const struct ct_window_how *how, char **why)
{
	struct ct_window *w;
	int mode = ct_control_modes_find(how->mode);

	*why = mode < 0 ? ct_memory_printf("\"%s\" is no mode", how->mode) : NULL;
	if (mode < 0)
		return -1;
	w = ct_memory_alloc(sizeof(*w));
	w->pid = pid;
	w->mode = &ct_control_modes[mode];
	w->lease = how->lease;
	w->process = (int)syscall(SYS_pidfd_open, pid, 0);
	if (turn_on(w, how, why)) {
		free_window(w);
		return -1;
	}
	*to = w;
	return 0;
}

bool ct_window_was_on(const struct ct_window *w)
{
	return !w->started;
}

/* The companion is of no use without its mode: without it, the take is as good. */
static void take_companion(struct ct_window *w, struct ct_window_taken *to)
{
	struct ct_profile *p = NULL;

	to->companion_name = w->mode->companion;
	free(get_companion(w, &p));
	if (p)
		to->companion = is_peak(w) ? p : since(p, &w->before_companion);
	if (to->companion && !to->companion->sample_count) {
		ct_model_free(to->companion);
		to->companion = NULL;
	}
}

static enum ct_window_result no_profile(const struct ct_window *w, int err, char **why)
{
	if (!ended(w, err == -EIO ? ENDING_MS : 0))
		return err == -ESRCH ? CT_WINDOW_STOPPED : CT_WINDOW_FAILED;
	free(*why);
	*why = ct_memory_printf("process %d has ended", w->pid);
	return CT_WINDOW_ENDED;
}

enum ct_window_result ct_window_take(struct ct_window *w, struct ct_window_taken *to, char **why)
{
	struct ct_profile *p = NULL;
	int err;

	*why = NULL;
	memset(to, 0, sizeof(*to));
	err = get(w, w->mode->name, &p, why);
	if (err)
		return no_profile(w, err, why);
	if (w->mode->companion)
		take_companion(w, to);
	to->profile = since(p, &w->before);
	if (to->profile)
		return CT_WINDOW_OK;
	ct_window_taken_release(to);
	*why = ct_memory_printf("process %d: %s: the window can't be told apart", w->pid,
				w->mode->name);
	return CT_WINDOW_FAILED;
}

void ct_window_taken_release(struct ct_window_taken *t)
{
	ct_model_free(t->profile);
	ct_model_free(t->companion);
	memset(t, 0, sizeof(*t));
}

static void turn_off(const struct ct_window *w)
{
	struct cp_control_message m;

	ct_control_request(&m, CP_CONTROL_STOP);
	ct_control_line(&m, "mode", w->mode->name);
	ct_control_line(&m, "discard", "1");
	free(ct_control_ask(w->pid, &m, -1));
}

void ct_window_close(struct ct_window *w)
{
	if (!w)
		return;
	if (w->started && !ended(w, 0))
		turn_off(w);
	free_window(w);
}
