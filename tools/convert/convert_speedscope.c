/* SPDX-License-Identifier: BSD-3-Clause */
/* speedscope's file format, version 0.0.1 (its file-format-schema.json): frames once, then for
 * each sample type (or each thread) a profile of weighted stacks, root first.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "convert/convert.h"
#include "flame/flame.h"

struct out {
	const struct ct_convert *what;
	const struct ct_frames_of *of;
	struct ct_json json;
};

/* Returns UNIT as speedscope names it, or "none". */
static const char *unit_of(const char *unit)
{
	static const char *const known[] = { "nanoseconds", "microseconds", "milliseconds",
					     "seconds", "bytes" };

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strcmp(known[i], unit) == 0)
			return unit;
	return "none";
}

static void put_frames(struct ct_json *j, const struct ct_frames *frames)
{
	ct_json_open(j, "shared", '{');
	ct_json_open(j, "frames", '[');
	for (size_t i = 0; i < frames->count; i++) {
		const struct ct_frame *f = &frames->list[i];

		ct_json_open(j, NULL, '{');
		ct_json_text(j, "name", ct_frame_text(frames, f->name));
		if (f->file)
			ct_json_text(j, "file", ct_frame_text(frames, f->file));
		if (f->line)
			ct_json_integer(j, "line", f->line);
		ct_json_close(j, '}');
	}
	ct_json_close(j, ']');
	ct_json_close(j, '}');
}

static const char *thread_of(const struct ct_profile *p, size_t sample)
{
	const char *thread = ct_flame_frames_label(p, &p->samples[sample], "thread");

	return thread ? thread : "";
}

/* Does the sample belong to the profile that is being written? A negative value has no width. */
static bool is_in(const struct ct_profile *p, size_t sample, size_t type, const char *thread)
{
	return ct_values(p, sample)[type] > 0 &&
	       (!thread || strcmp(thread, thread_of(p, sample)) == 0);
}

/* Writes a frame's number; printf would take most of the time. */
static void put_number(FILE *to, uint32_t n)
{
	char digits[10];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + n % 10);
	while (n /= 10);
	fwrite_unlocked(digits + at, 1, sizeof(digits) - at, to);
}

static void put_stacks(struct out *out, size_t type, const char *thread)
{
	const struct ct_profile *p = out->what->profile;
	uint32_t *stack = NULL;
	size_t room = 0;

	ct_json_open(&out->json, "samples", '[');
	for (size_t i = 0; i < p->sample_count; i++) {
		size_t depth;

		if (!is_in(p, i, type, thread))
			continue;
		depth = ct_flame_frames_stack(out->of, &p->samples[i], &stack, &room);
		/* Each stack gets a line, because stacks are most of the file. */
		fputs(out->json.follows ? ",\n[" : "\n[", out->json.to);
		out->json.follows = true;
		for (size_t j = 0; j < depth; j++) {
			if (j)
				putc_unlocked(',', out->json.to);
			put_number(out->json.to, stack[j]);
		}
		fputc(']', out->json.to);
	}
	ct_json_close(&out->json, ']');
	free(stack);
}

static int64_t put_weights(struct out *out, size_t type, const char *thread)
{
	const struct ct_profile *p = out->what->profile;
	int64_t total = 0;

	ct_json_open(&out->json, "weights", '[');
	for (size_t i = 0; i < p->sample_count; i++) {
		if (!is_in(p, i, type, thread))
			continue;
		ct_json_integer(&out->json, NULL, ct_values(p, i)[type]);
		if (__builtin_add_overflow(total, ct_values(p, i)[type], &total))
			total = INT64_MAX;
	}
	ct_json_close(&out->json, ']');
	return total;
}

static void put_profile(struct out *out, size_t type, const char *thread)
{
	const struct ct_profile *p = out->what->profile;
	struct ct_json *j = &out->json;
	char *name = ct_memory_printf("%s%s%s", ct_text(p, p->types[type].type), thread ? ", " : "",
				      thread && *thread ? thread
				      : thread		? "(no thread)"
							: "");
	int64_t total;

	ct_json_open(j, NULL, '{');
	ct_json_text(j, "type", "sampled");
	ct_json_text(j, "name", name);
	ct_json_text(j, "unit", unit_of(ct_text(p, p->types[type].unit)));
	put_stacks(out, type, thread);
	total = put_weights(out, type, thread);
	ct_json_integer(j, "startValue", 0);
	ct_json_integer(j, "endValue", total);
	ct_json_close(j, '}');
	free(name);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void put_threads(struct out *out)
{
	const struct ct_profile *p = out->what->profile;
	const char **threads = NULL;
	size_t count = 0, room = 0;

	for (size_t i = 0; i < p->sample_count; i++)
		if (is_in(p, i, out->what->type, NULL))
			*CT_PUSH(threads, count, room) = thread_of(p, i);
	if (!threads)
		return;
	qsort(threads, count, sizeof(*threads), by_text);
	for (size_t i = 0; i < count; i++)
		if (i == 0 || strcmp(threads[i], threads[i - 1]) != 0)
			put_profile(out, out->what->type, threads[i]);
	free(threads);
}

void ct_convert_speedscope(const void *context, FILE *to)
{
	const struct ct_convert *what = context;
	struct ct_frames frames;
	struct ct_frames_of of;
	struct out out = { .what = what, .of = &of, .json = ct_json_to(to) };
	struct ct_json *j = &out.json;

	ct_flame_frames_init(&frames, CT_BY_FUNCTION);
	ct_flame_frames_take(&frames, what->profile, &of);
	ct_json_open(j, NULL, '{');
	ct_json_text(j, "$schema", "https://www.speedscope.app/file-format-schema.json");
	ct_json_text(j, "exporter", "cprof");
	ct_json_text(j, "name", what->name);
	ct_json_integer(j, "activeProfileIndex", what->threads ? 0 : (int64_t)what->type);
	put_frames(j, &frames);
	ct_json_open(j, "profiles", '[');
	if (what->threads)
		put_threads(&out);
	else
		for (size_t i = 0; i < what->profile->type_count; i++)
			put_profile(&out, i, NULL);
	ct_json_close(j, ']');
	ct_json_close(j, '}');
	ct_flame_frames_of_release(&of);
	ct_flame_frames_release(&frames);
}
