/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules about mappings, locations and functions. */
#include "pprof-check.h"

#include <stdlib.h>
#include <string.h>

/* The contents of the locations of one mapping, compared with the claims of its has_* flags. */
struct contents {
	size_t locations, bare; /* bare: without lines */
	bool symbols;		/* a function with a name that is not "module+0x12" */
	bool filenames, lines, inlines;
};

const struct pcheck_mapping *pcheck_mapping(const struct pcheck_profile *p, uint64_t id)
{
	return id - 1 < p->mapping_count ? &p->mappings[id - 1] : NULL;
}

struct pcheck_function *pcheck_function(const struct pcheck_profile *p, uint64_t id)
{
	return id - 1 < p->function_count ? &p->functions[id - 1] : NULL;
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && !strcmp(s + n - m, end);
}

static void check_mapping(const struct pcheck_profile *p, const struct pcheck_mapping *m,
			  struct pcheck_report *r)
{
	const char *path = pcheck_text(p, m->path), *id = pcheck_text(p, m->build_id);

	if (m->start >= m->limit)
		pcheck_bad(r, "mapping-range", "mapping %llu: 0x%llx-0x%llx",
			   (unsigned long long)m->id, (unsigned long long)m->start,
			   (unsigned long long)m->limit);
	if (!*path || ends_with(path, " (deleted)"))
		pcheck_bad(r, "mapping-path", "mapping %llu: \"%s\"", (unsigned long long)m->id,
			   path);
	if (strlen(id) % 2 || id[strspn(id, "0123456789abcdef")])
		pcheck_bad(r, "build-id", "mapping %llu: \"%s\"", (unsigned long long)m->id, id);
	if ((m->functions | m->filenames | m->lines | m->inlines) > 1)
		pcheck_bad(r, "has-flags", "mapping %llu: a flag above 1",
			   (unsigned long long)m->id);
}

/* A module that was unloaded keeps its mapping, so another file may overlap it, or the
 * same file at another shift: but one piece of a file can't be there twice. */
static void check_overlap(const struct pcheck_profile *p, size_t i, struct pcheck_report *r)
{
	const struct pcheck_mapping *a = &p->mappings[i], *b;

	for (size_t k = 0; k < i; k++) {
		b = &p->mappings[k];
		if (a->start < b->limit && b->start < a->limit && a->path == b->path &&
		    a->build_id == b->build_id && a->start - a->offset == b->start - b->offset)
			pcheck_bad(r, "mapping-overlap", "mappings %llu and %llu",
				   (unsigned long long)b->id, (unsigned long long)a->id);
	}
}

static bool is_offset_in(const char *name, const char *module)
{
	size_t n = strlen(module);

	if (strncmp(name, module, n) || strncmp(name + n, "+0x", 3))
		return false;
	name += n + 3;
	return *name && !name[strspn(name, "0123456789abcdef")];
}

/* "module+0x12", the name of an address that no symbol covers. */
static bool is_synthetic(const struct pcheck_profile *p, const struct pcheck_mapping *m,
			 const char *name)
{
	const char *path = pcheck_text(p, m->path), *slash = strrchr(path, '/');

	return is_offset_in(name, path) || (slash && is_offset_in(name, slash + 1));
}

static void add_contents(const struct pcheck_profile *p, const struct pcheck_mapping *m,
			 const struct pcheck_location *l, struct contents *c)
{
	c->locations++;
	c->bare += !l->line_count;
	c->inlines |= l->line_count > 1;
	for (size_t k = 0; k < l->line_count; k++) {
		const struct pcheck_function *f = pcheck_function(p, l->lines[k].function);

		c->lines |= l->lines[k].line != 0;
		c->filenames |= f && f->filename;
		c->symbols |= f && !is_synthetic(p, m, pcheck_text(p, f->name));
	}
}

static void check_flags(const struct pcheck_mapping *m, const struct contents *c,
			struct pcheck_report *r)
{
	const char *bad = NULL;

	/* Of no locations everything is true. */
	if (c->locations && !m->functions != !c->symbols)
		bad = "has_functions";
	else if (m->functions && c->bare)
		bad = "has_functions with locations that have none:";
	else if (!m->filenames != !c->filenames)
		bad = "has_filenames";
	else if (!m->lines != !c->lines)
		bad = "has_line_numbers";
	else if (m->inlines ? !m->functions : c->inlines) /* set without any inlining is true */
		bad = "has_inline_frames";
	if (bad)
		pcheck_bad(r, "has-flags", "mapping %llu: %s is not the truth",
			   (unsigned long long)m->id, bad);
}

static void check_mappings(const struct pcheck_profile *p, struct pcheck_report *r)
{
	struct contents *c = calloc(p->mapping_count + 1, sizeof(*c));

	if (!c)
		exit(2);
	for (size_t i = 0; i < p->location_count; i++) {
		const struct pcheck_location *l = &p->locations[i];
		const struct pcheck_mapping *m = pcheck_mapping(p, l->mapping);

		if (m)
			add_contents(p, m, l, &c[l->mapping - 1]);
	}
	for (size_t i = 0; i < p->mapping_count; i++) {
		const struct pcheck_mapping *m = &p->mappings[i];

		if (m->id != i + 1)
			pcheck_bad(r, "mapping-id", "%llu at place %zu", (unsigned long long)m->id,
				   i + 1);
		check_mapping(p, m, r);
		check_overlap(p, i, r);
		check_flags(m, &c[i], r);
		/* The first is the program itself, whatever was sampled. */
		if (i && !c[i].locations)
			pcheck_bad(r, "unused-mapping", "%llu", (unsigned long long)m->id);
	}
	free(c);
}

