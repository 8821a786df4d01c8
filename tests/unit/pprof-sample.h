/* SPDX-License-Identifier: BSD-3-Clause */
/* A small profile with something of everything, and a sink that keeps it in memory. */
#ifndef PPROF_SAMPLE_H
#define PPROF_SAMPLE_H

#include <stdlib.h>
#include <string.h>

#include "output/pprof.h"

struct memory_sink {
	struct cp_sink sink;
	unsigned char *data;
	size_t size;
	int error; /* to give instead of taking bytes */
};

static inline int memory_write(struct cp_sink *s, const void *data, size_t n)
{
	struct memory_sink *m = (struct memory_sink *)s;

	if (m->error)
		return m->error;
	m->data = realloc(m->data, m->size + n + 1);
	memcpy(m->data + m->size, data, n);
	m->size += n;
	return 0;
}

#define MEMORY_SINK                                                                                \
	{                                                                                          \
		.sink.write = memory_write                                                         \
	}

static const struct cp_pprof_type sample_types[2] = { { "samples", "count" },
						      { "cpu", "nanoseconds" } };

static const struct cp_pprof_head sample_head = {
	.sample_types = sample_types,
	.sample_type_count = 2,
	.period_type = { "cpu", "nanoseconds" },
	.default_sample_type = "cpu",
	.period = 10101010,
	.time_nanos = 1790000000000000000,
	.duration_nanos = 2500000000,
};

static inline void put_sample_tables(struct cp_pprof *w)
{
	static const struct cp_pprof_mapping mappings[] = {
		{ 0x400000, 0x500000, 0x1000, "/opt/app/bin/app", "00ff12", true, true, true,
		  true },
		{ 0x7f0000000000, 0x7f0000010000, 0, "/usr/lib/libplain.so.1", "", true, false,
		  false, false },
		{ 0x7f0000100000, 0x7f0000110000, 0x3000, "/usr/lib/libbare.so", "ab", false, false,
		  false, false },
	};
	static const struct cp_pprof_function functions[] = {
		{ "main", "main", "/src/app/main.c", 10 },
		{ "app::work(int)", "_ZN3app4workEi", "/src/app/work.cc", 20 },
		{ "app::inlined", "_ZN3app7inlinedEv", "/src/app/work.h", 30 },
		{ "plain", "plain", "", 0 },
		{ "libbare.so+0x3123", "libbare.so+0x3123", "", 0 },
	};
	static const struct cp_pprof_line lines[] = {
		{ 3, 33 }, { 2, 22 }, { 1, 11 }, { 4, 0 }, { 5, 0 }
	};

	for (unsigned i = 0; i < 3; i++)
		cp_pprof_mapping(w, i + 1, &mappings[i]);
	for (unsigned i = 0; i < 5; i++)
		cp_pprof_function(w, i + 1, &functions[i]);
	cp_pprof_location(w, 1, 1, 0x400123, lines, 2); /* inlined within app::work */
	cp_pprof_location(w, 2, 1, 0x400456, lines + 2, 1);
	cp_pprof_location(w, 3, 2, 0x7f0000000123, lines + 3, 1);
	cp_pprof_location(w, 4, 3, 0x7f0000100123, lines + 4, 1);
}

/* The profile but for opening and closing it. */
static inline void put_sample_profile(struct cp_pprof *w)
{
	static const struct cp_pprof_label labels[] = { { "thread", "worker 1", 0, NULL },
							{ "tid", NULL, 4711, "" },
							{ "bytes", NULL, 64, "bytes" } };
	static const uint64_t stacks[][3] = { { 1, 2 }, { 3, 1, 2 }, { 4, 2 } };
	struct cp_pprof_known known[3];

	put_sample_tables(w);
	for (unsigned i = 0; i < 3; i++)
		known[i] = cp_pprof_know(w, &labels[i]);
	cp_pprof_sample(w, stacks[0], 2, (const int64_t[]){ 3, 30303030 }, known, 3);
	cp_pprof_sample(w, stacks[1], 3, (const int64_t[]){ 1, 10101010 }, known, 2);
	cp_pprof_sample(w, stacks[2], 2, (const int64_t[]){ 0, 7 }, NULL, 0);
	cp_pprof_comment(w, "# libcprof test");
	cp_pprof_comment(w, "# mode=cpu");
}

static inline int write_sample_profile(struct cp_sink *sink)
{
	struct cp_pprof w;

	cp_pprof_open(&w, sink, &sample_head);
	put_sample_profile(&w);
	return cp_pprof_close(&w);
}

#endif
