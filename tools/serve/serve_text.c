/* SPDX-License-Identifier: BSD-3-Clause */
/* Profiles as text: what net/http/pprof writes with ?debug=1, which people read and pprof can, too.
 *
 * Go writes values as they were sampled, and the sampling rate by which a reader scales them. Ours
 * are scaled already, so the rate that is written is one that leaves them as they are.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "serve/serve.h"

struct order {
	const struct ct_profile *p;
	size_t by; /* sample type by which rows are sorted */
};

static int by_value(const void *a, const void *b, void *arg)
{
	const struct order *o = arg;
	int64_t x = ct_values(o->p, *(const size_t *)a)[o->by],
		y = ct_values(o->p, *(const size_t *)b)[o->by];

	return (x < y) - (x > y);
}

static size_t type_of(const struct ct_profile *p, const char *name)
{
	size_t i = 0;

	while (i + 1 < p->type_count && strcmp(ct_text(p, p->types[i].type), name))
		i++;
	return i;
}

static void put_addresses(const struct ct_profile *p, const struct ct_sample *s, FILE *to)
{
	const uint32_t *frames = ct_frames(p, s);

	for (uint32_t i = 0; i < s->depth; i++)
		fprintf(to, " 0x%" PRIx64, p->locations[frames[i]].address);
	fputc('\n', to);
}

/* Writes "# 0x401136 main+0x10 /src/app.c:12", one line per call. */
static void put_names(const struct ct_profile *p, const struct ct_sample *s, FILE *to)
{
	const uint32_t *frames = ct_frames(p, s);

	for (uint32_t i = 0; i < s->depth; i++) {
		const struct ct_location *l = &p->locations[frames[i]];

		for (uint32_t n = 0; n < l->line_count; n++) {
			const struct ct_line *line = &p->lines[l->first_line + n];
			const struct ct_function *f =
				line->function == CT_NONE ? NULL : &p->functions[line->function];

			fprintf(to, "#\t0x%" PRIx64 "\t", l->address);
			ct_out_text(to, f ? ct_text(p, f->name) : "?");
			fputc('\t', to);
			if (f && *ct_text(p, f->filename)) {
				ct_out_text(to, ct_text(p, f->filename));
				fprintf(to, ":%" PRId64, line->line);
			}
			fputc('\n', to);
		}
	}
	fputc('\n', to);
}

static void put_heap_values(const struct ct_profile *p, const int64_t *v, FILE *to)
{
	fprintf(to, "%" PRId64 ": %" PRId64 " [%" PRId64 ": %" PRId64 "] @",
		v[type_of(p, "inuse_objects")], v[type_of(p, "inuse_space")],
		v[type_of(p, "alloc_objects")], v[type_of(p, "alloc_space")]);
}

static void put_heap_heading(const struct ct_profile *p, FILE *to)
{
	int64_t *sum = ct_memory_alloc((p->type_count + 1) * sizeof(*sum));

	for (size_t i = 0; i < p->sample_count; i++)
		for (size_t t = 0; t < p->type_count; t++)
			sum[t] += ct_values(p, i)[t];
	fputs("heap profile: ", to);
	put_heap_values(p, sum, to);
	fputs(" heap/2\n", to); /* Go writes twice the rate; a rate of 1 isn't scaled */
	free(sum);
}

void ct_serve_text(const struct ct_profile *p, const struct ct_serve_kind *k, FILE *to)
{
	bool heap = !strcmp(k->mode, "heap"), threads = !strcmp(k->dump, "threads");
	struct order o = { p, heap ? type_of(p, "inuse_space") : type_of(p, "delay") };
	size_t *order = ct_memory_alloc((p->sample_count + 1) * sizeof(*order));

	for (size_t i = 0; i < p->sample_count; i++)
		order[i] = i;
	qsort_r(order, p->sample_count, sizeof(*order), by_value, &o);
	if (heap)
		put_heap_heading(p, to);
	else if (threads)
		fprintf(to, "goroutine profile: total %" PRId64 "\n", ct_model_total(p, 0));
	else if (!strcmp(k->dump, "holders"))
		fputs("--- mutex:\ncycles/second=1000000000\nsampling period=1\n", to);
	else
		fputs("--- contention:\ncycles/second=1000000000\n", to);
	for (size_t i = 0; i < p->sample_count; i++) {
		const struct ct_sample *s = &p->samples[order[i]];
		const int64_t *v = ct_values(p, order[i]);

		if (heap)
			put_heap_values(p, v, to);
		else if (threads)
			fprintf(to, "%" PRId64 " @", *v);
		else
			fprintf(to, "%" PRId64 " %" PRId64 " @", v[o.by], *v);
		put_addresses(p, s, to);
		put_names(p, s, to);
	}
	free(order);
}
