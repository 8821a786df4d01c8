/* SPDX-License-Identifier: BSD-3-Clause */
/* The samples of one binary; see pgo.h. */
#include "convert/pgo.h"
#include "dwarf/dwarf.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const roots[] = { CT_DEBUG_ROOT, NULL };

/* ---- the binary ---- */

static bool is_called(const char *file, const char *binary)
{
	return !strcmp(file, binary) || !strcmp(ct_base_name(file), ct_base_name(binary));
}

/* The program's own file is the first mapping. */
static uint32_t find_mapping(const struct ct_profile *p, const char *binary)
{
	for (uint32_t i = 0; i < p->mapping_count; i++)
		if (*ct_text(p, p->mappings[i].file) == '/' &&
		    (!binary || is_called(ct_text(p, p->mappings[i].file), binary)))
			return i;
	if (binary)
		fprintf(stderr, "cprof: no module of the profile is called %s\n", binary);
	else
		fputs("cprof: the profile names no binary\n", stderr);
	return CT_NONE;
}

static bool is_of_binary(const struct ct_profile *p, const struct ct_pgo *pgo, uint32_t mapping)
{
	return mapping != CT_NONE && !strcmp(ct_text(p, p->mappings[mapping].file), pgo->path) &&
	       !strcmp(ct_text(p, p->mappings[mapping].build_id), pgo->build_id);
}

/* ---- places ---- */

static int by_address(const void *x, const void *y)
{
	const struct ct_dwarf_query *a = x, *b = y;

	return (a->address > b->address) - (a->address < b->address);
}

/* Gives each location of the binary a query, whose tag is the location's number. */
static struct ct_dwarf_query *make_queries(const struct ct_profile *p, struct ct_pgo *pgo,
					   const struct ct_dwarf_module *module, size_t *count)
{
	struct ct_dwarf_query *q = ct_memory_alloc((p->location_count + 1) * sizeof(*q));

	*count = 0;
	for (size_t i = 0; i < p->location_count; i++) {
		const struct ct_location *l = &p->locations[i];
		const struct ct_mapping *m;

		if (!is_of_binary(p, pgo, l->mapping))
			continue;
		m = &p->mappings[l->mapping];
		q[*count] = (struct ct_dwarf_query){ .tag = (void *)(uintptr_t)i };
		if (ct_dwarf_module_linked(module, l->address, m->start, m->limit, m->offset,
					   &q[*count].address))
			pgo->places[i].address = q[(*count)++].address;
	}
	if (*count)
		qsort(q, *count, sizeof(*q), by_address);
	return q;
}

static uint32_t intern(struct ct_pgo *pgo, const char *name, size_t n)
{
	char *text = ct_memory_printf("%.*s", (int)n, name);
	uint32_t string = ct_model_string(pgo->names, text);

	free(text);
	return string;
}

static void take_symbol(struct ct_pgo *pgo, const struct ct_dwarf_symbol_query *s)
{
	struct ct_pgo_place *place = &pgo->places[s->tag];
	char *name = s->number ? ct_memory_printf("%s/%u", s->name, s->number) : NULL;

	place->symbol = ct_model_string(pgo->names, name ? name : s->name);
	place->offset = s->address - s->begin;
	free(name);
}

static void take_symbols(struct ct_pgo *pgo, const struct ct_dwarf_module *module,
			 const struct ct_dwarf_query *q, size_t count, bool numbered)
{
	struct ct_dwarf_symbol_query *s = ct_memory_alloc((count + 1) * sizeof(*s));

	for (size_t i = 0; i < count; i++) {
		s[i].address = q[i].address;
		s[i].tag = (uint32_t)(uintptr_t)q[i].tag;
		s[i].number = 0;
	}
	if (module->image >= 0)
		ct_dwarf_symbols_find(module->image, s, count);
	if (module->debug >= 0)
		ct_dwarf_symbols_find(module->debug, s, count);
	if (numbered)
		ct_dwarf_symbols_number(module->image >= 0 ? module->image : module->debug, s,
					count);
	for (size_t i = 0; i < count; i++) {
		if (s[i].name)
			take_symbol(pgo, &s[i]);
		free(s[i].name);
	}
	free(s);
}

/* Returns the part of one of LLVM's discriminators that tells code apart (see its
 * DebugInfoMetadata.h); other parts count copies. */
static unsigned base_of(unsigned discriminator)
{
	unsigned d = discriminator >> 1;

	if (discriminator & 1)
		return 0;
	return d & 0x20 ? (d >> 1 & 0xfe0) | (d & 0x1f) : d & 0x1f;
}

