/* SPDX-License-Identifier: BSD-3-Clause */
/* `cprof flame`: shows profiles, or a comparison of two, as an interactive page or as a picture. */
#include "core/read.h"
#include "core/times.h"
#include "dwarf/dwarf.h"
#include "flame/flame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct {
	const char *output, *type, *title, *format, *source;
	struct ct_list base;
	int by;
} my;

static const struct ct_option options[] = {
	CT_TEXT("output", "FILE", &my.output, "a name that ends in .html or .svg, or \"-\""),
	CT_TEXT("o", "FILE", &my.output, NULL),
	CT_LIST("base", "PROFILE", &my.base,
		"compare: colours show the changes since this profile"),
	CT_LIST("diff_base", "PROFILE", &my.base, NULL),
	CT_TEXT("sample_index", "TYPE", &my.type, "value shown first: a name or number"),
	CT_TEXT("title", "TEXT", &my.title, "heading; default: the program's name"),
	CT_MAYBE("source", "DIRS", &my.source,
		 "the page holds the hot lines of the sources, from DIRS too"),
	CT_TEXT("format", "html|svg", &my.format, "when the output's name doesn't say it"),
	CT_CHOICE("functions", &my.by, CT_BY_FUNCTION, "a frame is a function (default)"),
	CT_CHOICE("lines", &my.by, CT_BY_LINE, "a frame is a line"),
	CT_CHOICE("addresses", &my.by, CT_BY_ADDRESS, "a frame is an address"),
	CT_END
};
static const struct ct_option *const tables[] = { options, ct_times_window_options,
						  ct_threads_options, ct_filter_options, NULL };

/* Returns "out.wall.html" for "out.wall.pb.gz", because names of several modes' profiles differ
 * before the last dot. */
static char *default_output(const char *file)
{
	const char *name = ct_base_name(file);
	size_t n = strlen(name);

	if (strcmp(file, "-") == 0 || strstr(file, "://"))
		return ct_memory_strdup("flame.html");
	if (ct_ends(name, ".gz"))
		n -= strlen(".gz");
	for (size_t i = n; i-- > 1;)
		if (name[i] == '.')
			return ct_memory_printf("%.*s.html", (int)i, name);
	return ct_memory_printf("%.*s.html", (int)n, name);
}

static bool wants_svg(const char *output)
{
	return my.format ? strcmp(my.format, "svg") == 0 : ct_ends(output, ".svg");
}

/* ---- the page: one file with the scripts, the style sheet and the profile ---- */

static void lines(const char *const *text, FILE *to)
{
	for (; *text; text++)
		fputs(*text, to);
}

static void filled(const struct ct_flame *flame, const char *line, FILE *to)
{
	static const char *const places[] = { "@TITLE@", "@STYLE@", "@PROFILE@", "@SCRIPT@" };
	const char *at = NULL;
	size_t i;

	for (i = 0; i < 4 && !at; i++)
		at = strstr(line, places[i]);
	if (!at) {
		fputs(line, to);
		return;
	}
	fwrite(line, 1, at - line, to);
	switch (i - 1) {
	case 0: ct_flame_text_markup(to, flame->title, strlen(flame->title)); break;
	case 1: lines(ct_flame_style, to); break;
	case 2: ct_flame_data(flame, to); break;
	default: lines(ct_flame_script, to); break;
	}
	fputs(at + strlen(places[i - 1]), to);
}

void ct_flame_page(const struct ct_flame *flame, FILE *to)
{
	for (const char *const *line = ct_flame_template; *line; line++)
		filled(flame, *line, to);
}

static void write_page(const void *flame, FILE *to)
{
	ct_flame_page(flame, to);
}

static void write_svg(const void *flame, FILE *to)
{
	ct_flame_svg(flame, to);
}

static char *program_name(const struct ct_profile *p, const char *file)
{
	const char *path = p->mapping_count ? ct_text(p, p->mappings[0].file) : "";
	const char *slash = strrchr(path, '/');

	if (*path && path[0] != '[')
		return ct_memory_strdup(slash && slash[1] ? slash + 1 : path);
	slash = strrchr(file, '/');
	return ct_memory_strdup(slash && slash[1] ? slash + 1 : file);
}

