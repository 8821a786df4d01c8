/* SPDX-License-Identifier: BSD-3-Clause */
/* cprof threads: where every thread of a process is now, equal stacks together. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "control/control_profile.h"
#include "core/json.h"
#include "core/memory.h"
#include "core/options.h"
#include "core/out.h"
#include "core/short_name.h"
#include "verbs/verb_symbolize.h"
#include "verbs/verbs.h"

/* Names of threads that a line shows. */
#define SHOWN 4

static struct {
	bool json;
	struct ct_list roots;
} my;

static const struct ct_option options[] = {
	CT_FLAG("json", &my.json, "as JSON"),
	CT_LIST("debug-dir", "DIR", &my.roots, "look for debug files in DIR, too"), CT_END
};

struct thread {
	const struct ct_sample *sample;
	const char *name, *state, *lock;
	int64_t tid, call; /* CALL: -1 = none */
};

/* Threads with the same stack, state and system call: threads[first .. first + count - 1]. */
struct group {
	size_t first, count;
};

struct all {
	struct ct_profile *p;
	struct thread *threads;
	size_t count;
	struct group *groups;
	size_t group_count, group_room;
};

/* Calls in which threads wait. */
static const struct {
	long number;
	const char *name;
} calls[] = {
#define CALL(name)                                                                                 \
	{                                                                                          \
		SYS_##name, #name                                                                  \
	}
#ifdef SYS_poll
	CALL(poll),
	CALL(select),
	CALL(epoll_wait),
	CALL(pause),
#endif
	CALL(futex),
	CALL(ppoll),
	CALL(pselect6),
	CALL(epoll_pwait),
	CALL(nanosleep),
	CALL(clock_nanosleep),
	CALL(read),
	CALL(readv),
	CALL(pread64),
	CALL(preadv),
	CALL(write),
	CALL(writev),
	CALL(pwrite64),
	CALL(pwritev),
	CALL(recvfrom),
	CALL(recvmsg),
	CALL(recvmmsg),
	CALL(sendto),
	CALL(sendmsg),
	CALL(accept),
	CALL(accept4),
	CALL(connect),
	CALL(wait4),
	CALL(waitid),
	CALL(rt_sigtimedwait),
	CALL(rt_sigsuspend),
	CALL(flock),
	CALL(fcntl),
	CALL(fsync),
	CALL(fdatasync),
	CALL(openat),
	CALL(ioctl),
	CALL(io_uring_enter),
	CALL(io_getevents),
	CALL(msgrcv),
	CALL(msgsnd),
	CALL(semop),
	CALL(semtimedop),
	CALL(mq_timedreceive),
	CALL(mq_timedsend),
	CALL(splice),
	CALL(sendfile),
	CALL(getrandom),
	CALL(restart_syscall),
};

static const char *call_name(int64_t number)
{
	static char text[40];

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (calls[i].number == number)
			return calls[i].name;
	snprintf(text, sizeof(text), "system call %" PRId64, number);
	return text;
}

static struct thread read_thread(const struct ct_profile *p, const struct ct_sample *s)
{
	const struct ct_label_set *set = &p->label_sets[s->label_set];
	struct thread t = { s, "", "unknown", "", 0, -1 };

	for (uint32_t i = 0; i < set->count; i++) {
		const struct ct_label *l = &p->labels[set->first + i];
		const char *key = ct_text(p, l->key), *text = ct_text(p, l->text);

		if (!strcmp(key, "thread"))
			t.name = text;
		else if (!strcmp(key, "state"))
			t.state = text;
		else if (!strcmp(key, "lock"))
			t.lock = text;
		else if (!strcmp(key, "tid"))
			t.tid = l->number;
		else if (!strcmp(key, "syscall"))
			t.call = l->number;
	}
	return t;
}

static const struct ct_profile *sorted; /* for by_place */

static int by_place(const void *a, const void *b)
{
	const struct thread *x = a, *y = b;
	uint32_t dx = x->sample->depth, dy = y->sample->depth;
	int order = strcmp(x->state, y->state);

	if (!order && x->call != y->call)
		order = x->call < y->call ? -1 : 1;
	if (!order && dx != dy)
		order = dx < dy ? -1 : 1;
	return order ? order
		     : memcmp(ct_frames(sorted, x->sample), ct_frames(sorted, y->sample),
			      dx * sizeof(uint32_t));
}

