/* SPDX-License-Identifier: BSD-3-Clause */
/* Decides which lines of code form one node of the graph, and names the nodes; see report.h. */
#include "core/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct builder {
	struct ct_graph *g;
	struct ct_table table;
	size_t room;
	uint32_t *name_of, *file_of,
		*module_of; /* strings that stand for equal names of functions, files and modules */
};

/* Returns the shortest path with the same meaning: no "//", "/./", "x/..". */
static char *clean_path(const char *path)
{
	char *copy = ct_memory_strdup(path), *out = ct_memory_alloc(strlen(path) + 2), *rest = copy,
	     *part;
	bool rooted = *path == '/';
	size_t used = 0, fixed = 0; /* FIXED: the part that ".." can't remove */

	if (rooted)
		out[used++] = '/', fixed = 1;
	while ((part = strsep(&rest, "/"))) {
		bool up = !strcmp(part, "..");

		if (!*part || !strcmp(part, "."))
			continue;
		if (up && used > fixed) {
			while (used > fixed && out[used - 1] != '/')
				used--;
			used -= used > fixed;
			continue;
		}
		if (up && rooted)
			continue;
		if (used && out[used - 1] != '/')
			out[used++] = '/';
		memcpy(out + used, part, strlen(part));
		used += strlen(part);
		if (up)
			fixed = used;
	}
	if (!used)
		out[used++] = '.';
	out[used] = '\0';
	free(copy);
	return out;
}

/* Returns the one index of TEXT. */
static uint32_t canonical(struct ct_profile *p, uint32_t string)
{
	return string ? ct_model_string(p, ct_text(p, string)) : 0;
}

static uint32_t clean_file(struct ct_profile *p, uint32_t string)
{
	static const char cwd[] = "/proc/self/cwd/";
	const char *path = ct_text(p, string);
	char *clean;
	uint32_t index;

	if (!*path)
		return 0;
	if (!strncmp(path, cwd, sizeof(cwd) - 1))
		path += sizeof(cwd) - 1;
	clean = clean_path(path);
	index = ct_model_string(p, clean);
	free(clean);
	return index;
}

static uint32_t function_name(struct builder *b, uint32_t name)
{
	struct ct_profile *p = b->g->p;

	if (b->g->settings.granularity != CT_ADDRESSES && ct_own_jit_is_place(ct_text(p, name)))
		return ct_model_string(p, "[JIT]");
	return canonical(p, name);
}

static void name_all(struct builder *b)
{
	struct ct_profile *p = b->g->p;
	enum ct_granularity kind = b->g->settings.granularity;

	b->name_of = ct_memory_alloc(p->function_count * sizeof(uint32_t));
	b->file_of = ct_memory_alloc(p->function_count * sizeof(uint32_t));
	b->module_of = ct_memory_alloc(p->mapping_count * sizeof(uint32_t));
	for (size_t i = 0; i < p->function_count; i++) {
		if (kind != CT_FILES && kind != CT_MODULES)
			b->name_of[i] = function_name(b, p->functions[i].name);
		if (kind != CT_FUNCTIONS && kind != CT_MODULES)
			b->file_of[i] = clean_file(p, p->functions[i].filename);
	}
	for (size_t i = 0; i < p->mapping_count; i++)
		b->module_of[i] = canonical(p, p->mappings[i].file);
}

static bool same_node(const void *context, uint32_t index, const void *key)
{
	const struct ct_node *a = &((const struct ct_graph *)context)->nodes[index], *b = key;

	return a->address == b->address && a->line == b->line && a->start_line == b->start_line &&
	       a->name == b->name && a->file == b->file && a->module == b->module;
}

static uint32_t find_or_add(struct builder *b, const struct ct_node *n)
{
	struct ct_graph *g = b->g;
	uint64_t hash = ct_hash(ct_hash(n->address, (uint64_t)n->line), (uint64_t)n->start_line);
	uint32_t index;

	hash = ct_hash(ct_hash(hash, (uint64_t)n->name << 32 | n->file), n->module);
	index = ct_table_find(&b->table, hash, same_node, g, n);
	if (index == UINT32_MAX) {
		index = (uint32_t)g->node_count;
		*CT_PUSH(g->nodes, g->node_count, b->room) = *n;
		ct_table_add(&b->table, hash, index);
	}
	return index;
}

