/* SPDX-License-Identifier: BSD-3-Clause */
/* The threads of a process now, grouped and as text; see verbs.h. */
#include "verbs/verbs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Number of threads that a line names. */
#define SHOWN 4

static const struct ct_profile *sorted; /* argument of by_place */

static int by_place(const void *a, const void *b)
{
	const struct ct_thread_wait *x = a, *y = b;
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
	const struct ct_thread_wait *x = a, *y = b;

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
		all->threads[i] = ct_thread_wait_of(p, &p->samples[i]);
	group(all);
}

void ct_threads_text_release(struct ct_threads *all)
{
	free(all->threads);
	free(all->groups);
	ct_model_free(all->p);
	*all = (struct ct_threads){ 0 };
}

bool ct_threads_text_has_stack(const struct ct_thread_wait *t)
{
	return strcmp(t->state, "waiting") == 0;
}

void ct_threads_text_frames(const struct ct_profile *p, const struct ct_thread_wait *t,
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
	size_t columns; /* columns of a name; 0: any number */
	const char *process;
};

/* Prints "libfoo.so+0x1234", or "0x7f3746c39a46 in libfoo.so" where the file is missing that tells
 * its addresses. */
static void print_place(FILE *to, const struct ct_profile *p, const struct ct_location *l)
{
	const struct ct_mapping *m = l->mapping == CT_NONE ? NULL : &p->mappings[l->mapping];
	bool in_file = m && m->start == m->offset;

	if (in_file)
		ct_out_text(to, ct_base_name(ct_text(p, m->file)));
	fprintf(to, "%s0x%" PRIx64, in_file ? "+" : "", l->address);
	if (m && !in_file && *ct_text(p, m->file)) {
		fputs(" in ", to);
		ct_out_text(to, ct_base_name(ct_text(p, m->file)));
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
		ct_out_text(to, ct_base_name(ct_text(p, f->filename)));
		fprintf(to, ":%" PRId64, line->line);
	}
	fputc('\n', to);
	free(name);
}

static void print_names(FILE *to, const struct ct_threads *all, const struct ct_thread_group *g)
{
	size_t shown = 0;

	for (size_t i = 0; i < g->count && shown < SHOWN; i++, shown++) {
		const struct ct_thread_wait *t = &all->threads[g->first + i];

		fprintf(to, "%s", i ? ", " : "");
		ct_out_text(to, t->name);
		fprintf(to, "(%" PRId64 ")", t->tid);
	}
	if (shown < g->count)
		fprintf(to, ", and %zu more", g->count - shown);
}

static char *wait_of(const struct ct_threads *all, const struct ct_thread_wait *t)
{
	return ct_thread_wait_text(t, all->threads, all->count);
}

/* A line for each different wait of the group, with the number of threads if there are several. */
static void print_waits(FILE *to, const struct ct_threads *all, const struct ct_thread_group *g)
{
	struct wait {
		char *text;
		size_t count;
	} waits[SHOWN];
	size_t known = 0, others = 0;

	for (size_t i = 0; i < g->count; i++) {
		char *text = wait_of(all, &all->threads[g->first + i]);
		size_t k = 0;

		while (text && k < known && strcmp(text, waits[k].text) != 0)
			k++;
		if (text && k == known && known < SHOWN) {
			waits[known++] = (struct wait){ text, 1 };
			continue;
		}
		if (text && k < known)
			waits[k].count++;
		else
			others += text != NULL;
		free(text);
	}
	for (size_t k = 0; k < known; k++) {
		fputs("       ", to);
		if (waits[k].count < g->count)
			fprintf(to, "%zu ", waits[k].count);
		ct_out_text(to, waits[k].text);
		fputc('\n', to);
		free(waits[k].text);
	}
	if (others)
		fprintf(to, "       %zu for others\n", others);
}