static int by_tid(const void *a, const void *b)
{
	const struct thread *x = a, *y = b;

	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static int by_count(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static void group(struct all *all)
{
	sorted = all->p;
	qsort(all->threads, all->count, sizeof(*all->threads), by_place);
	for (size_t i = 0; i < all->count; i++) {
		struct group *g = all->group_count ? &all->groups[all->group_count - 1] : NULL;

		if (g && !by_place(&all->threads[g->first], &all->threads[i]))
			g->count++;
		else
			*CT_PUSH(all->groups, all->group_count, all->group_room) =
				(struct group){ i, 1 };
	}
	for (size_t i = 0; i < all->group_count; i++)
		qsort(all->threads + all->groups[i].first, all->groups[i].count,
		      sizeof(*all->threads), by_tid);
	if (all->group_count)
		qsort(all->groups, all->group_count, sizeof(*all->groups), by_count);
}

/* A running thread has a frame that says so; it isn't shown. */
static bool has_stack(const struct thread *t)
{
	return strcmp(t->state, "waiting") == 0;
}

/* Calls SEE for each function of T's stack, the innermost first, inlined ones too. */
static void each_frame(const struct ct_profile *p, const struct thread *t,
		       void (*see)(const struct ct_profile *p, const struct ct_location *l,
				   const struct ct_line *line, void *arg),
		       void *arg)
{
	for (uint32_t i = 0; has_stack(t) && i < t->sample->depth; i++) {
		const struct ct_location *l = &p->locations[ct_frames(p, t->sample)[i]];

		for (uint32_t k = 0; k < l->line_count; k++)
			see(p, l, &p->lines[l->first_line + k], arg);
		if (!l->line_count)
			see(p, l, NULL, arg);
	}
}

/* ---- text ---- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void print_place(const struct ct_profile *p, const struct ct_location *l)
{
	const char *file = l->mapping == CT_NONE ? "" : ct_text(p, p->mappings[l->mapping].file);

	printf("0x%" PRIx64, l->address);
	if (*file) {
		fputs(" in ", stdout);
		ct_out_text(stdout, base_name(file));
	}
}

static void print_frame(const struct ct_profile *p, const struct ct_location *l,
			const struct ct_line *line, void *arg)
{
	const struct ct_function *f =
		line && line->function != CT_NONE ? &p->functions[line->function] : NULL;
	char *name = f ? ct_short_name(ct_text(p, f->name), *(size_t *)arg) : NULL;

	fputs("        ", stdout);
	if (name)
		ct_out_text(stdout, name);
	else
		print_place(p, l);
	if (name && line->line > 0 && *ct_text(p, f->filename)) {
		fputs("  ", stdout);
		ct_out_text(stdout, base_name(ct_text(p, f->filename)));
		printf(":%" PRId64, line->line);
	}
	putchar('\n');
	free(name);
}

static void print_names(const struct all *all, const struct group *g)
{
	size_t shown = 0;

	for (size_t i = 0; i < g->count && shown < SHOWN; i++, shown++) {
		const struct thread *t = &all->threads[g->first + i];

		printf("%s", i ? ", " : "");
		ct_out_text(stdout, t->name);
		printf("(%" PRId64 ")", t->tid);
	}
	if (shown < g->count)
		printf(", and %zu more", g->count - shown);
}

/* The locks of a group: the one, or how many there are. */
static void print_locks(const struct all *all, const struct group *g)
{
	const struct thread *first = &all->threads[g->first];
	bool one = true;

	if (!*first->lock)
		return;
	for (size_t i = 1; i < g->count; i++)
		one &= !strcmp(first->lock, all->threads[g->first + i].lock);
	fputs(one ? " " : " of several addresses", stdout);
	if (one)
		ct_out_text(stdout, first->lock);
}

static void print_group(const struct all *all, const struct group *g, size_t *columns)
{
	const struct thread *t = &all->threads[g->first];

	printf("\n%s%6zu %s%s", ct_out_paint(CT_BOLD), g->count, t->state, ct_out_paint(CT_PLAIN));
	if (has_stack(t) && t->call >= 0)
		printf(" in %s", call_name(t->call));
	print_locks(all, g);
	fputs(": ", stdout);
	print_names(all, g);
	putchar('\n');
	each_frame(all->p, t, print_frame, columns);
}

static void print_all(const struct all *all, int pid)
{
	size_t columns = ct_short_name_columns();

	columns = columns > 48 ? columns - 32 : columns;
	ct_out_begin();
	printf("%zu threads of process %d, in %zu places\n", all->count, pid, all->group_count);
	for (size_t i = 0; i < all->p->comment_count; i++) {
		ct_out_text(stdout, ct_text(all->p, all->p->comments[i]));
		putchar('\n');
	}
	for (size_t i = 0; i < all->group_count; i++)
		print_group(all, &all->groups[i], &columns);
}

/* ---- JSON ---- */

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

static void json_group(const struct all *all, const struct group *g, struct ct_json *j)
{
	const struct thread *t = &all->threads[g->first];

	ct_json_open(j, NULL, '{');
	ct_json_integer(j, "count", (int64_t)g->count);
	ct_json_text(j, "state", t->state);
	if (has_stack(t) && t->call >= 0)
		ct_json_text(j, "syscall", call_name(t->call));
	ct_json_open(j, "threads", '[');
	for (size_t i = 0; i < g->count; i++) {
		const struct thread *of = &all->threads[g->first + i];

		ct_json_open(j, NULL, '{');
		ct_json_integer(j, "tid", of->tid);
		ct_json_text(j, "name", of->name);
		if (*of->lock)
			ct_json_text(j, "lock", of->lock);
		ct_json_close(j, '}');
	}
	ct_json_close(j, ']');
	ct_json_open(j, "stack", '[');
	each_frame(all->p, t, json_frame, j);
	ct_json_close(j, ']');
	ct_json_close(j, '}');
}

static void json_all(const struct all *all, int pid)
{
	struct ct_json j;

	ct_out_begin();
	j = ct_json_to(stdout);
	ct_json_open(&j, NULL, '{');
	ct_json_integer(&j, "pid", pid);
	ct_json_integer(&j, "threads", (int64_t)all->count);
	ct_json_open(&j, "groups", '[');
	for (size_t i = 0; i < all->group_count; i++)
		json_group(all, &all->groups[i], &j);
	ct_json_close(&j, ']');
	ct_json_close(&j, '}');
}

static void name_functions(struct ct_profile *p)
{
	const char **roots = ct_memory_alloc((my.roots.count + 2) * sizeof(*roots));
	struct ct_symbolized done;

	for (unsigned long i = 0; i < my.roots.count; i++)
		roots[i] = my.roots.items[i];
	roots[my.roots.count] = CT_DEBUG_ROOT;
	ct_verb_symbolize_profile(p, roots, &done);
	free(roots);
}

static int show(int pid)
{
	struct all all = { 0 };
	char *why;

	all.p = ct_control_profile_threads(pid, &why);
	if (!all.p) {
		fprintf(stderr, "cprof threads: %s\n", why);
		free(why);
		return CT_FAILED;
	}
	name_functions(all.p);
	all.count = all.p->sample_count;
	all.threads = ct_memory_alloc((all.count + 1) * sizeof(*all.threads));
	for (size_t i = 0; i < all.count; i++)
		all.threads[i] = read_thread(all.p, &all.p->samples[i]);
	group(&all);
	if (my.json)
		json_all(&all, pid);
	else
		print_all(&all, pid);
	free(all.threads);
	free(all.groups);
	ct_model_free(all.p);
	return ct_out_end();
}

static int run(int argc, char **argv)
{
	const struct ct_option *const tables[] = { options, ct_short_name_options, NULL };
	int first = ct_options_parse(&ct_verb_threads, argc, argv, tables);
	char *rest;
	long pid;

	if (first < 0)
		return ct_options_status(first);
	if (argc - first != 1)
		return ct_options_wrong(&ct_verb_threads,
					"give one process id; \"cprof ps\" lists them");
	pid = strtol(argv[first], &rest, 10);
	if (*rest || pid <= 0 || pid > INT32_MAX)
		return ct_options_wrong(&ct_verb_threads, "\"%s\" is no process id", argv[first]);
	return show((int)pid);
}

const struct ct_verb ct_verb_threads = {
	.name = "threads",
	.operands = "PID",
	.summary = "Show where every thread of a running process is now",
	.details = "Equal stacks together, the most frequent first, and what they wait for. No "
		   "thread is\n"
		   "stopped or signalled; one that runs has no stack. The process needs no mode "
		   "that is on.\n",
	.run = run,
};
