/* SPDX-License-Identifier: BSD-3-Clause */
/* The hot lines of hot functions, as JSON for the page. Called only if the user asked for sources:
 * whoever gets the page can read them. See flame.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/report.h"
#include "flame/flame.h"

#define LEAST_SHARE 100 /* a function has at least a hundredth of the whole */
#define MARGIN 2	/* lines shown before and after a line with a value */
#define FUNCTION_BYTES 4096
#define PAGE_BYTES (128L << 10)
#define LINE_BYTES 200

/* A line of a frame, or, as line 0, the whole frame. */
struct hot {
	uint32_t frame, line;
	int64_t self, total, of_frame;
	size_t seen; /* the last sample that was counted, plus 1: recursion counts once */
};

struct hots {
	struct ct_flame_map map;
	struct hot *list;
	size_t count, room;
};

static void count_line(struct hots *h, uint32_t frame, uint32_t line, size_t sample, int64_t value,
		       bool leaf)
{
	uint32_t *at = ct_flame_map_at(&h->map, (struct ct_flame_key){ frame, line, 0 });
	struct hot *one;

	if (*at == CT_NONE) {
		*at = h->count;
		*CT_PUSH(h->list, h->count, h->room) = (struct hot){ .frame = frame, .line = line };
	}
	one = &h->list[*at];
	if (one->seen != sample + 1)
		one->total = ct_add(one->total, value);
	one->seen = sample + 1;
	if (leaf)
		one->self = ct_add(one->self, value);
}

static void count_sample(struct hots *h, const struct ct_frames_of *of, size_t sample,
			 int64_t value)
{
	const struct ct_profile *p = of->profile;
	const struct ct_sample *s = &p->samples[sample];

	for (uint32_t k = 0; k < s->depth; k++) {
		uint32_t place = ct_frames(p, s)[k];
		const struct ct_location *l = &p->locations[place];

		for (uint32_t j = 0; j < l->line_count; j++) {
			int64_t line = p->lines[l->first_line + j].line;
			uint32_t frame = of->frames[of->first[place] + j] & ~CT_FRAME_INLINED;

			count_line(h, frame, 0, sample, value, false);
			if (line > 0 && line < INT32_MAX)
				count_line(h, frame, (uint32_t)line, sample, value, !k && !j);
		}
	}
}

/* The hottest function first, and its lines in order. */
static int by_function(const void *x, const void *y)
{
	const struct hot *a = x, *b = y;
	int r = (a->of_frame < b->of_frame) - (a->of_frame > b->of_frame);

	r = r ? r : (a->frame > b->frame) - (a->frame < b->frame);
	return r ? r : (a->line > b->line) - (a->line < b->line);
}

static int by_total(const void *x, const void *y)
{
	const struct hot *const *a = x, *const *b = y;

	return ((*a)->total < (*b)->total) - ((*a)->total > (*b)->total);
}

/* Chooses the hottest of N lines, with the lines around them, as long as there is room. */
static void choose_lines(const struct ct_source *s, const struct hot *hot, size_t n, bool *shown)
{
	const struct hot **order = ct_memory_alloc(n * sizeof(*order));
	size_t bytes = 0;

	for (size_t i = 0; i < n; i++)
		order[i] = &hot[i];
	qsort(order, n, sizeof(*order), by_total);
	for (size_t i = 0; i < n && bytes < FUNCTION_BYTES; i++) {
		size_t line = order[i]->line, first = line > MARGIN ? line - MARGIN : 1;

		for (size_t at = first; at <= line + MARGIN && at <= s->count; at++) {
			bytes += shown[at] ? 0 : strnlen(s->lines[at], LINE_BYTES) + 20;
			shown[at] = true;
		}
	}
	free(order);
}

static void put_line(const struct ct_source *s, size_t line, const struct hot *hot, FILE *to)
{
	char *text = ct_memory_printf("%.*s", LINE_BYTES, s->lines[line]);

	fprintf(to, ",[%zu,%" PRId64 ",%" PRId64 ",", line, hot ? hot->self : 0,
		hot ? hot->total : 0);
	ct_flame_text_json(to, text);
	fputc(']', to);
	free(text);
}

/* Writes the lines of one frame, HOT[0 .. N-1], if its source is there. */
static void put_function(const char *path, const char *search_path, const struct hot *hot, size_t n,
			 FILE *to)
{
	struct ct_source s;
	bool *shown;

	if (!*path || ct_source_read(&s, path, *search_path ? search_path : NULL, NULL))
		return;
	shown = ct_memory_alloc((s.count + 1) * sizeof(*shown));
	choose_lines(&s, hot, n, shown);
	fprintf(to, "%s[%u", ftell(to) > 1 ? "," : "", hot->frame);
	for (size_t line = 1, i = 0; line <= s.count; line++) {
		while (i < n && hot[i].line < line)
			i++;
		if (shown[line])
			put_line(&s, line, i < n && hot[i].line == line ? &hot[i] : NULL, to);
	}
	fputc(']', to);
	free(shown);
	ct_source_release(&s);
}

static void put_functions(struct hots *h, const struct ct_frames *frames, int64_t whole,
			  const char *search_path, FILE *to)
{
	for (size_t i = 0; i < h->count; i++)
		h->list[i].of_frame =
			h->list[*ct_flame_map_at(&h->map,
						 (struct ct_flame_key){ h->list[i].frame, 0, 0 })]
				.total;
	qsort(h->list, h->count, sizeof(*h->list), by_function);
	for (size_t i = 0, n; i < h->count && ftell(to) < PAGE_BYTES; i += n) {
		const struct hot *hot = &h->list[i];

		for (n = 1; i + n < h->count && hot[n].frame == hot->frame;)
			n++;
		if (hot->of_frame < whole / LEAST_SHARE)
			break;
		if (n > 1)
			put_function(ct_frame_text(frames, frames->list[hot->frame].file),
				     search_path, hot + 1, n - 1, to);
	}
}

char *ct_flame_source(const struct ct_flame *flame, const struct ct_flame_tab *tab,
		      const struct ct_frames_of *of)
{
	const struct ct_profile *p = of->profile;
	struct hots h = { 0 };
	int64_t whole = 0;
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return NULL;
	for (size_t i = 0; i < p->sample_count; i++) {
		int64_t value = ct_values(p, i)[tab->type];

		if (value <= 0)
			continue;
		whole = ct_add(whole, value);
		count_sample(&h, of, i, value);
	}
	fputc('[', to);
	if (h.count)
		put_functions(&h, &flame->frames, whole, flame->source_path, to);
	fputc(']', to);
	fclose(to);
	ct_flame_map_release(&h.map);
	free(h.list);
	return text;
}