/* Compilers count lines from the one where the function is declared, in 16 bits, also those of a
 * file that is included in the function. A frame where that is not known makes the place useless.
 */
static void take_frames(struct ct_pgo *pgo, const struct ct_dwarf_query *q, bool llvm)
{
	struct ct_pgo_place *place = &pgo->places[(uintptr_t)q->tag];

	place->frames = ct_memory_alloc((q->count + 1) * sizeof(*place->frames));
	for (unsigned k = 0; k < q->count; k++) {
		const struct ct_dwarf_frame *f = &q->frames[q->count - 1 - k];

		if (!f->name || !f->declared || !f->line)
			return;
		place->frames[k] = (struct ct_pgo_frame){
			.function = intern(pgo, f->name, strcspn(f->name, ".")),
			.line = (uint16_t)(f->line - f->declared),
			.discriminator =
				(uint16_t)(llvm ? base_of(f->discriminator) : f->discriminator),
		};
		pgo->has_discriminators |= f->discriminator != 0;
	}
	place->count = q->count;
}

static void take_lines(struct ct_pgo *pgo, const struct ct_dwarf_module *module,
		       struct ct_dwarf_query *q, size_t count, bool llvm)
{
	struct ct_dwarf *d;

	if (ct_dwarf_open(&d, module->debug, pgo->path, roots))
		return;
	ct_dwarf_find(d, q, count);
	for (size_t i = 0; i < count; i++)
		take_frames(pgo, &q[i], llvm);
	ct_dwarf_close(d);
}

/* ---- samples ---- */

static int by_call(const void *x, const void *y)
{
	const struct ct_pgo_call *a = x, *b = y;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return (a->to > b->to) - (a->to < b->to);
}

size_t ct_pgo_join(struct ct_pgo_call *calls, size_t count)
{
	size_t n = 0;

	if (count)
		qsort(calls, count, sizeof(*calls), by_call);
	for (size_t i = 0; i < count; i++) {
		if (n && !by_call(&calls[n - 1], &calls[i]))
			calls[n - 1].samples += calls[i].samples;
		else
			calls[n++] = calls[i];
	}
	return n;
}

static bool is_sampled(const struct ct_pgo *pgo, const struct ct_profile *p, uint32_t location)
{
	return is_of_binary(p, pgo, p->locations[location].mapping) &&
	       pgo->places[location].address;
}

/* Time is counted in microseconds, so that samples of different weight keep it, and counters of 32
 * bits suffice for an hour. */
static void take_samples(struct ct_pgo *pgo, const struct ct_profile *p, size_t type)
{
	int64_t unit = strcmp(ct_text(p, p->types[type].unit), "nanoseconds") ? 1 : 1000;

	for (size_t i = 0; i < p->sample_count; i++) {
		const struct ct_sample *s = &p->samples[i];
		const uint32_t *frames = ct_frames(p, s);
		int64_t value = ct_values(p, i)[type] / unit;
		uint64_t n = value > 0 ? (uint64_t)value : 0;

		if (!n || !s->depth || !is_sampled(pgo, p, frames[0]))
			continue;
		pgo->places[frames[0]].self += n;
		pgo->samples += n;
		pgo->named += pgo->places[frames[0]].count ? n : 0;
		if (s->depth > 1 && is_sampled(pgo, p, frames[1]))
			*CT_PUSH(pgo->calls, pgo->call_count, pgo->call_room) =
				(struct ct_pgo_call){ frames[1], frames[0], n };
	}
	pgo->call_count = ct_pgo_join(pgo->calls, pgo->call_count);
}

/* ---- what is missing ---- */

static bool refuse(const struct ct_pgo *pgo, const struct ct_dwarf_module *m,
		   enum ct_pgo_needs needs)
{
	if (m->image < 0 && m->there && m->debug < 0)
		fprintf(stderr,
			"cprof: %s is another build than the one that was profiled (build id %s): "
			"profile this build, or keep the profiled one at its path\n",
			pgo->path, *pgo->build_id ? pgo->build_id : "unknown");
	else if (m->image < 0 && m->debug < 0)
		fprintf(stderr, "cprof: %s: no such file; the binary that was profiled is needed\n",
			pgo->path);
	else if (needs >= CT_PGO_LINES && m->debug < 0)
		fprintf(stderr,
			"cprof: %s has no debug information: build it with -g (clang: also "
			"-fdebug-info-for-profiling), and profile it again\n",
			pgo->path);
	else
		return false;
	return true;
}

