/* SPDX-License-Identifier: BSD-3-Clause */
/* Callgrind's format, for kcachegrind and callgrind_annotate: what each line of a function cost
 * itself, and for each line that called, what the callee cost there.
 *
 * A profile counts samples and not calls, so calls= holds samples. A stack that has an edge
 * several times (recursion) adds to it once.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "convert/convert.h"
#include "flame/flame.h"

/* The cost of FRAME at LINE itself, or, if CALLEE is a frame, of the calls of CALLEE there. */
struct cost {
	uint32_t frame, line, callee;
	uint64_t samples;
	size_t last_sample; /* number + 1 of the last sample that was counted */
};

struct table {
	const struct ct_profile *p;
	size_t type; /* the event that comes first */
	bool counts; /* the first value of a sample is a number of samples */
	struct ct_frames frames;
	struct ct_frames_of of;
	struct ct_flame_map map;
	struct recent {
		uint32_t callee, cost; /* COST: index + 1 */
	} * recent;		       /* by place in of.frames: the last callee there */
	struct cost *costs;
	uint64_t *values; /* type_count for each cost */
	size_t count, room, value_room;
	bool *named;  /* by frame: its name was written */
	bool *placed; /* by string, for modules and for files: the name was written */
};

static uint32_t find_cost(struct table *t, uint32_t frame, uint32_t line, uint32_t callee)
{
	struct ct_flame_key key = { (uint64_t)frame << 32 | line, callee, 0 };
	uint32_t *at = ct_flame_map_at(&t->map, key);

	if (*at == CT_NONE) {
		size_t needed = (t->count + 1) * t->p->type_count;

		*at = t->count;
		*CT_PUSH(t->costs, t->count, t->room) =
			(struct cost){ .frame = frame, .line = line, .callee = callee };
		if (needed > t->value_room)
			t->values = ct_memory_grow(t->values, &t->value_room, needed,
						   sizeof(*t->values));
		memset(t->values + needed - t->p->type_count, 0,
		       t->p->type_count * sizeof(*t->values));
	}
	return *at;
}

/* Returns the cost of CALLEE at a place of a location. Most calls go where the last one went. */
static struct cost *cost_at(struct table *t, uint32_t place, int64_t line, uint32_t callee)
{
	struct recent *r = &t->recent[place];

	if (!r->cost || r->callee != callee)
		*r = (struct recent){ callee,
				      find_cost(t, t->of.frames[place],
						line < 0 || line > INT32_MAX ? 0 : (uint32_t)line,
						callee) +
					      1 };
	return &t->costs[r->cost - 1];
}

static void count_cost(struct table *t, struct cost *c, size_t sample)
{
	const int64_t *values = ct_values(t->p, sample);
	uint64_t *sums = t->values + (size_t)(c - t->costs) * t->p->type_count;

	if (c->last_sample == sample + 1)
		return;
	c->last_sample = sample + 1;
	c->samples += t->counts && values[0] > 0 ? (uint64_t)values[0] : 1;
	for (size_t i = 0; i < t->p->type_count; i++)
		if (values[i] > 0)
			sums[i] += (uint64_t)values[i];
}

/* Takes the frames from the leaf to the root; each frame called the one before it. */
static void take_sample(struct table *t, size_t sample)
{
	const struct ct_sample *s = &t->p->samples[sample];
	uint32_t callee = CT_NONE;

	for (uint32_t i = 0; i < s->depth; i++) {
		uint32_t location = ct_frames(t->p, s)[i];
		const struct ct_location *l = &t->p->locations[location];

		for (uint32_t k = t->of.first[location]; k < t->of.first[location + 1]; k++) {
			uint32_t j = l->first_line + k - t->of.first[location];

			count_cost(t,
				   cost_at(t, k, l->line_count ? t->p->lines[j].line : 0, callee),
				   sample);
			callee = t->of.frames[k];
		}
	}
}

static int by_place(const void *a, const void *b, void *costs)
{
	const struct cost *x = (const struct cost *)costs + *(const uint32_t *)a;
	const struct cost *y = (const struct cost *)costs + *(const uint32_t *)b;

	if (x->frame != y->frame)
		return x->frame < y->frame ? -1 : 1;
	if (x->callee != y->callee && (x->callee == CT_NONE || y->callee == CT_NONE))
		return x->callee == CT_NONE ? -1 : 1;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return x->callee < y->callee ? -1 : x->callee > y->callee;
}

static void put_text(FILE *to, const char *text)
{
	for (; *text; text++)
		fputc((unsigned char)*text < 0x20 ? ' ' : *text, to);
}

/* Writes "fn=(3) main" the first time, "fn=(3)" later. */
static void put_name(FILE *to, const char *key, uint32_t number, bool *known, const char *name)
{
	fprintf(to, "%s=(%u)", key, number + 1);
	if (!*known) {
		fputc(' ', to);
		put_text(to, *name ? name : "???");
	}
	*known = true;
	fputc('\n', to);
}

