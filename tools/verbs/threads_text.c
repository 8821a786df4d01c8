/* SPDX-License-Identifier: BSD-3-Clause */
/* The threads of a process now, grouped and as text; see threads_text.h. */
#include "verbs/threads_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "core/memory.h"
#include "core/out.h"
#include "core/short_name.h"

/* Names of threads that a line shows. */
#define SHOWN 4

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

const char *ct_threads_text_call(int64_t number)
{
	static char text[40];

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (calls[i].number == number)
			return calls[i].name;
	snprintf(text, sizeof(text), "system call %" PRId64, number);
	return text;
}

static struct ct_thread read_thread(const struct ct_profile *p, const struct ct_sample *s)
{
	const struct ct_label_set *set = &p->label_sets[s->label_set];
	struct ct_thread t = { s, "", "unknown", "", 0, -1 };

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
	const struct ct_thread *x = a, *y = b;
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
	const struct ct_thread *x = a, *y = b;

	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static int by_count(const void *a, const void *b)
{
	const struct ct_thread_group *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static void group(struct ct_threads *all)
{
	sorted = all->p;
	qsort(all->threads, all->count, sizeof(*all->threads), by_place);
	for (size_t i = 0; i < all->count; i++) {
		struct ct_thread_group *g =
			all->group_count ? &all->groups[all->group_count - 1] : NULL;

		if (g && !by_place(&all->threads[g->first], &all->threads[i]))
			g->count++;
		else
			*CT_PUSH(all->groups, all->group_count, all->group_room) =
				(struct ct_thread_group){ i, 1 };
	}
	for (size_t i = 0; i < all->group_count; i++)
		qsort(all->threads + all->groups[i].first, all->groups[i].count,
		      sizeof(*all->threads), by_tid);
	if (all->group_count)
		qsort(all->groups, all->group_count, sizeof(*all->groups), by_count);
}

void ct_threads_text_group(struct ct_threads *all, struct ct_profile *p)
{
	*all = (struct ct_threads){ .p = p, .count = p->sample_count };
	all->threads = ct_memory_alloc((all->count + 1) * sizeof(*all->threads));
	for (size_t i = 0; i < all->count; i++)
		all->threads[i] = read_thread(p, &p->samples[i]);
	group(all);
}

void ct_threads_text_release(struct ct_threads *all)
{
	free(all->threads);
	free(all->groups);
	ct_model_free(all->p);
	*all = (struct ct_threads){ 0 };
}

bool ct_threads_text_has_stack(const struct ct_thread *t)
{
	return strcmp(t->state, "waiting") == 0;
}

void ct_threads_text_frames(const struct ct_profile *p, const struct ct_thread *t,
			    void (*see)(const struct ct_profile *p, const struct ct_location *l,
					const struct ct_line *line, void *arg),
			    void *arg)
{
	for (uint32_t i = 0; ct_threads_text_has_stack(t) && i < t->sample->depth; i++) {
		const struct ct_location *l = &p->locations[ct_frames(p, t->sample)[i]];

		for (uint32_t k = 0; k < l->line_count; k++)
			see(p, l, &p->lines[l->first_line + k], arg);
		if (!l->line_count)
			see(p, l, NULL, arg);
	}
}

/* ---- text ---- */

struct how {
	FILE *to;
	size_t columns; /* of a name; 0: any */
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void print_place(FILE *to, const struct ct_profile *p, const struct ct_location *l)
{
	const char *file = l->mapping == CT_NONE ? "" : ct_text(p, p->mappings[l->mapping].file);

	fprintf(to, "0x%" PRIx64, l->address);
	if (*file) {
		fputs(" in ", to);
		ct_out_text(to, base_name(file));
	}
}

static void print_frame(const struct ct_profile *p, const struct ct_location *l,
			const struct ct_line *line, void *arg)
{
	const struct how *how = arg;
	FILE *to = how->to;
	const struct ct_function *f =
		line && line->function != CT_NONE ? &p->functions[line->function] : NULL;
	char *name = f ? ct_short_name(ct_text(p, f->name), how->columns) : NULL;

	fputs("        ", to);
	if (name)
		ct_out_text(to, name);
	else
		print_place(to, p, l);
	if (name && line->line > 0 && *ct_text(p, f->filename)) {
		fputs("  ", to);
		ct_out_text(to, base_name(ct_text(p, f->filename)));
		fprintf(to, ":%" PRId64, line->line);
	}
	fputc('\n', to);
	free(name);
}

static void print_names(FILE *to, const struct ct_threads *all, const struct ct_thread_group *g)
{
	size_t shown = 0;

	for (size_t i = 0; i < g->count && shown < SHOWN; i++, shown++) {
		const struct ct_thread *t = &all->threads[g->first + i];

		fprintf(to, "%s", i ? ", " : "");
		ct_out_text(to, t->name);
		fprintf(to, "(%" PRId64 ")", t->tid);
	}
	if (shown < g->count)
		fprintf(to, ", and %zu more", g->count - shown);
}

/* The locks of a group: the one, or how many there are. */
static void print_locks(FILE *to, const struct ct_threads *all, const struct ct_thread_group *g)
{
	const struct ct_thread *first = &all->threads[g->first];
	bool one = true;

	if (!*first->lock)
		return;
	for (size_t i = 1; i < g->count; i++)
		one &= !strcmp(first->lock, all->threads[g->first + i].lock);
	fputs(one ? " " : " of several addresses", to);
	if (one)
		ct_out_text(to, first->lock);
}

static void print_group(const struct ct_threads *all, const struct ct_thread_group *g,
			struct how *how)
{
	const struct ct_thread *t = &all->threads[g->first];
	FILE *to = how->to;

	fprintf(to, "\n%s%6zu %s%s", ct_out_paint(CT_BOLD), g->count, t->state,
		ct_out_paint(CT_PLAIN));
	if (ct_threads_text_has_stack(t) && t->call >= 0)
		fprintf(to, " in %s", ct_threads_text_call(t->call));
	print_locks(to, all, g);
	fputs(": ", to);
	print_names(to, all, g);
	fputc('\n', to);
	ct_threads_text_frames(all->p, t, print_frame, how);
}

void ct_threads_text_print(const struct ct_threads *all, int pid, size_t columns, FILE *to)
{
	struct how how = { to, columns > 48 ? columns - 32 : columns };

	fprintf(to, "%zu threads of process %d, in %zu places\n", all->count, pid,
		all->group_count);
	for (size_t i = 0; i < all->p->comment_count; i++) {
		ct_out_text(to, ct_text(all->p, all->p->comments[i]));
		fputc('\n', to);
	}
	for (size_t i = 0; i < all->group_count; i++)
		print_group(all, &all->groups[i], &how);
}