void ct_flame_make_tree(struct ct_flame *flame, struct ct_flame_tab *tab)
{
	struct ct_profile *sides[] = { tab->profile, tab->base };
	struct ct_frames_of of[2] = { 0 };

	ct_flame_tree_init(&tab->tree, tab->profile->type_count);
	if (tab->times)
		tab->tree.row_of =
			memset(ct_memory_alloc((tab->profile->sample_count + 1) * sizeof(uint32_t)),
			       0xff, tab->profile->sample_count * sizeof(uint32_t));
	for (uint32_t side = 0; side < 2 && sides[side]; side++) {
		struct ct_tree_source source = { .of = &of[side],
						 .frames = &flame->frames,
						 .side = side,
						 .threads = ct_filter_tags_threads_wanted(),
						 .labels = true };

		if (flame->frames.by == CT_BY_ADDRESS)
			ct_dwarf_module_file_addresses(sides[side]);
		ct_flame_frames_take(&flame->frames, sides[side], &of[side]);
		ct_flame_tree_add(&tab->tree, &source);
	}
	ct_flame_tree_order(&tab->tree);
	if (flame->source_path)
		tab->source = ct_flame_source(flame, tab, &of[0]);
	ct_flame_frames_of_release(&of[0]);
	ct_flame_frames_of_release(&of[1]);
}

static int draw_page(struct ct_flame *flame, const char *output)
{
	char *title = my.title ? ct_memory_strdup(my.title)
			       : program_name(flame->tabs[0].profile, flame->tabs[0].file);
	int status;

	flame->title = title;
	flame->source_path = wants_svg(output) ? NULL : my.source;
	ct_flame_frames_init(&flame->frames, my.by);
	flame->frames.builds_are_one = true;
	if (!wants_svg(output))
		ct_flame_times_make(flame);
	for (size_t i = 0; i < flame->tab_count; i++)
		ct_flame_make_tree(flame, &flame->tabs[i]);
	status = ct_flame_file(output, wants_svg(output) ? write_svg : write_page, flame);
	if (status == CT_OK && strcmp(output, "-") != 0)
		printf("%s: open it in %s\n", output,
		       wants_svg(output) ? "a browser or a viewer of pictures" : "a browser");
	for (size_t i = 0; i < flame->tab_count; i++) {
		ct_flame_tree_release(&flame->tabs[i].tree);
		free(flame->tabs[i].source);
	}
	ct_flame_times_release(flame);
	ct_flame_frames_release(&flame->frames);
	free(title);
	return status;
}

static int choose_types(struct ct_flame *flame)
{
	bool found = false;

	for (size_t i = flame->tab_count; i-- > 0;) {
		struct ct_flame_tab *tab = &flame->tabs[i];
		bool here =
			my.type && ct_model_type(tab->profile, my.type) < tab->profile->type_count;

		if (ct_flame_sides_type(tab->profile, here ? my.type : NULL, &tab->type))
			return CT_FAILED;
		if (here)
			flame->first = i;
		found = found || here;
	}
	/* No tab has the type; the message about the first tab lists the types. */
	if (my.type && !found)
		return ct_flame_sides_type(flame->tabs[0].profile, my.type, &flame->tabs[0].type);
	return CT_OK;
}

static int make_flame(const struct ct_list *files, const char *output)
{
	struct ct_flame flame = { 0 };
	int status = ct_flame_tabs_open(&flame, files, &my.base);

	if (status == CT_OK)
		status = choose_types(&flame);
	if (status == CT_OK)
		status = draw_page(&flame, output);
	ct_flame_tabs_release(&flame);
	return status;
}

bool ct_flame_is_output(const char *name)
{
	return !strcmp(name, "-") || ct_ends(name, ".html") || ct_ends(name, ".htm") ||
	       ct_ends(name, ".svg");
}

static int check_output(const char *output)
{
	if (my.format && strcmp(my.format, "html") != 0 && strcmp(my.format, "svg") != 0)
		return ct_options_wrong(&ct_verb_flame, "-format=%s is neither html nor svg",
					my.format);
	if (!my.format && !ct_flame_is_output(output))
		return ct_options_wrong(&ct_verb_flame,
					"%s ends neither in .html nor in .svg; give -format",
					output);
	return CT_OK;
}

static int verb_flame(int argc, char **argv)
{
	struct ct_list files = { .items = (const char **)argv, .count = argc };
	char *output = my.output ? ct_memory_strdup(my.output) : default_output(*argv);
	int status = check_output(output);

	if (status == CT_OK)
		status = make_flame(&files, output);
	free(output);
	return status;
}

const struct ct_verb ct_verb_flame = {
	.name = "flame",
	.operands = "FILE...",
	.summary = "A flame graph: one HTML page to zoom and search in, or an SVG picture",
	.details = "Files of several modes (CPU, wall, heap, locks) become tabs of one page; files "
		   "of the\n"
		   "same sample types are added up. Without -output the page is the first FILE's "
		   "name\n"
		   "with .html, in this directory.\n",
	.tables = tables,
	.wanted = "a profile is needed",
	.least = 1,
	.run = verb_flame,
};