static void put_place(struct table *t, FILE *to, uint32_t frame, bool called)
{
	const struct ct_frame *f = &t->frames.list[frame];

	/* Modules and files count separately, so each has its half of PLACED. */
	put_name(to, called ? "cob" : "ob", f->module, &t->placed[2 * f->module],
		 ct_frame_text(&t->frames, f->module));
	put_name(to, called ? "cfi" : "fl", f->file, &t->placed[2 * f->file + 1],
		 ct_frame_text(&t->frames, f->file));
	put_name(to, called ? "cfn" : "fn", frame, &t->named[frame],
		 ct_frame_name(&t->frames, frame));
}

/* Returns the type of event I. The type that is shown first is event 0; the others keep their
 * order. */
static size_t event(const struct table *t, size_t i)
{
	return i == 0 ? t->type : i <= t->type ? i - 1 : i;
}

static void put_values(const struct table *t, const uint64_t *values, FILE *to)
{
	for (size_t i = 0; i < t->p->type_count; i++)
		fprintf(to, " %" PRIu64, values[event(t, i)]);
	fputc('\n', to);
}

static void put_cost(struct table *t, FILE *to, uint32_t index)
{
	const struct cost *c = &t->costs[index];

	if (c->callee != CT_NONE) {
		put_place(t, to, c->callee, true);
		fprintf(to, "calls=%" PRIu64 " %u\n", c->samples, t->frames.list[c->callee].line);
	}
	fprintf(to, "%u", c->line);
	put_values(t, t->values + index * t->p->type_count, to);
}

/* Writes the names of events, which must be single words. */
static void put_events(const struct table *t, FILE *to)
{
	fputs("events:", to);
	for (size_t i = 0; i < t->p->type_count; i++) {
		const struct ct_type *type = &t->p->types[event(t, i)];
		const char *name = ct_text(t->p, type->type);

		fputc(' ', to);
		for (; *name; name++)
			fputc(isalnum((unsigned char)*name) ? *name : '_', to);
		if (strcmp(ct_text(t->p, type->unit), "nanoseconds") == 0)
			fputs("_ns", to);
	}
	fputc('\n', to);
}

static void put_totals(const struct table *t, FILE *to)
{
	uint64_t *sums = ct_memory_alloc((t->p->type_count + 1) * sizeof(*sums));

	for (size_t i = 0; i < t->p->sample_count; i++)
		for (size_t j = 0; j < t->p->type_count; j++)
			if (ct_values(t->p, i)[j] > 0)
				sums[j] += (uint64_t)ct_values(t->p, i)[j];
	fputs("summary:", to);
	put_values(t, sums, to);
	fputc('\n', to);
	free(sums);
}

static void put_known_name(struct table *t, const char *name, FILE *to)
{
	uint32_t *order = ct_memory_realloc(NULL, t->count + 1, sizeof(*order));

	for (size_t i = 0; i < t->count; i++)
		order[i] = i;
	qsort_r(order, t->count, sizeof(*order), by_place, t->costs);
	fputs("# callgrind format\nversion: 1\ncreator: cprof\ncmd: ", to);
	put_text(to, name);
	fputs("\npositions: line\n", to);
	put_events(t, to);
	put_totals(t, to);
	for (size_t i = 0; i < t->count; i++) {
		if (i == 0 || t->costs[order[i]].frame != t->costs[order[i - 1]].frame) {
			fputs(i ? "\n" : "", to);
			put_place(t, to, t->costs[order[i]].frame, false);
		}
		put_cost(t, to, order[i]);
	}
	free(order);
}

void ct_convert_callgrind(const void *context, FILE *to)
{
	const struct ct_convert *what = context;
	struct table t = { .p = what->profile, .type = what->type };
	const char *unit = ct_text(t.p, t.p->types[0].unit);

	t.counts = strcmp(unit, "count") == 0;
	ct_flame_frames_init(&t.frames, CT_BY_FUNCTION);
	ct_flame_frames_take(&t.frames, t.p, &t.of);
	t.recent = ct_memory_alloc(t.of.first[t.p->location_count] * sizeof(*t.recent));
	for (size_t i = 0; i < t.p->sample_count; i++)
		take_sample(&t, i);
	free(t.recent);
	t.named = ct_memory_alloc((t.frames.count + 1) * sizeof(*t.named));
	t.placed = ct_memory_alloc((t.frames.pool->string_count + 1) * 2 * sizeof(*t.placed));
	put_known_name(&t, what->name, to);
	free(t.named);
	free(t.placed);
	free(t.costs);
	free(t.values);
	ct_flame_map_release(&t.map);
	ct_flame_frames_of_release(&t.of);
	ct_flame_frames_release(&t.frames);
}
