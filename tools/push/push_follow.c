/* SPDX-License-Identifier: BSD-3-Clause */
/* Follows processes, and reads files of processes that have ended; see push.h. */
#include "push/push.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/read.h"

struct ct_push_follow {
	struct ct_push_modes with;
	struct ct_push_process *items;
	size_t count, room;
	struct pollfd *polled;
	size_t polled_room;
};

struct ct_push_follow *ct_push_follow_new(const struct ct_push_follow_how *how)
{
	struct ct_push_follow *f = ct_memory_alloc(sizeof(*f));

	f->with.how = how;
	f->with.symbols = ct_push_symbols_new(how->roots);
	return f;
}

static void forget_process(struct ct_push_follow *f, size_t i)
{
	struct ct_push_process *p = &f->items[i];

	for (int m = 0; m < CT_MODES; m++)
		ct_push_modes_close(&p->modes[m]);
	if (p->process >= 0)
		close(p->process);
	free(p->program);
	free(p->labels);
	f->items[i] = f->items[--f->count];
}

static void end_process(struct ct_push_follow *f, size_t i)
{
	struct ct_push_process *p = &f->items[i];

	for (int m = 0; m < CT_MODES; m++) {
		if (p->modes[m].window)
			ct_push_modes_take(&f->with, p, m);
		ct_push_modes_end(&f->with, p, m);
	}
	forget_process(f, i);
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
static char *labels_of(const struct ct_push_follow *f, const struct ct_push_process *p,
		       const struct cp_control_message *status)
{
	struct ct_push_labels_how how = f->with.how->labels;
	int pid = ct_control_pid(p->pid);

	if (pid)
		return ct_push_labels_of(pid, p->program, 0, &how);
	if (!how.name)
		how.name = p->program;
	return ct_push_labels_of(getpid(), p->program, (int)ct_control_number(status, "pid"), &how);
}

static void name_process(struct ct_push_follow *f, struct ct_push_process *p,
			 const struct cp_control_message *status)
{
	free(p->program);
	free(p->labels);
	p->program = ct_control_value(status, "program");
	if (!p->program)
		p->program = ct_memory_strdup("unknown");
	p->labels = labels_of(f, p, status);
}

static int add_process(struct ct_push_follow *f, int pid, const struct cp_control_message *status,
		       bool from_start, bool start, char **why)
{
	int seen = ct_control_pid(pid);
	struct ct_push_process p = { .pid = pid,
				     .process = seen ? (int)syscall(SYS_pidfd_open, seen, 0) : -1 };

	*why = NULL;
	if (seen && p.process < 0) {
		*why = ct_memory_printf("process %s: %s", ct_control_name(pid),
					errno == ESRCH ? "it has ended" : strerror(errno));
		return -1;
	}
	name_process(f, &p, status);
	*CT_PUSH(f->items, f->count, f->room) = p;
	if (ct_push_modes_open(&f->with, &f->items[f->count - 1], status, from_start, start, why)) {
		free(*why);
		*why = NULL;
		ct_push_modes_say(&f->with, ct_memory_printf("process %s (%s) is followed",
							     ct_control_name(pid), p.program));
		return 0;
	}
	if (!*why)
		*why = ct_memory_printf("process %s: no mode is on; -cpu turns one on",
					ct_control_name(pid));
	forget_process(f, f->count - 1);
	return -1;
}

int ct_push_follow_add(struct ct_push_follow *f, int pid, bool from_start, bool start, char **why)
{
	struct cp_control_message status;

	if (is_followed(f, pid))
		return 0;
	*why = ct_control_status(pid, &status);
	return *why ? -1 : add_process(f, pid, &status, from_start, start, why);
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
	add_process(a->f, c->pid, status, a->from_start, false, &why);
	free(why);
}

void ct_push_follow_all(struct ct_push_follow *f, bool from_start,
			bool (*is_wanted)(const struct cp_control_message *status, void *arg),
			void *arg)
{
	struct all a = { f, from_start, is_wanted, arg };

	ct_control_each(NULL, see, &a);
}

/* After an exec, or when a mode was turned off and on again, another run has begun. */
static void look_at(struct ct_push_follow *f, struct ct_push_process *p, bool *answers)
{
	struct cp_control_message status;
	char *why, *program;

	why = ct_control_status(p->pid, &status);
	*answers = !why;
	if (why) {
		free(why); /* the windows report it, too */
		return;
	}
	/* The mode isn't asked for a window; the first window of the new run has everything since
	 * its begin. */
	for (int m = 0; m < CT_MODES; m++)
		if (p->modes[m].window && p->modes[m].since &&
		    ct_control_mode_number(&status, ct_control_modes[m].name, "since") !=
			    p->modes[m].since)
			ct_push_modes_end(&f->with, p, m);
	program = ct_control_value(&status, "program");
	if (program && strcmp(program, p->program))
		name_process(f, p, &status);
	free(program);
	why = NULL;
	ct_push_modes_open(&f->with, p, &status, true, false, &why);
	free(why);
}

void ct_push_follow_take(struct ct_push_follow *f)
{
	for (size_t i = f->count; i > 0; i--) {
		struct ct_push_process *p = &f->items[i - 1];
		bool answers;

		look_at(f, p, &answers);
		/* The end of an invisible process can't be seen otherwise. The process may be
		 * stopped; then a later window covers this one's time. */
		if (p->process < 0 && !answers)
			p->gone = ct_control_path_is_left(p->pid);
		for (int m = 0; m < CT_MODES && !p->gone && (answers || p->process >= 0); m++)
			if (p->modes[m].window && !ct_push_modes_take(&f->with, p, m))
				ct_push_modes_end(&f->with, p, m);
		if (p->gone)
			end_process(f, i - 1);
	}
}

static void turn_away(const struct ct_push_process *p)
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
	return f->with.lost;
}

