/* SPDX-License-Identifier: BSD-3-Clause */
/* A run as what each thread did when; see convert.h. */
#include <stdlib.h>
#include <string.h>

#include "convert/convert.h"
#include "core/read.h"
#include "core/times.h"
#include "flame/flame.h"

/* One file on its way into the trace. */
struct source {
	struct ct_trace *t;
	const struct ct_profile *p;
	const char *type;
	uint64_t offset;
	bool is_wall, has_cpu; /* HAS_CPU: another file has this one's running time */
	bool is_side;	       /* holders of locks don't wait; wakers' waits are in another file */
	uint32_t *threads;     /* by thread of P: index in T */
	uint32_t *stacks;      /* by sample */
};

static const char *label(const struct source *s, uint32_t sample, const char *key)
{
	return ct_flame_frames_label(s->p, &s->p->samples[sample], key);
}

static const char *program_of(const struct ct_profile *p)
{
	return p->mapping_count ? ct_base_name(ct_text(p, p->mappings[0].file)) : "program";
}

static void map_threads(struct source *s)
{
	const struct ct_times *times = s->p->times;
	int64_t process = ct_times_join_process(s->p);
	struct ct_trace *t = s->t;

	s->threads = ct_memory_alloc((times->thread_count + 1) * sizeof(*s->threads));
	for (size_t i = 0; i < times->thread_count; i++) {
		const struct ct_times_thread *from = &times->threads[i];
		int64_t pid = from->process ? from->process : process;
		size_t k = 0;

		while (k < t->thread_count &&
		       (t->threads[k].pid != pid || t->threads[k].tid != from->tid ||
			strcmp(t->threads[k].name, ct_text(s->p, from->name))))
			k++;
		if (k == t->thread_count)
			*CT_PUSH(t->threads, t->thread_count, t->thread_room) =
				(struct ct_trace_thread){ .pid = pid,
							  .tid = from->tid,
							  .name = ct_text(s->p, from->name),
							  .process = program_of(s->p),
							  .begin = from->begin + s->offset,
							  .end = from->end ? from->end + s->offset
									   : 0 };
		s->threads[i] = (uint32_t)k;
	}
}

static void map_stacks(struct source *s, struct ct_flame_map *known)
{
	struct ct_trace *t = s->t;
	struct ct_frames_of of;
	uint32_t *frames = NULL;
	size_t room = 0;

	ct_flame_frames_take(t->frames, s->p, &of);
	s->stacks = ct_memory_alloc((s->p->sample_count + 1) * sizeof(*s->stacks));
	for (size_t i = 0; i < s->p->sample_count; i++) {
		size_t depth = ct_flame_frames_stack(&of, &s->p->samples[i], &frames, &room);
		uint32_t stack = CT_NONE;

		for (size_t k = 0; k < depth; k++) {
			struct ct_flame_key key = { stack, frames[k], 0 };
			uint32_t *at = ct_flame_map_at(known, key);

			if (*at == CT_NONE) {
				*at = (uint32_t)t->stack_count;
				*CT_PUSH(t->stacks, t->stack_count, t->stack_room) =
					(struct ct_trace_stack){ stack, frames[k] };
			}
			stack = *at;
		}
		s->stacks[i] = stack;
	}
	free(frames);
	ct_flame_frames_of_release(&of);
}

static void add_item(const struct source *s, uint32_t thread, struct ct_trace_item item)
{
	struct ct_trace_thread *to = &s->t->threads[s->threads[thread]];

	item.begin += s->offset;
	*CT_PUSH(to->items, to->count, to->room) = item;
}

static void add_event(const struct source *s, const struct ct_event *e)
{
	const char *state = label(s, e->sample, "state"), *wait = label(s, e->sample, "wait");
	bool waits = s->is_wall ? state && !strcmp(state, "waiting") : e->duration > 0;
	bool is_heap = !strcmp(s->type, "alloc_space") || !strcmp(s->type, "inuse_space");
	double weight = ct_times_weight(s->p->times, e);

	if (e->death && !is_heap)
		return;
	if (!waits && !is_heap && s->has_cpu)
		return;
	add_item(s, e->thread,
		 (struct ct_trace_item){ .kind = waits	   ? CT_TRACE_WAIT
						 : is_heap ? CT_TRACE_ALLOCATION
							   : CT_TRACE_SAMPLE,
					 .begin = e->begin,
					 .duration = e->duration,
					 .weight = e->death ? -weight : weight,
					 .name = wait	 ? wait
						 : state ? state
							 : s->type,
					 .stack = s->stacks[e->sample],
					 .other = CT_NONE });
}

