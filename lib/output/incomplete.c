/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts incomplete stacks by module; see output.h. */
#include "output/output.h"

#include <string.h>

#include "base/sys.h"
#include "base/text.h"

#define TOP 5
#define L(x) ((unsigned long)(x))

struct place {
	uint32_t mapping;
	uint64_t samples;
	uint64_t address; /* of the first frame found in this module */
};

/* Returns the outermost known frame of an incomplete stack. */
static const struct cp_location *last_frame(const struct cp_run *r, const struct cp_stack *s)
{
	if (s->depth < 2 || s->locations[s->depth - 1] != CP_LOCATION_INCOMPLETE ||
	    s->locations[s->depth - 2] < CP_LOCATION_FIRST)
		return NULL;
	return CP_VEC_AT(&r->aggregate.locations, struct cp_location, s->locations[s->depth - 2]);
}

/* Count in the place with the mapping's number; the last place is for code in no mapping. */
static void count(struct place *places, const struct cp_run *r, uint32_t mappings)
{
	const struct cp_aggregate *a = &r->rows->aggregate;

	for (uint32_t i = 0; i < a->stacks.count; i++) {
		const struct cp_stack *s = cp_aggregate_row_at(a, i);
		uint64_t samples = (uint64_t)cp_aggregate_since(a, i, 0, cp_consumers_base(r));
		const struct cp_location *l = last_frame(r->rows, s);
		struct place *p;

		if (!l || !samples)
			continue;
		p = &places[l->mapping < mappings ? l->mapping : mappings];
		if (!p->samples)
			p->address = l->address;
		p->mapping = l->mapping;
		p->samples += samples;
	}
}

static struct place *largest(struct place *places, uint32_t n)
{
	struct place *max = places;

	for (uint32_t i = 1; i < n; i++)
		if (places[i].samples > max->samples)
			max = &places[i];
	return max->samples ? max : NULL;
}

static void describe(const struct cp_run *r, const struct place *p, char *to, size_t size)
{
	const struct cp_mapping *m = cp_modules_at(r->aggregate.modules, p->mapping);
	const char *slash = m ? strrchr(m->path, '/') : NULL;

	if (!m)
		cp_text_format(to, size, " code in no module %lu (at 0x%lx);", L(p->samples),
			       L(p->address));
	else
		cp_text_format(to, size, " %s %lu (at +0x%lx);", slash ? slash + 1 : m->path,
			       L(p->samples), L(p->address - m->start + m->offset));
}

bool cp_incomplete_describe(const struct cp_run *r, char *to, size_t size)
{
	uint32_t mappings = (uint32_t)r->rows->aggregate.modules->mappings.count;
	struct place *places = cp_sys_map((mappings + 1) * sizeof(*places)), *p;
	size_t n = 0;

	if (!places)
		return false;
	count(places, r, mappings);
	for (unsigned i = 0; i < TOP && (p = largest(places, mappings + 1)); i++) {
		describe(r->rows, p, to + n, size - n);
		n += strlen(to + n);
		p->samples = 0;
	}
	if (n && to[n - 1] == ';')
		to[n - 1] = '\0';
	cp_sys_unmap(places, (mappings + 1) * sizeof(*places));
	return n != 0;
}
