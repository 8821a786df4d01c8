/* SPDX-License-Identifier: BSD-3-Clause */
/* See flame.h. */
#include "flame/flame.h"

#include <stdlib.h>
#include <string.h>

#include "core/times.h"

/* Names of tabs by sample type. The profile's first type in this table decides. */
static const struct {
	const char *type, *name;
} names[] = {
	{ "cpu", "CPU" },	   { "wall", "Wall" },	      { "peak_space", "Peak" },
	{ "inuse_space", "Heap" }, { "blocking", "Holders" }, { "errors", "I/O" },
	{ "waits", "Wakers" },	   { "delay", "Locks" },      { "inuse_mapped", "Mappings" },
};

static const char *name_of(const struct ct_profile *p)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (ct_model_type(p, names[i].type) < p->type_count)
			return names[i].name;
	return p->type_count ? ct_text(p, p->types[ct_model_default_type(p)].type) : "";
}

static struct ct_flame_tab *tab_like(const struct ct_flame *flame, const struct ct_profile *p)
{
	for (size_t i = 0; i < flame->tab_count; i++)
		if (ct_flame_sides_equal_types(flame->tabs[i].profile, p))
			return &flame->tabs[i];
	return NULL;
}

/* Adds P to the contents of WHERE, which owns P from then on. */
static int add_profile(struct ct_profile **where, char **files, struct ct_profile *p,
		       const char *file)
{
	struct ct_profile *sum;
	char *both;

	if (!*where) {
		*where = p;
		*files = ct_memory_strdup(file);
		return CT_OK;
	}
	sum = ct_combine((struct ct_profile *[]){ *where, p }, 2);
	ct_model_free(p);
	if (!sum)
		return CT_FAILED;
	ct_model_free(*where);
	*where = sum;
	both = ct_memory_printf("%s, %s", *files, file);
	free(*files);
	*files = both;
	return CT_OK;
}

static struct ct_profile *open_one(const char *file)
{
	return ct_flame_sides_open((char *[]){ (char *)file }, 1);
}

static int open_base(const struct ct_flame *flame, const char *file)
{
	struct ct_profile *p = open_one(file);
	struct ct_flame_tab *tab = p ? tab_like(flame, p) : NULL;

	if (tab)
		return add_profile(&tab->base, &tab->base_file, p, file);
	if (p)
		ct_flame_sides_same_types(flame->tabs[0].profile, flame->tabs[0].file, p, file);
	ct_model_free(p);
	return CT_FAILED;
}

/* Warns that "app.before.pb", which `cprof run` kept, also matches "app.*.pb". */
static void say_before(const char *file)
{
	const char *before = strstr(ct_base_name(file), ".before");

	if (before && before[7 + strspn(before + 7, "0123456789")] == '.')
		fprintf(stderr,
			"cprof: %s is of the run before, and added up with the others; \"cprof "
			"flame "
			"-base=%s FILE\" compares\n",
			file, file);
}

int ct_flame_tabs_open(struct ct_flame *flame, const struct ct_list *files,
		       const struct ct_list *bases)
{
	for (unsigned long i = 0; i < files->count; i++) {
		struct ct_profile *p = open_one(files->items[i]);
		struct ct_flame_tab *tab = p ? tab_like(flame, p) : NULL;

		if (!p && files->count > 1 && ct_times_filter_lacked()) {
			fprintf(stderr, "cprof: %s is left out\n", files->items[i]);
			continue;
		}
		if (!p)
			return CT_FAILED;
		if (files->count > 1)
			say_before(files->items[i]);
		if (!tab) {
			tab = CT_PUSH(flame->tabs, flame->tab_count, flame->tab_room);
			*tab = (struct ct_flame_tab){ .name = name_of(p) };
		}
		if (add_profile(&tab->profile, &tab->file, p, files->items[i]))
			return CT_FAILED;
	}
	if (!flame->tab_count)
		return CT_FAILED;
	for (unsigned long i = 0; i < bases->count; i++)
		if (open_base(flame, bases->items[i]))
			return CT_FAILED;
	return CT_OK;
}

void ct_flame_tabs_release(struct ct_flame *flame)
{
	for (size_t i = 0; i < flame->tab_count; i++) {
		ct_model_free(flame->tabs[i].profile);
		ct_model_free(flame->tabs[i].base);
		free(flame->tabs[i].file);
		free(flame->tabs[i].base_file);
	}
	free(flame->tabs);
}