/* Says what is missing of the samples. Returns whether something is left. */
static bool is_enough(const struct ct_pgo *pgo, enum ct_pgo_needs needs)
{
	uint64_t left = needs >= CT_PGO_LINES ? pgo->named : pgo->samples;

	if (!left) {
		fprintf(stderr, "cprof: no sample is in %s%s\n", pgo->path,
			pgo->samples ? " at a line that its debug information knows" : "");
		return false;
	}
	if (left < pgo->samples)
		fprintf(stderr, "cprof: %.1f%% of the time has no line and is left out\n",
			100.0 * (double)(pgo->samples - left) / (double)pgo->samples);
	if (needs >= CT_PGO_LINES && !pgo->has_discriminators)
		fprintf(stderr,
			"cprof: %s has no discriminators, so parts of one line can't be told "
			"apart: build it with -g (clang: also -fdebug-info-for-profiling)\n",
			pgo->path);
	return true;
}

/* ---- for the writers ---- */

static bool open_module(struct ct_pgo *pgo, const struct ct_profile *p,
			const struct ct_dwarf_module *module, size_t type, enum ct_pgo_needs needs)
{
	struct ct_dwarf_query *q;
	size_t count;

	if (refuse(pgo, module, needs))
		return false;
	pgo->place_count = p->location_count;
	pgo->places = ct_memory_alloc((p->location_count + 1) * sizeof(*pgo->places));
	q = make_queries(p, pgo, module, &count);
	if (needs <= CT_PGO_SYMBOLS)
		take_symbols(pgo, module, q, count, needs == CT_PGO_NUMBERED_SYMBOLS);
	if (needs >= CT_PGO_LINES)
		take_lines(pgo, module, q, count, needs == CT_PGO_LLVM_LINES);
	free(q);
	take_samples(pgo, p, type);
	return is_enough(pgo, needs);
}

bool ct_pgo_open(struct ct_pgo *pgo, const struct ct_profile *p, size_t type, const char *binary,
		 enum ct_pgo_needs needs)
{
	uint32_t mapping = find_mapping(p, binary);
	struct ct_dwarf_module module;
	bool usable;

	*pgo = (struct ct_pgo){ .names = ct_model_new() };
	if (mapping == CT_NONE)
		return false;
	pgo->path = ct_text(p, p->mappings[mapping].file);
	pgo->build_id = ct_text(p, p->mappings[mapping].build_id);
	ct_dwarf_module_open(&module, pgo->path, pgo->build_id, roots);
	usable = open_module(pgo, p, &module, type, needs);
	ct_dwarf_module_close(&module);
	return usable;
}

void ct_pgo_close(struct ct_pgo *pgo)
{
	for (size_t i = 0; i < pgo->place_count; i++)
		free(pgo->places[i].frames);
	free(pgo->places);
	free(pgo->calls);
	ct_model_free(pgo->names);
}

/* ---- formats that need no lines ---- */

void ct_pgo_bolt(const void *context, FILE *to)
{
	const struct ct_pgo *pgo = ((const struct ct_convert *)context)->pgo;

	fputs("no_lbr cprof:\n", to);
	for (size_t i = 0; i < pgo->place_count; i++) {
		const struct ct_pgo_place *place = &pgo->places[i];

		if (place->self && place->symbol)
			fprintf(to, "1 %s %" PRIx64 " %" PRIu64 "\n",
				ct_text(pgo->names, place->symbol), place->offset, place->self);
	}
}

void ct_pgo_order(const void *context, FILE *to)
{
	struct ct_pgo *pgo = ((const struct ct_convert *)context)->pgo;

	/* Symbols in the places of addresses; recursion is no order. */
	for (size_t i = 0; i < pgo->call_count; i++) {
		struct ct_pgo_call *c = &pgo->calls[i];

		c->from = pgo->places[c->from].symbol;
		c->to = pgo->places[c->to].symbol;
	}
	pgo->call_count = ct_pgo_join(pgo->calls, pgo->call_count);
	for (size_t i = 0; i < pgo->call_count; i++)
		if (pgo->calls[i].from && pgo->calls[i].to &&
		    pgo->calls[i].from != pgo->calls[i].to)
			fprintf(to, "%s %s %" PRIu64 "\n", ct_text(pgo->names, pgo->calls[i].from),
				ct_text(pgo->names, pgo->calls[i].to), pgo->calls[i].samples);
}
