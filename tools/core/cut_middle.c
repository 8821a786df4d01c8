/* SPDX-License-Identifier: BSD-3-Clause */
/* The middle of deep stacks; see report.h. */
#include "core/report.h"

#include <stdlib.h>
#include <string.h>

/* Adds the frame "[...]", which replaces the frames that were cut. */
static uint32_t add_mark(struct ct_profile *p)
{
	uint32_t name = ct_model_string(p, "[...]");
	struct ct_function f = { .name = name, .system_name = name };
	struct ct_line line = { .function = ct_model_add_function(p, &f) };
	struct ct_location l = { .mapping = CT_NONE };

	return ct_model_add_location(p, &l, &line, 1);
}

static void cut_sample(struct ct_profile *p, struct ct_sample *s, uint32_t frames, uint32_t mark)
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

bool ct_cut_middle(struct ct_profile *p, long frames)
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
		cut_sample(p, s, (uint32_t)frames, mark);
	}
	if (cuts)
		say_cuts(p, cuts, frames);
	return true;
}