/* Text files, written as a whole or not at all. */

static int write_stdout(ct_flame_writer *write, const void *what)
{
	write(what, stdout);
	if (fflush(stdout))
		return -errno;
	return ferror(stdout) ? -EIO : 0;
}

static int write_target(const char *path, ct_flame_writer *write, const void *what)
{
	struct ct_target t;
	int error = ct_target_open(&t, path);

	if (error)
		return error;
	write(what, t.to);
	return ct_target_close(&t, 0);
}

int ct_flame_file(const char *path, ct_flame_writer *write, const void *what)
{
	bool standard = !path || !strcmp(path, "-");
	int error = standard ? write_stdout(write, what) : write_target(path, write, what);

	if (error)
		fprintf(stderr, "cprof: %s can't be written: %s\n",
			standard ? "standard output" : path, strerror(-error));
	return error ? CT_FAILED : CT_OK;
}

/* Which value is shown, and whether two profiles can be compared. */

struct ct_profile *ct_flame_sides_open(char *const *sources, int count)
{
	struct ct_profile *p = ct_load(sources, count);

	if (!p)
		return NULL;
	if (!ct_filter_alone(p)) {
		ct_times_window_say(p, ct_model_default_type(p), stderr);
		ct_filter_tags_threads_apart(p);
		return p;
	}
	ct_model_free(p);
	return NULL;
}

/* Returns "samples/count, cpu/nanoseconds", which the caller frees. */
static char *types_text(const struct ct_profile *p)
{
	char *text = ct_memory_strdup("");

	for (size_t i = 0; i < p->type_count; i++) {
		char *longer = ct_memory_printf("%s%s%s/%s", text, i ? ", " : "",
						ct_text(p, p->types[i].type),
						ct_text(p, p->types[i].unit));

		free(text);
		text = longer;
	}
	return text;
}

int ct_flame_sides_type(const struct ct_profile *p, const char *name, size_t *type)
{
	char *end, *has;
	unsigned long n;

	if (p->type_count == 0) {
		fputs("cprof: the profile has no sample type\n", stderr);
		return CT_FAILED;
	}
	if (!name) {
		*type = ct_model_default_type(p);
		return CT_OK;
	}
	*type = ct_model_type(p, name);
	if (*type < p->type_count)
		return CT_OK;
	n = strtoul(name, &end, 10);
	if (end != name && !*end && n < p->type_count) {
		*type = n;
		return CT_OK;
	}
	has = types_text(p);
	fprintf(stderr, "cprof: the profile has no sample type \"%s\"; it has %s\n", name, has);
	free(has);
	return CT_FAILED;
}

bool ct_flame_sides_equal_types(const struct ct_profile *a, const struct ct_profile *b)
{
	if (a->type_count != b->type_count)
		return false;
	for (size_t i = 0; i < a->type_count; i++)
		if (strcmp(ct_text(a, a->types[i].type), ct_text(b, b->types[i].type)) != 0 ||
		    strcmp(ct_text(a, a->types[i].unit), ct_text(b, b->types[i].unit)) != 0)
			return false;
	return true;
}

bool ct_flame_sides_same_types(const struct ct_profile *a, const char *a_name,
			       const struct ct_profile *b, const char *b_name)
{
	char *a_types, *b_types;

	if (ct_flame_sides_equal_types(a, b))
		return true;
	a_types = types_text(a);
	b_types = types_text(b);
	fprintf(stderr, "cprof: can't be compared: %s holds %s, but %s holds %s\n", a_name, a_types,
		b_name, b_types);
	free(a_types);
	free(b_types);
	return false;
}

/* A map of three numbers. */

static bool same_key(const void *context, uint32_t index, const void *key)
{
	const struct ct_flame_entry *e = &((const struct ct_flame_map *)context)->entries[index];

	return !memcmp(&e->key, key, sizeof(e->key));
}

uint32_t *ct_flame_map_at(struct ct_flame_map *map, struct ct_flame_key key)
{
	uint64_t hash = ct_hash(ct_hash(key.a, key.b), key.c);
	uint32_t index = ct_table_find(&map->table, hash, same_key, map, &key);

	if (index == CT_NONE) {
		index = (uint32_t)map->count;
		ct_table_add(&map->table, hash, index);
		*CT_PUSH(map->entries, map->count, map->room) =
			(struct ct_flame_entry){ key, CT_NONE };
	}
	return &map->entries[index].value;
}

void ct_flame_map_release(struct ct_flame_map *map)
{
	ct_table_release(&map->table);
	free(map->entries);
	*map = (struct ct_flame_map){ 0 };
}
