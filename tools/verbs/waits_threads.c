/* SPDX-License-Identifier: BSD-3-Clause */
/* The threads of a wall profile; see verbs.h. */
#include "verbs/verbs.h"

#include <stdlib.h>
#include <string.h>

#define COLUMNS_BEFORE 62

/* One thread, or all of one name. */
struct thread {
	int64_t running, ready, waited, idle;
	struct ct_sums reasons; /* "lock: Stats::add", without idle waits */
};

struct ct_waits_threads {
	struct ct_sums names;
	struct thread *list; /* by name */
	size_t count, room;
};

struct ct_waits_threads *ct_waits_threads_new(void)
{
	return ct_memory_alloc(sizeof(struct ct_waits_threads));
}

void ct_waits_threads_free(struct ct_waits_threads *t)
{
	for (size_t i = 0; i < t->count; i++)
		ct_own_stack_release(&t->list[i].reasons);
	ct_own_stack_release(&t->names);
	free(t->list);
	free(t);
}

void ct_waits_threads_add(struct ct_waits_threads *t, const char *name, const char *cause,
			  const char *function, bool idle, int64_t value)
{
	struct ct_sum *sum = ct_own_stack_sum(&t->names, name ? name : "(no thread)");
	struct thread *thread;
	int64_t *part;

	sum->value = ct_add(sum->value, value);
	/* The count is one more than the thread's index. */
	if (!sum->count) {
		*CT_PUSH(t->list, t->count, t->room) = (struct thread){ 0 };
		sum->count = (int64_t)t->count;
	}
	thread = &t->list[sum->count - 1];
	part = !cause			    ? &thread->running
	       : !strcmp(cause, "runnable") ? &thread->ready
	       : idle			    ? &thread->idle
					    : &thread->waited;
	*part = ct_add(*part, value);
	if (part == &thread->waited) {
		char *text = ct_memory_printf("%s: %s", cause, function);

		sum = ct_own_stack_sum(&thread->reasons, text);
		sum->value = ct_add(sum->value, value);
		free(text);
	}
}

static void put_thread(struct thread *t, const struct ct_sum *name, const char *unit)
{
	const int64_t parts[] = { t->running, t->ready, t->waited, t->idle };
	char text[CT_NUMBER_ROOM], *line;

	printf("%10s", ct_numbers_format(text, name->value, unit, "auto"));
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		printf("%9s", parts[i] ? ct_trimmed(ct_numbers_percent(text, parts[i], name->value))
				       : "-");
	ct_own_stack_sort(&t->reasons);
	line = ct_memory_printf("%s%s%s", name->name, t->reasons.count ? ", mostly " : "",
				t->reasons.count ? t->reasons.list[0].name : "");
	fputs("  ", stdout);
	ct_short_name_print(line, COLUMNS_BEFORE);
	putchar('\n');
	free(line);
}

void ct_waits_threads_print(struct ct_waits_threads *t, const char *unit, long rows)
{
	size_t shown;

	ct_own_stack_sort(&t->names);
	shown = rows && (size_t)rows < t->names.count ? (size_t)rows : t->names.count;
	printf("\n%s%10s%9s%9s%9s%9s  thread%s\n", ct_out_paint(CT_DIM), "time", "running", "ready",
	       "waited", "idle", ct_out_paint(CT_PLAIN));
	for (size_t i = 0; i < shown; i++)
		put_thread(&t->list[t->names.list[i].count - 1], &t->names.list[i], unit);
	if (shown < t->names.count)
		printf("%48s%zu more\n", "", t->names.count - shown);
}