static void print_group(const struct ct_threads *all, const struct ct_thread_group *g,
			struct how *how)
{
	const struct ct_thread_wait *t = &all->threads[g->first];
	FILE *to = how->to;

	fprintf(to, "\n%s%6zu %s%s", ct_out_paint(CT_BOLD), g->count, t->state,
		ct_out_paint(CT_PLAIN));
	if (ct_threads_text_has_stack(t) && t->call >= 0)
		fprintf(to, " in %s", ct_thread_wait_call(t->call));
	fputs(": ", to);
	print_names(to, all, g);
	fputc('\n', to);
	print_waits(to, all, g);
	ct_threads_text_frames(all->p, t, print_frame, how);
	if (strcmp(t->state, "running") == 0 || strcmp(t->state, "runnable") == 0)
		fprintf(to,
			"        (no stack: a thread that runs is not interrupted; cprof record "
			"-for=1s %s shows where it runs)\n",
			how->process);
}

/* ---- deadlocks ---- */

static const struct ct_thread_wait *thread_of(const struct ct_threads *all, int64_t tid)
{
	for (size_t i = 0; i < all->count; i++)
		if (all->threads[i].tid == tid)
			return &all->threads[i];
	return NULL;
}

/* Returns the thread with the lowest id in deadlock NUMBER, or NULL. */
static const struct ct_thread_wait *first_of(const struct ct_threads *all, int64_t number)
{
	const struct ct_thread_wait *first = NULL;

	for (size_t i = 0; i < all->count; i++)
		if (all->threads[i].deadlock == number &&
		    (!first || all->threads[i].tid < first->tid))
			first = &all->threads[i];
	return first;
}

size_t ct_threads_text_deadlock(const struct ct_threads *all, int64_t number,
				void (*see)(const struct ct_threads *all,
					    const struct ct_thread_wait *t, void *arg),
				void *arg)
{
	const struct ct_thread_wait *first = first_of(all, number), *t = first;
	size_t count = 0;

	for (; t && (!count || t != first) && count < all->count; count++) {
		if (see)
			see(all, t, arg);
		t = thread_of(all, t->joined > 0 ? t->joined : t->holder);
	}
	return count;
}

static void print_in_deadlock(const struct ct_threads *all, const struct ct_thread_wait *t,
			      void *arg)
{
	char *text = wait_of(all, t);
	FILE *to = arg;

	fputs("        ", to);
	ct_out_text(to, t->name);
	fprintf(to, "(%" PRId64 ") waits ", t->tid);
	ct_out_text(to, text ? text : "");
	fputc('\n', to);
	free(text);
}

static void print_deadlocks(FILE *to, const struct ct_threads *all)
{
	size_t count;

	for (int64_t n = 1; (count = ct_threads_text_deadlock(all, n, NULL, NULL)); n++) {
		fprintf(to, "\n%sdeadlock: ", ct_out_paint(CT_RED));
		if (count == 1)
			fputs("a thread waits for itself", to);
		else
			fprintf(to, "%zu threads wait for each other", count);
		fprintf(to, "%s\n", ct_out_paint(CT_PLAIN));
		ct_threads_text_deadlock(all, n, print_in_deadlock, to);
	}
}

void ct_threads_text_print(const struct ct_threads *all, int pid, size_t columns, FILE *to)
{
	struct how how = { to, columns > 48 ? columns - 32 : columns, ct_control_name(pid) };

	fprintf(to, "%zu thread%s of process %s, in %zu place%s\n", all->count,
		all->count == 1 ? "" : "s", ct_control_name(pid), all->group_count,
		all->group_count == 1 ? "" : "s");
	for (size_t i = 0; i < all->p->comment_count; i++) {
		ct_out_text(to, ct_text(all->p, all->p->comments[i]));
		fputc('\n', to);
	}
	print_deadlocks(to, all);
	for (size_t i = 0; i < all->group_count; i++)
		print_group(all, &all->groups[i], &how);
}