static void add_source(struct source *s)
{
	const struct ct_times *times = s->p->times;
	int64_t pid = ct_times_join_process(s->p);
	bool has_memory = false;

	for (size_t i = 0; i < times->event_count && !s->is_side; i++)
		add_event(s, &times->events[i]);
	for (size_t i = 0; i < times->span_count; i++)
		add_item(s, times->spans[i].thread,
			 (struct ct_trace_item){ .kind = CT_TRACE_SPAN,
						 .begin = times->spans[i].begin,
						 .duration = times->spans[i].duration,
						 .weight = (double)times->spans[i].weight,
						 .name = ct_text(s->p, times->spans[i].name),
						 .stack = CT_NONE,
						 .other = CT_NONE });
	for (size_t i = 0; i < times->wake_count; i++)
		add_item(s, times->wakes[i].woken,
			 (struct ct_trace_item){ .kind = CT_TRACE_WAKE,
						 .begin = times->wakes[i].when,
						 .weight = 1,
						 .name = "woken",
						 .stack = CT_NONE,
						 .other = s->threads[times->wakes[i].waker] });
	for (size_t i = 0; i < s->t->memory_count; i++)
		has_memory |= s->t->memory[i].pid == pid;
	for (size_t i = 0; i < times->counter_count && !has_memory; i++)
		*CT_PUSH(s->t->memory, s->t->memory_count, s->t->memory_room) =
			(struct ct_trace_memory){ pid, times->counters[i].when + s->offset,
						  times->counters[i].resident };
}

static int by_begin(const void *x, const void *y)
{
	const struct ct_trace_item *a = x, *b = y;

	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	return a->duration > b->duration ? -1 : a->duration < b->duration;
}

/* The same span may be in the files of several modes. */
static void order_items(struct ct_trace_thread *t)
{
	size_t kept = 0;

	if (t->count)
		qsort(t->items, t->count, sizeof(*t->items), by_begin);
	for (size_t i = 0; i < t->count; i++) {
		const struct ct_trace_item *a = &t->items[i];
		bool twice = false;

		for (size_t k = kept; a->kind == CT_TRACE_SPAN && k-- && !twice &&
				      t->items[k].begin + 1000000 >= a->begin;)
			twice = t->items[k].kind == CT_TRACE_SPAN &&
				t->items[k].duration / 1000 == a->duration / 1000 &&
				!strcmp(t->items[k].name, a->name) &&
				t->items[k].weight == a->weight && a->duration >= 1000000;
		if (!twice)
			t->items[kept++] = *a;
	}
	t->count = kept;
}

bool ct_trace_is_main(const struct ct_trace *t, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (t->threads[k].pid == t->threads[i].pid)
			return false;
	return true;
}

static struct ct_profile *read_file(const char *file)
{
	struct ct_profile *p = ct_load_file(file);
	int answer = p ? 0 : -1;

	if (p && (!ct_times_filter_has(p, file) || !p->type_count)) {
		answer = -1;
	} else if (p) {
		answer = ct_filter_alone(p);
	}
	if (!answer)
		return p;
	if (p)
		ct_model_free(p);
	return NULL;
}

static const char *type_name(const struct ct_profile *p)
{
	return ct_text(p, p->types[ct_times_type(p)].type);
}

bool ct_trace_open(struct ct_trace *t, char *const *files, int count)
{
	struct ct_flame_map known = { 0 };
	bool has_cpu = false;

	*t = (struct ct_trace){ .start = INT64_MAX, .period = 1e7 };
	t->frames = ct_memory_alloc(sizeof(*t->frames));
	ct_flame_frames_init(t->frames, CT_BY_FUNCTION);
	t->profiles = ct_memory_alloc((size_t)count * sizeof(struct ct_profile *));
	for (int i = 0; i < count; i++) {
		struct ct_profile *p = read_file(files[i]);

		if (!p)
			return false;
		t->profiles[t->profile_count++] = p;
		t->start = ct_times_start(p) < t->start ? ct_times_start(p) : t->start;
		if (!strcmp(type_name(p), "cpu")) {
			has_cpu = true;
			t->period = p->period > 0 ? (double)p->period : t->period;
		}
	}
	for (size_t i = 0; i < t->profile_count; i++) {
		const struct ct_profile *p = t->profiles[i];
		struct source s = { .t = t, .p = p, .type = type_name(p) };

		s.offset = ((uint64_t)ct_times_start(p) - (uint64_t)t->start) % CT_TIMES_LATEST;
		s.is_wall = !strcmp(s.type, "wall");
		s.has_cpu = s.is_wall && has_cpu;
		s.is_side = !strcmp(s.type, "blocking") ||
			    (count > 1 && !strcmp(ct_text(p, p->types[0].type), "waits"));
		t->end = p->times->end + s.offset > t->end ? p->times->end + s.offset : t->end;
		map_threads(&s);
		map_stacks(&s, &known);
		add_source(&s);
		free(s.threads);
		free(s.stacks);
	}
	for (size_t i = 0; i < t->thread_count; i++)
		order_items(&t->threads[i]);
	ct_flame_map_release(&known);
	return true;
}

void ct_trace_release(struct ct_trace *t)
{
	for (size_t i = 0; i < t->thread_count; i++)
		free(t->threads[i].items);
	for (size_t i = 0; i < t->profile_count; i++)
		ct_model_free(t->profiles[i]);
	ct_flame_frames_release(t->frames);
	free(t->frames);
	free(t->profiles);
	free(t->threads);
	free(t->stacks);
	free(t->memory);
}
