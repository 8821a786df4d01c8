/* SPDX-License-Identifier: BSD-3-Clause */
/* `cprof folded`: writes one line for each stack. See flame.h. */
#include "flame/flame.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static struct {
	const char *output, *type;
	bool threads, annotate;
	int by;
} my;

static const struct ct_option options[] = {
	CT_TEXT("output", "FILE", &my.output, "default: standard output"),
	CT_TEXT("o", "FILE", &my.output, NULL),
	CT_TEXT("sample_index", "TYPE", &my.type, "which value: a name or number"),
	CT_FLAG("threads", &my.threads, "the thread's name as the root"),
	CT_FLAG("annotate", &my.annotate, "mark inlined _[i], kernel _[k] and JIT _[j] frames"),
	CT_CHOICE("functions", &my.by, CT_BY_FUNCTION, "a frame is a function (default)"),
	CT_CHOICE("lines", &my.by, CT_BY_LINE, "a frame is a line"),
	CT_CHOICE("addresses", &my.by, CT_BY_ADDRESS, "a frame is an address"),
	CT_END
};
static const struct ct_option *const tables[] = { options, ct_filter_options, NULL };

/* Writes a name without the characters that the format uses: ";" separates frames, and a newline
 * ends a stack. */
static void put_name(FILE *to, const char *name)
{
	for (; *name; name++)
		fputc(*name == ';' ? ':' : (unsigned char)*name < 0x20 ? ' ' : *name, to);
}

static void put_frame(const struct ct_frames *frames, uint32_t index, bool annotate, FILE *to)
{
	const struct ct_frame *f = &frames->list[index];

	put_name(to, ct_frame_text(frames, f->name));
	if (!annotate)
		return;
	if (f->kind == CT_FRAME_KERNEL)
		fputs("_[k]", to);
	else if (f->kind == CT_FRAME_JIT)
		fputs("_[j]", to);
	else if (f->inlined)
		fputs("_[i]", to);
}

static void put_row(const struct ct_folded *what, const struct ct_frames *frames,
		    const struct ct_tree *tree, size_t row, FILE *to)
{
	int64_t value = tree->values[row * tree->type_count + what->type];
	uint32_t *path = NULL;
	size_t depth = 0, room = 0;

	if (value == 0)
		return;
	for (uint32_t at = tree->rows[row].node; at; at = tree->nodes[at].parent)
		*CT_PUSH(path, depth, room) = tree->nodes[at].frame;
	if (depth == 0)
		fputs("(no stack)", to);
	while (depth-- > 0) {
		put_frame(frames, path[depth], what->annotate, to);
		if (depth)
			fputc(';', to);
	}
	fprintf(to, " %" PRId64 "\n", value);
	free(path);
}

void ct_folded_write(const void *context, FILE *to)
{
	const struct ct_folded *what = context;
	struct ct_frames frames;
	struct ct_frames_of of;
	struct ct_tree tree;
	struct ct_tree_source source = { .of = &of, .frames = &frames, .threads = what->threads };

	ct_flame_frames_init(&frames, what->by);
	frames.names_only = !what->annotate;
	ct_flame_tree_init(&tree, what->profile->type_count);
	ct_flame_frames_take(&frames, what->profile, &of);
	ct_flame_tree_add(&tree, &source);
	ct_flame_tree_order(&tree);
	for (size_t i = 0; i < tree.row_count; i++)
		put_row(what, &frames, &tree, i, to);
	if (tree.negative)
		fprintf(stderr, "cprof: %zu samples below zero are left out\n", tree.negative);
	ct_flame_tree_release(&tree);
	ct_flame_frames_of_release(&of);
	ct_flame_frames_release(&frames);
}

static int verb_folded(int argc, char **argv)
{
	struct ct_profile *p = ct_flame_sides_open(argv, argc);
	struct ct_folded what = {
		.profile = p, .by = my.by, .threads = my.threads, .annotate = my.annotate
	};
	int status;

	if (!p)
		return CT_FAILED;
	status = ct_flame_sides_type(p, my.type, &what.type);
	if (status == CT_OK)
		status = ct_flame_file(my.output, ct_folded_write, &what);
	ct_model_free(p);
	return status;
}

const struct ct_verb ct_verb_folded = {
	.name = "folded",
	.operands = "FILE...",
	.summary = "Stacks as lines, \"main;work 12\", as flamegraph.pl reads them",
	.details = "",
	.tables = tables,
	.wanted = "a profile is needed",
	.least = 1,
	.run = verb_folded,
};
