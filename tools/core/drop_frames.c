/* SPDX-License-Identifier: BSD-3-Clause */
/* Removes the functions that a profile declares uninteresting, with everything that they call (the
 * inside of an allocator): drop_frames, except keep_frames. Called by load.c.
 */
#include <stdlib.h>
#include <string.h>

#include "core/report.h"

enum fate { STAYS, CUT_WITH_CALLEES, CALLEES_CUT };

static size_t reserved(const char *text)
{
	static const char *const names[] = { "(anonymous namespace)", "operator()" };

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(text, names[i], strlen(names[i])))
			return strlen(names[i]);
	return 0;
}

bool ct_drop_frames_ours(const struct ct_profile *p)
{
	static const char begin[] = "libcprof ";

	return p->comment_count && !strncmp(ct_notes_comment(p, 0), begin, sizeof(begin) - 1);
}

/* Returns the name as pprof compares it, without parameters. The caller frees it. */
static char *name_without_parameters(const char *name)
{
	char *copy = ct_memory_strdup(name + (*name == '.')), *c = copy;

	while (*c) {
		size_t skip = reserved(c);

		if (!skip && *c == '(')
			*c = '\0';
		else
			c += skip ? skip : 1;
	}
	return copy;
}

static bool is_dropped(const struct ct_profile *p, uint32_t function, struct ct_regex *drop,
		       struct ct_regex *keep)
{
	char *name = name_without_parameters(ct_text(p, p->functions[function].name));
	bool yes = *name && ct_regex_match(drop, name) && !(keep && ct_regex_match(keep, name));

	free(name);
	return yes;
}

/* Removes the outermost dropped line of a location, and the lines inside it. */
static enum fate fate_of(const struct ct_profile *p, struct ct_location *l, const bool *dropped)
{
	for (uint32_t i = l->line_count; i--;) {
		uint32_t function = p->lines[l->first_line + i].function;

		if (function == CT_NONE || !dropped[function])
			continue;
		if (i == l->line_count - 1)
			return CUT_WITH_CALLEES;
		l->first_line += i + 1;
		l->line_count -= i + 1;
		return CALLEES_CUT;
	}
	return STAYS;
}

/* From the root on, the first dropped frame below one that stays ends the stack: a stack
 * that begins with dropped frames is not emptied. */
static void cut_sample(struct ct_sample *s, const uint32_t *frames, const unsigned char *fates)
{
	bool stays = false;

	for (uint32_t i = s->depth; i--;) {
		enum fate f = fates[frames[i]];
		uint32_t gone = f == CUT_WITH_CALLEES ? i + 1 : i;

		if (f == STAYS) {
			stays = true;
			continue;
		}
		if (!stays)
			continue;
		s->first_frame += gone;
		s->depth -= gone;
		return;
	}
}

static struct ct_regex *compile_whole(const char *option, const char *text)
{
	char *anchored = ct_memory_printf("^(%s)$", text);
	struct ct_regex *r = ct_regex_new(option, anchored);

	free(anchored);
	return r;
}

void ct_drop_frames(struct ct_profile *p)
{
	struct ct_regex *drop, *keep = NULL;
	unsigned char *fates;
	bool *dropped;

	if (!p->drop_frames)
		return;
	drop = compile_whole("drop_frames (the file's)", ct_text(p, p->drop_frames));
	if (drop && p->keep_frames)
		keep = compile_whole("keep_frames (the file's)", ct_text(p, p->keep_frames));
	if (!drop || (p->keep_frames && !keep)) {
		ct_regex_free(drop);
		return;
	}
	dropped = ct_memory_alloc(p->function_count * sizeof(*dropped));
	fates = ct_memory_alloc(p->location_count);
	for (uint32_t i = 0; i < p->function_count; i++)
		dropped[i] = is_dropped(p, i, drop, keep);
	for (size_t i = 0; i < p->location_count; i++)
		fates[i] = (unsigned char)fate_of(p, &p->locations[i], dropped);
	for (size_t i = 0; i < p->sample_count; i++)
		cut_sample(&p->samples[i], ct_frames(p, &p->samples[i]), fates);
	free(dropped);
	free(fates);
	ct_regex_free(drop);
	ct_regex_free(keep);
}

/* The middle of deep stacks. */

/* Adds the frame "[...]", which replaces the frames that were cut. */
static uint32_t add_mark(struct ct_profile *p)
{
	uint32_t name = ct_model_string(p, "[...]");
	struct ct_function f = { .name = name, .system_name = name };
	struct ct_line line = { .function = ct_model_add_function(p, &f) };
	struct ct_location l = { .mapping = CT_NONE };

	return ct_model_add_location(p, &l, &line, 1);
}

static void cut_middle(struct ct_profile *p, struct ct_sample *s, uint32_t frames, uint32_t mark)
{
	uint32_t *stack = p->frames + s->first_frame;
	uint32_t outer = (frames - 1) / 2, inner = frames - 1 - outer;

	stack[inner] = mark;
	memmove(stack + inner + 1, stack + s->depth - outer, outer * sizeof(*stack));
	s->depth = frames;
}

static void say_cuts(struct ct_profile *p, size_t cuts, long frames)
{
	char *text = ct_memory_printf("stacks: %zu cut in the middle to %ld frames", cuts, frames);

	ct_notes_add(p, text);
	free(text);
}

bool ct_drop_frames_middle(struct ct_profile *p, long frames)
{
	uint32_t mark = CT_NONE;
	size_t cuts = 0;

	if (frames && frames < CT_CUT_MIN) {
		fprintf(stderr, "cprof: -max-depth=%ld: at least %d frames are needed\n", frames,
			CT_CUT_MIN);
		return false;
	}
	for (size_t i = 0; frames && i < p->sample_count; i++) {
		struct ct_sample *s = &p->samples[i];

		if ((long)s->depth <= frames)
			continue;
		if (!cuts++)
			mark = add_mark(p);
		cut_middle(p, s, (uint32_t)frames, mark);
	}
	if (cuts)
		say_cuts(p, cuts, frames);
	return true;
}