/* ---- files of processes that have ended ---- */

static struct ct_profile *read_fd(int fd)
{
	char *path = ct_memory_printf("/proc/self/fd/%d", fd);
	struct ct_fault fault = { 0 };
	struct ct_profile *p = NULL;
	struct ct_input *in = NULL;

	if (!ct_input_open(&in, path, &fault) && ct_read(&p, in, &fault))
		p = NULL;
	if (in)
		ct_input_close(in);
	free(path);
	return p;
}

struct ct_profile *ct_push_follow_ended_read(const char *path)
{
	int fd = ct_input_reopen_plain(open(path, O_PATH | O_CLOEXEC | O_NOFOLLOW));
	struct ct_profile *p = fd < 0 ? NULL : read_fd(fd);

	if (fd >= 0)
		close(fd);
	return p;
}

/* ---- facts in a file ---- */

/* Returns the text after WORD, up to a comma, in "# libcprof 0.1.0, mode cpu, pid 15591, ...". */
static char *told(const struct ct_profile *p, const char *word)
{
	for (size_t i = 0; i < p->comment_count; i++) {
		const char *line = ct_text(p, p->comments[i]), *at;

		if (strncmp(line, "# libcprof ", 11))
			continue;
		at = strstr(line, word);
		if (at)
			return ct_memory_printf("%.*s", (int)strcspn(at + strlen(word), ","),
						at + strlen(word));
	}
	return NULL;
}

/* Gets the mode, pid and times from P's first comment; the texts are to be freed. NULL or 0:
 * unknown. */
static char *push_ended_mode(const struct ct_profile *p)
{
	return told(p, ", mode ");
}

int ct_push_follow_ended_pid(const struct ct_profile *p)
{
	char *text = told(p, ", pid ");
	int pid = text ? atoi(text) : 0;

	free(text);
	return pid;
}

/* Returns the program's name from P's first mapping. */
static char *push_ended_program(const struct ct_profile *p)
{
	const char *file = p->mapping_count ? ct_text(p, p->mappings[0].file) : "";

	return ct_memory_strdup(*file ? ct_base_name(file) : "unknown");
}

bool ct_push_follow_file(struct ct_push_follow *f, const char *file)
{
	struct ct_profile *p = ct_push_follow_ended_read(file);
	char *mode = p ? push_ended_mode(p) : NULL, *program, *labels;
	bool any = mode && p->sample_count && strcmp(mode, "peak");

	if (any) {
		program = push_ended_program(p);
		labels = ct_push_labels_of(getpid(), program, ct_push_follow_ended_pid(p),
					   &f->with.how->labels);
		ct_push_modes_push(&f->with, p, mode, labels);
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
		forget_process(f, f->count - 1);
	ct_push_symbols_free(f->with.symbols);
	free(f->items);
	free(f->polled);
	free(f);
}
