/* `cprof flame`: a profile, or two compared, as a page to look around in or a picture. */
#include "flame.h"

#include <stdlib.h>
#include <string.h>

#include "flame_file.h"
#include "flame_sides.h"
#include "memory.h"
#include "filter.h"
#include "options.h"

static struct {
	const char *output, *base, *type, *title, *format;
	bool threads;
	int by;
} my;

static const struct ct_option options[] = {
	CT_TEXT("output", "FILE", &my.output, "a name that ends in .html or .svg, or \"-\""),
	CT_TEXT("o", "FILE", &my.output, NULL),
	CT_TEXT("base", "PROFILE", &my.base, "compare: colours show what changed since this one"),
	CT_TEXT("diff_base", "PROFILE", &my.base, NULL),
	CT_TEXT("sample_index", "TYPE", &my.type, "value shown first: a name or number"),
	CT_TEXT("title", "TEXT", &my.title, "heading; default: the program's name"),
	CT_TEXT("format", "html|svg", &my.format, "when the output's name doesn't say it"),
	CT_FLAG("threads", &my.threads, "each thread apart, its name as the root"),
	CT_CHOICE("functions", &my.by, CT_BY_FUNCTION, "a frame is a function (default)"),
	CT_CHOICE("lines", &my.by, CT_BY_LINE, "a frame is a line"),
	CT_CHOICE("addresses", &my.by, CT_BY_ADDRESS, "a frame is an address"),
	CT_END
};

static bool ends(const char *text, const char *with)
{
	size_t n = strlen(text), m = strlen(with);

	return n >= m && strcmp(text + n - m, with) == 0;
}

/* out.wall.pb.gz becomes out.wall.html: profiles of several modes differ before the last dot. */
static char *default_output(const char *file)
{
	const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
	size_t n = strlen(name);

	if (strcmp(file, "-") == 0 || strstr(file, "://"))
		return ct_strdup("flame.html");
	if (ends(name, ".gz"))
		n -= strlen(".gz");
	for (size_t i = n; i-- > 1;)
		if (name[i] == '.')
			return ct_printf("%.*s.html", (int)i, name);
	return ct_printf("%.*s.html", (int)n, name);
}

static bool wants_svg(const char *output)
{
	return my.format ? strcmp(my.format, "svg") == 0 : ends(output, ".svg");
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
		return ct_strdup(slash && slash[1] ? slash + 1 : path);
	slash = strrchr(file, '/');
	return ct_strdup(slash && slash[1] ? slash + 1 : file);
}

static void take(struct ct_flame *flame, const struct ct_profile *p, uint32_t side)
{
	struct ct_frames_of of = { 0 };
	struct ct_tree_source source = { .of = &of,
					 .frames = &flame->frames,
					 .side = side,
					 .threads = my.threads,
					 .labels = true };

	ct_frames_take(&flame->frames, p, &of);
	ct_tree_add(&flame->tree, &source);
	ct_frames_of_release(&of);
}

static int draw(struct ct_flame *flame, const char *output)
{
	char *title = my.title ? ct_strdup(my.title) : program_name(flame->profile, flame->file);
	int status;

	flame->title = title;
	ct_frames_init(&flame->frames, my.by);
	ct_tree_init(&flame->tree, flame->profile->type_count);
	take(flame, flame->profile, 0);
	if (flame->base)
		take(flame, flame->base, 1);
	ct_tree_order(&flame->tree);
	status = ct_flame_file(output, wants_svg(output) ? write_svg : write_page, flame);
	if (status == CT_OK && strcmp(output, "-") != 0)
		printf("%s: open it in %s\n", output,
		       wants_svg(output) ? "a browser or a viewer of pictures" : "a browser");
	ct_tree_release(&flame->tree);
	ct_frames_release(&flame->frames);
	free(title);
	return status;
}

static int with_base(struct ct_flame *flame, const char *output)
{
	struct ct_profile *base;
	int status = CT_FAILED;

	base = ct_flame_open((char *[]){ (char *)my.base }, 1);
	if (!base)
		return CT_FAILED;
	flame->base = base;
	flame->base_file = my.base;
	if (ct_flame_same_types(flame->profile, flame->file, base, my.base))
		status = draw(flame, output);
	ct_profile_free(base);
	return status;
}

static int check(const char *output)
{
	if (my.format && strcmp(my.format, "html") != 0 && strcmp(my.format, "svg") != 0)
		return ct_options_wrong(&ct_verb_flame, "-format=%s is neither html nor svg",
					my.format);
	if (!my.format && strcmp(output, "-") != 0 && !ends(output, ".html") &&
	    !ends(output, ".htm") && !ends(output, ".svg"))
		return ct_options_wrong(&ct_verb_flame,
					"%s ends neither in .html nor in .svg; give -format",
					output);
	return CT_OK;
}

static int run(int argc, char **argv)
{
	int first =
		ct_options_parse(&ct_verb_flame, argc, argv,
				 (const struct ct_option *[]){ options, ct_filter_options, NULL });
	struct ct_flame flame = { 0 };
	struct ct_profile *p;
	char *output, *file;
	int status;

	if (first < 0)
		return ct_options_status(first);
	if (first == argc)
		return ct_options_wrong(&ct_verb_flame, "a profile is needed");
	output = my.output ? ct_strdup(my.output) : default_output(argv[first]);
	file = argc - first == 1 ? ct_strdup(argv[first])
				 : ct_printf("%s and %d more", argv[first], argc - first - 1);
	status = check(output);
	p = status == CT_OK ? ct_flame_open(argv + first, argc - first) : NULL;
	if (p) {
		flame.profile = p;
		flame.file = file;
		status = ct_flame_type(p, my.type, &flame.type);
		if (status == CT_OK)
			status = my.base ? with_base(&flame, output) : draw(&flame, output);
		ct_profile_free(p);
	} else {
		status = CT_FAILED;
	}
	free(output);
	free(file);
	return status;
}

const struct ct_verb ct_verb_flame = {
	.name = "flame",
	.operands = "FILE...",
	.summary = "A flame graph: one HTML page to zoom and search in, or an SVG picture",
	.details = "Without -output the page is FILE's name with .html, in this directory.\n",
	.run = run,
};
