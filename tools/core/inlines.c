/* SPDX-License-Identifier: BSD-3-Clause */
/* Inlined calls that only some of the profiles have; see model.h. */
#include "core/model.h"

#include <stdlib.h>
#include <string.h>

struct module {
	char *name;
	/* Index of the first file that has only names for the module, and of the first that has
	 * lines; -1: none. */
	long named, lined;
	bool inlines; /* some file has inlined calls */
};

struct modules {
	struct module *list;
	size_t count, room;
};

/* Returns a name that is the same for a module of two builds: a library's without its version; ""
 * for the program itself. */
static char *module_name(const struct ct_profile *p, uint32_t mapping)
{
	const char *name = ct_base_name(ct_text(p, p->mappings[mapping].file)),
		   *version = strstr(name, ".so.");

	if (!mapping)
		return ct_memory_strdup("");
	return ct_memory_printf("%.*s", version ? (int)(version + 3 - name) : (int)strlen(name),
				name);
}

static size_t find_module(struct modules *m, const struct ct_profile *p, uint32_t mapping)
{
	char *name = module_name(p, mapping);
	size_t i = 0;

	while (i < m->count && strcmp(m->list[i].name, name) != 0)
		i++;
	if (i == m->count)
		*CT_PUSH(m->list, m->count, m->room) = (struct module){ name, -1, -1, false };
	else
		free(name);
	return i;
}

/* Returns for each mapping of P the number of its module. */
static size_t *modules_of(struct modules *m, const struct ct_profile *p)
{
	size_t *module = ct_memory_alloc((p->mapping_count + 1) * sizeof(*module));

	for (uint32_t i = 0; i < p->mapping_count; i++)
		module[i] = find_module(m, p, i);
	return module;
}

static bool has_line(const struct ct_profile *p, const struct ct_location *l)
{
	for (uint32_t i = 0; i < l->line_count; i++)
		if (p->lines[l->first_line + i].line)
			return true;
	return false;
}

static void look_up_module(struct modules *m, const struct ct_profile *p, const size_t *module,
			   long file)
{
	bool *lined = ct_memory_alloc(m->count + 1), *named = ct_memory_alloc(m->count + 1);

	for (size_t i = 0; i < p->location_count; i++) {
		const struct ct_location *l = &p->locations[i];

		if (l->mapping == CT_NONE || !l->line_count)
			continue;
		named[module[l->mapping]] = true;
		lined[module[l->mapping]] |= has_line(p, l);
		m->list[module[l->mapping]].inlines |= l->line_count > 1;
	}
	for (size_t i = 0; i < m->count; i++) {
		if (lined[i] && m->list[i].lined < 0)
			m->list[i].lined = file;
		if (named[i] && !lined[i] && m->list[i].named < 0)
			m->list[i].named = file;
	}
	free(lined);
	free(named);
}

static bool differs(const struct module *m)
{
	return m->inlines && m->named >= 0 && m->lined >= 0;
}

/* Inlined calls count for the function that contains them. */
static void leave_out(const struct modules *m, struct ct_profile *p, const size_t *module)
{
	for (size_t i = 0; i < p->location_count; i++) {
		struct ct_location *l = &p->locations[i];

		if (l->mapping == CT_NONE || l->line_count < 2 ||
		    !differs(&m->list[module[l->mapping]]))
			continue;
		l->first_line += l->line_count - 1;
		l->line_count = 1;
	}
}

static bool say_missing(const struct modules *m, const char *const *files)
{
	const struct module *first = NULL;
	size_t others = 0;
	char *word;

	for (size_t i = 0; i < m->count; i++) {
		others += differs(&m->list[i]) && first;
		if (differs(&m->list[i]) && !first)
			first = &m->list[i];
	}
	if (!first)
		return false;
	fprintf(stderr, "cprof: %s has names only of ", files[first->named]);
	ct_out_text(stderr, *first->name ? first->name : "the program");
	if (others)
		fprintf(stderr, " and %zu more", others);
	word = ct_out_word(files[first->named]);
	fprintf(stderr,
		", %s has lines and inlined calls: compared without inlined calls; "
		"\"cprof symbolize --in-place %s\" adds them\n",
		files[first->lined], word);
	free(word);
	return true;
}

bool ct_inlines_align(struct ct_profile *const *profiles, const char *const *files, size_t count)
{
	size_t **module = ct_memory_alloc((count + 1) * sizeof(*module));
	struct modules m = { 0 };
	bool some;

	for (size_t i = 0; i < count; i++) {
		module[i] = modules_of(&m, profiles[i]);
		look_up_module(&m, profiles[i], module[i], (long)i);
	}
	some = say_missing(&m, files);
	for (size_t i = 0; i < count; i++) {
		if (some)
			leave_out(&m, profiles[i], module[i]);
		free(module[i]);
	}
	for (size_t i = 0; i < m.count; i++)
		free(m.list[i].name);
	free(m.list);
	free(module);
	return some;
}