static void check_lines(const struct pcheck_profile *p, const struct pcheck_location *l,
			struct pcheck_report *r)
{
	for (size_t k = 0; k < l->line_count; k++) {
		struct pcheck_function *f = pcheck_function(p, l->lines[k].function);

		if (f)
			f->used = true;
		else
			pcheck_bad(r, "reference", "location %llu: there is no function %llu",
				   (unsigned long long)l->id,
				   (unsigned long long)l->lines[k].function);
		if ((int64_t)l->lines[k].line < 0)
			pcheck_bad(r, "line-number", "location %llu", (unsigned long long)l->id);
	}
}

static void check_location(const struct pcheck_profile *p, const struct pcheck_location *l,
			   struct pcheck_report *r)
{
	const struct pcheck_mapping *m = pcheck_mapping(p, l->mapping);

	if (!m && l->mapping)
		pcheck_bad(r, "reference", "location %llu: there is no mapping %llu",
			   (unsigned long long)l->id, (unsigned long long)l->mapping);
	if (!m && !l->line_count)
		pcheck_bad(r, "location-name", "location %llu: neither mapping nor function",
			   (unsigned long long)l->id);
	if (m && (l->address < m->start || l->address >= m->limit))
		pcheck_bad(r, "location-range", "location %llu: 0x%llx is not in mapping %llu",
			   (unsigned long long)l->id, (unsigned long long)l->address,
			   (unsigned long long)l->mapping);
	if (!l->used)
		pcheck_bad(r, "unused-location", "%llu", (unsigned long long)l->id);
	check_lines(p, l, r);
}

static int by_place(const void *a, const void *b)
{
	const struct pcheck_location *l = a, *m = b;

	if (l->mapping != m->mapping)
		return l->mapping < m->mapping ? -1 : 1;
	return l->address != m->address ? (l->address < m->address ? -1 : 1) : 0;
}

/* Two locations of one address would be two rows of one place. Those without a mapping
 * have no address to tell them apart. */
static void check_distinct_locations(const struct pcheck_profile *p, struct pcheck_report *r)
{
	size_t n = p->location_count;
	struct pcheck_location *sorted = calloc(n + 1, sizeof(*sorted));

	if (!sorted)
		exit(2);
	for (size_t i = 0; i < n; i++)
		sorted[i] = p->locations[i];
	qsort(sorted, n, sizeof(*sorted), by_place);
	for (size_t i = 1; i < n; i++)
		if (sorted[i].mapping && !by_place(&sorted[i - 1], &sorted[i]))
			pcheck_bad(r, "duplicate-location", "%llu and %llu",
				   (unsigned long long)sorted[i - 1].id,
				   (unsigned long long)sorted[i].id);
	free(sorted);
}

/* All but the id. */
static int by_function(const void *a, const void *b)
{
	const size_t from = offsetof(struct pcheck_function, name);

	return memcmp((const char *)a + from, (const char *)b + from,
		      offsetof(struct pcheck_function, used) - from);
}

static void check_functions(struct pcheck_profile *p, struct pcheck_report *r)
{
	size_t n = p->function_count;
	struct pcheck_function *sorted = calloc(n + 1, sizeof(*sorted));

	if (!sorted)
		exit(2);
	for (size_t i = 0; i < n; i++) {
		const struct pcheck_function *f = sorted + i;
		const char *file;

		sorted[i] = p->functions[i];
		file = pcheck_text(p, f->filename);
		if (f->id != i + 1)
			pcheck_bad(r, "function-id", "%llu at place %zu", (unsigned long long)f->id,
				   i + 1);
		if (!*pcheck_text(p, f->name))
			pcheck_bad(r, "function-name", "function %llu has none",
				   (unsigned long long)f->id);
		/* "./": compiled so that no place of a build is in it (-ffile-prefix-map). */
		if (*file && *file != '/' && strncmp(file, "./", 2))
			pcheck_bad(r, "function-file", "\"%s\" is not absolute", file);
		if ((int64_t)f->start_line < 0)
			pcheck_bad(r, "line-number", "function %llu", (unsigned long long)f->id);
		if (!f->used)
			pcheck_bad(r, "unused-function", "%llu", (unsigned long long)f->id);
	}
	qsort(sorted, n, sizeof(*sorted), by_function);
	for (size_t i = 1; i < n; i++)
		if (!by_function(&sorted[i - 1], &sorted[i]))
			pcheck_bad(r, "duplicate-function", "%llu and %llu",
				   (unsigned long long)sorted[i - 1].id,
				   (unsigned long long)sorted[i].id);
	free(sorted);
}

void pcheck_tables(struct pcheck_profile *p, struct pcheck_report *r)
{
	for (size_t i = 0; i < p->location_count; i++) {
		if (p->locations[i].id != i + 1)
			pcheck_bad(r, "location-id", "%llu at place %zu",
				   (unsigned long long)p->locations[i].id, i + 1);
		check_location(p, &p->locations[i], r);
	}
	check_distinct_locations(p, r);
	check_mappings(p, r);
	check_functions(p, r);
}
