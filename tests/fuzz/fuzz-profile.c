/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a profile (gzip or plain): read, and when that goes well filtered, combined with
 * itself, made into graphs of every kind, written and read again.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/model.h"
#include "core/report.h"
#include "core/read.h"
#include "core/times.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct ct_profile *read_memory(const void *data, size_t size)
{
	struct ct_input *in = ct_input_memory(data, size);
	struct ct_profile *p = NULL;
	struct ct_fault fault;

	ct_input_limit(in, 1 << 20);
	ct_read(&p, in, &fault);
	ct_input_close(in);
	return p;
}

static void make_graphs(struct ct_profile *p)
{
	for (unsigned kind = CT_FUNCTIONS; kind <= CT_ADDRESSES && p->type_count; kind++) {
		struct ct_graph_settings s = { .granularity = (enum ct_granularity)kind,
					       .mean = kind == CT_LINES,
					       .no_inlines = kind == CT_FILES,
					       .type = ct_model_default_type(p) };
		struct ct_graph *g = ct_graph_new(p, &s);
		struct ct_trim t = { 0.005, 0.001, kind == CT_LINES ? 3 : 0, kind == CT_FILES };
		struct ct_trimmed done = ct_graph_trim(g, &t);

		ct_graph_edges_add(g, done.edge_cutoff, kind == CT_FILES);
		ct_graph_total(p, &s);
		ct_graph_free(g);
	}
}

/* The reader accepts the written file. */
static void write_and_read(const struct ct_profile *p)
{
	char *file = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&file, &size);
	struct ct_profile *again;

	if (ct_write(p, to))
		abort();
	fclose(to);
	again = read_memory(file, size);
	if (again && again->sample_count != p->sample_count)
		abort();
	ct_model_free(again);
	free(file);
}

/* A window of P, and what is there of one of its spans. */
static void look_at_times(struct ct_profile *p)
{
	static const char *const names[] = { "from", "to", "span-longer" };
	static const char *const texts[] = { "1us", "3s", "1ns" };
	const char *name = "fuzzed";

	if (!p->times)
		return;
	for (const struct ct_option *o = ct_times_window_options; o->name; o++)
		for (unsigned i = 0; i < 3; i++)
			if (!strcmp(o->name, names[i]))
				*(const char **)o->to =
					i < 2 || p->sample_count % 2 ? texts[i] : NULL;
	for (size_t i = 0; i < p->type_count; i++)
		ct_times_share(p, i);
	ct_times_filter_forget();
	ct_times_filter(&p, &name, 1);
	write_and_read(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ct_profile *p = read_memory(data, size), *twice;
	struct ct_label_units units;

	if (!p)
		return 0;
	write_and_read(p);
	ct_filter_tags_units_init(&units, p);
	ct_filter(p, &units);
	ct_filter_tags_units_release(&units);
	if (!p->drop_frames || p->function_count < 100)
		ct_drop_frames(p);
	twice = ct_combine((struct ct_profile *[]){ p, p }, 2);
	if (twice)
		make_graphs(twice);
	ct_model_free(twice);
	make_graphs(p);
	look_at_times(p);
	ct_model_free(p);
	return 0;
}