/* Code that was made at run time is one module. A mark such as [not sampled] is in none. */
static uint32_t module_node(struct builder *b, const struct ct_location *l,
			    const struct ct_line *line)
{
	struct ct_profile *p = b->g->p;
	const char *name = line && line->function != CT_NONE
				   ? ct_text(p, p->functions[line->function].name)
				   : "";
	struct ct_node n = { 0 };

	if (ct_own_jit_is(p, l, name))
		n.name = ct_model_string(p, "[JIT]");
	else if (l->mapping != CT_NONE)
		n.name = ct_model_string(p, ct_base_name(ct_text(p, p->mappings[l->mapping].file)));
	else if (*name == '[')
		n.name = canonical(p, p->functions[line->function].name);
	return find_or_add(b, &n);
}

/* LINE is NULL if the location has no symbol. */
static uint32_t node_of(struct builder *b, const struct ct_location *l, const struct ct_line *line)
{
	const struct ct_graph_settings *s = &b->g->settings;
	uint32_t module = l->mapping == CT_NONE ? 0 : b->module_of[l->mapping];
	struct ct_node n = { .address = s->granularity == CT_ADDRESSES ? l->address : 0 };

	if (s->granularity == CT_MODULES)
		return module_node(b, l, line);
	if (!line || line->function == CT_NONE) {
		n.module = module;
		return find_or_add(b, &n);
	}
	n.name = b->name_of[line->function];
	n.file = b->file_of[line->function];
	if (s->granularity == CT_LINES || s->granularity == CT_ADDRESSES)
		n.line = line->line;
	if (s->modules || !n.name || s->granularity == CT_ADDRESSES)
		n.module = module;
	/* With -files pprof tells functions apart by their first lines, and so may show several
	 * rows for a file. */
	if (n.module && s->granularity != CT_FILES)
		n.start_line = b->g->p->functions[line->function].start_line;
	return find_or_add(b, &n);
}

static void add_location(struct builder *b, const struct ct_location *l, uint32_t *at)
{
	struct ct_graph *g = b->g;
	const struct ct_line *lines = g->p->lines + l->first_line;
	uint32_t first = g->settings.no_inlines && l->line_count ? l->line_count - 1 : 0;

	if (!l->line_count)
		g->location_nodes[(*at)++] = node_of(b, l, NULL);
	for (uint32_t i = first; i < l->line_count; i++) {
		uint32_t node = node_of(b, l, &lines[i]);

		if (i < l->line_count - 1 && g->settings.granularity != CT_MODULES)
			g->nodes[node].may_be_inlined = true;
		g->location_nodes[(*at)++] = node;
	}
}

void ct_graph_nodes_make(struct ct_graph *g)
{
	struct builder b = { .g = g };
	struct ct_profile *p = g->p;
	uint32_t at = 0;
	size_t most = p->location_count;

	for (size_t i = 0; i < p->location_count; i++)
		most += p->locations[i].line_count;
	name_all(&b);
	g->first_node = ct_memory_realloc(NULL, p->location_count + 1, sizeof(*g->first_node));
	g->location_nodes = ct_memory_realloc(NULL, most, sizeof(*g->location_nodes));
	for (size_t i = 0; i < p->location_count; i++) {
		g->first_node[i] = at;
		add_location(&b, &p->locations[i], &at);
	}
	g->first_node[p->location_count] = at;
	ct_table_release(&b.table);
	free(b.name_of);
	free(b.file_of);
	free(b.module_of);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static char *place_name(const struct ct_graph *g, const struct ct_node *n)
{
	if (n->line)
		return ct_memory_printf("%s:%" PRId64, ct_text(g->p, n->file), n->line);
	if (n->file)
		return ct_memory_strdup(ct_text(g->p, n->file));
	if (n->name)
		return ct_memory_strdup("");
	if (n->module)
		return ct_memory_printf("[%s]", base_name(ct_text(g->p, n->module)));
	return ct_memory_strdup("<unknown>");
}

char *ct_graph_nodes_name(const struct ct_graph *g, const struct ct_node *n)
{
	char *place = place_name(g, n), *name;
	const char *function = ct_text(g->p, n->name);

	if (n->address)
		name = ct_memory_printf("%016" PRIx64 "%s%s%s%s", n->address, *function ? " " : "",
					function, *place ? " " : "", place);
	else
		name = ct_memory_printf("%s%s%s", function, *function && *place ? " " : "", place);
	free(place);
	return name;
}
