/* SPDX-License-Identifier: BSD-3-Clause */
/* `cprof merge`: combines several profiles in one file. */
#include <stdlib.h>
#include <string.h>

#include "core/read.h"
#include "flame/flame.h"
#include "verbs/verbs.h"

static const char *output = "-";
static long max_depth;
static bool all_frames, children;

static const struct ct_option options[] = {
	CT_TEXT("output", "FILE", &output, "where to write; default: standard output"),
	CT_TEXT("o", "FILE", &output, NULL),
	CT_INTEGER("max-depth", "N", &max_depth, CT_CUT_HELP),
	CT_FLAG("all-frames", &all_frames, "let pprof show malloc and similar functions, too"),
	CT_FLAG("children", &children,
		"with each FILE also the files FILE.PID of processes that its process started"),
	CT_END
};
static const struct ct_option *const tables[] = { options, ct_times_window_options,
						  ct_filter_options, ct_load_options, NULL };

struct source_id {
	dev_t device;
	ino_t file; /* 0 = unknown */
};

struct sources {
	char **names;
	struct source_id *ids;
	size_t count, room, id_room;
};

/* Adds NAME unless the list has that file, by this or another name. */
static void add_once(struct sources *all, char *name)
{
	struct source_id id = { 0 };
	size_t count = all->count;
	struct stat st;

	if (!stat(name, &st) && S_ISREG(st.st_mode))
		id = (struct source_id){ st.st_dev, st.st_ino };
	for (size_t i = 0; id.file && i < count; i++)
		if (all->ids[i].file == id.file && all->ids[i].device == id.device)
			return;
	*CT_PUSH(all->ids, count, all->id_room) = id;
	*CT_PUSH(all->names, all->count, all->room) = name;
}

static bool is_among(const char *name, char *const *names, int count)
{
	for (int i = 0; i < count; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

/* Returns the *N sources, each followed by the files of its children, each file once; *N is their
 * number then. *UNREAD: how many files of children can't be read, and are left out after a message.
 * NULL after a message. The names are kept until the end. */
static char **with_children(char *const *sources, int *n, size_t *unread)
{
	struct sources all = { 0 };

	for (int i = 0; i < *n; i++) {
		size_t more;
		char **files;

		if (is_among(sources[i], sources, i))
			continue;
		files = ct_siblings_children(sources[i], &more, unread);
		if (!files)
			return NULL;
		add_once(&all, sources[i]);
		for (size_t k = 0; k < more; k++)
			add_once(&all, files[k]);
		free(files);
	}
	free(all.ids);
	*n = (int)all.count;
	return all.names;
}

static int verb_merge(int argc, char **argv)
{
	struct ct_profile *p, *merged = NULL;
	const char *filters[1];
	int status = CT_FAILED, count = argc;
	char **sources = argv;
	size_t unread = 0;

	if (children)
		sources = with_children(sources, &count, &unread);
	p = sources ? ct_flame_sides_open(sources, count) : NULL;
	if (p && ct_drop_frames_middle(p, max_depth))
		merged = p;
	/* Removes entries that are no longer used. */
	if (merged && (!ct_load_is_combined() || max_depth || ct_filter_active(filters, 1)))
		merged = ct_combine(&p, 1);
	if (merged && all_frames)
		merged->drop_frames = merged->keep_frames = 0;
	if (merged)
		ct_model_drop_strings(merged);
	if (merged != p)
		ct_model_free(p);
	if (merged && !ct_write_file(merged, output))
		status = unread ? CT_FAILED : CT_OK;
	if (merged && ct_load_lost_times())
		fprintf(stderr, "cprof merge: %s\n", ct_load_lost_times());
	if (merged && unread)
		fprintf(stderr, "cprof merge: left out: %zu %s of children\n", unread,
			unread == 1 ? "file" : "files");
	ct_model_free(merged);
	return status;
}

const struct ct_verb ct_verb_merge = {
	.name = "merge",
	.operands = "FILE...",
	.summary = "Write several profiles, or the filtered part of one, as one file",
	.details =
		"Equal stacks are summed, even if their modules were loaded at other addresses.\n",
	.tables = tables,
	.wanted = "profiles are needed",
	.least = 1,
	.run = verb_merge,
};
