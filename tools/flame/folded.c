/* SPDX-License-Identifier: BSD-3-Clause */
/* `cprof folded`: writes one line for each stack. See flame.h. */
#include "dwarf/dwarf.h"
#include "flame/flame.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static struct {
	const char *output, *type;
	bool annotate;
	int by;
} my;

static const struct ct_option options[] = {
	CT_TEXT("output", "FILE", &my.output, "default: standard output"),
	CT_TEXT("o", "FILE", &my.output, NULL),
	CT_TEXT("sample_index", "TYPE", &my.type, "which value: a name or number"),
	CT_FLAG("annotate", &my.annotate, "mark inlined _[i], kernel _[k] and JIT _[j] frames"),
	CT_CHOICE("functions", &my.by, CT_BY_FUNCTION, "a frame is a function (default)"),
	CT_CHOICE("lines", &my.by, CT_BY_LINE, "a frame is a line"),
	CT_CHOICE("addresses", &my.by, CT_BY_ADDRESS, "a frame is an address"),
	CT_END
};
static const struct ct_option *const tables[] = { options, ct_times_window_options,
						  ct_threads_options, ct_filter_options, NULL };

/* The path to a node as text, "main;work;", and where the text of each node on it begins. */
struct path {
	char *text;
	struct place {
		uint32_t node;
		size_t end;
	} * places;
	size_t length, room, depth, place_room;
	struct name {
		char *text; /* in this format; NULL = not yet asked for */
		size_t length;
	} * names; /* by frame */
};

/* Returns a name without the characters that the format uses: ";" separates frames, and a newline
 * ends a stack. */
static struct name frame_name(const struct ct_frames *frames, uint32_t index, bool annotate)
{
	const struct ct_frame *f = &frames->list[index];
	const char *mark = !annotate			? ""
			   : f->kind == CT_FRAME_KERNEL ? "_[k]"
			   : f->kind == CT_FRAME_JIT	? "_[j]"
			   : f->inlined			? "_[i]"
							: "";
	char *name = ct_memory_strdup(ct_frame_text(frames, f->name)), *whole;

	for (char *c = name; *c; c++)
		*c = *c == ';' ? ':' : (unsigned char)*c < 0x20 ? ' ' : *c;
	whole = ct_memory_printf("%s%s;", name, mark);
	free(name);
	return (struct name){ whole, strlen(whole) };
}

/* Leads the path to a node whose parent is on it. */
static void go_to(struct path *path, const struct ct_folded *what, const struct ct_frames *frames,
		  const struct ct_tree *tree, uint32_t node)
{
	struct name *name = &path->names[tree->nodes[node].frame];

	while (path->depth && path->places[path->depth - 1].node != tree->nodes[node].parent)
		path->depth--;
	path->length = path->depth ? path->places[path->depth - 1].end : 0;
	if (!name->text)
		*name = frame_name(frames, tree->nodes[node].frame, what->annotate);
	if (path->room - path->length < name->length)
		path->text =
			ct_memory_grow(path->text, &path->room, path->length + name->length, 1);
	memcpy(path->text + path->length, name->text, name->length);
	path->length += name->length;
	*CT_PUSH(path->places, path->depth, path->place_room) =
		(struct place){ node, path->length };
}

static void put_rows(const struct ct_folded *what, const struct ct_frames *frames,
		     const struct ct_tree *tree, FILE *to)
{
	struct path path = { .names = ct_memory_alloc(frames->count * sizeof(*path.names)) };
	size_t row = 0;

	for (uint32_t node = 0; row < tree->row_count; node++) {
		if (node)
			go_to(&path, what, frames, tree, node);
		for (; row < tree->row_count && tree->rows[row].node == node; row++) {
			int64_t value = tree->values[row * tree->type_count + what->type];

			if (!value)
				continue;
			if (node)
				fwrite(path.text, 1, path.length - 1, to);
			else
				fputs("(no stack)", to);
			fprintf(to, " %" PRId64 "\n", value);
		}
	}
	for (size_t i = 0; i < frames->count; i++)
		free(path.names[i].text);
	free(path.names);
	free(path.text);
	free(path.places);
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
	put_rows(what, &frames, &tree, to);
	if (tree.negative)
		fprintf(stderr, "cprof: %zu samples below zero are left out\n", tree.negative);
	ct_flame_tree_release(&tree);
	ct_flame_frames_of_release(&of);
	ct_flame_frames_release(&frames);
}

static int verb_folded(int argc, char **argv)
{
	struct ct_profile *p = ct_flame_sides_open(argv, argc);
	struct ct_folded what = { .profile = p,
				  .by = my.by,
				  .threads = ct_filter_tags_threads_wanted(),
				  .annotate = my.annotate };
	int status;

	if (!p)
		return CT_FAILED;
	if (my.by == CT_BY_ADDRESS)
		ct_dwarf_module_file_addresses(p);
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
