/* SPDX-License-Identifier: BSD-3-Clause */
/* The encoder, against a decoder of its own and against Go's. */
#include "harness.h"

#include <sys/resource.h>

#include "pprof-sample.h"
#include "../tools/pprof-check.h"

static struct pcheck_profile decode(struct memory_sink *m, struct pcheck_report *r)
{
	struct pcheck_profile p;

	pcheck_decode(&p, m->data, m->size, r);
	free(m->data);
	m->data = NULL;
	return p;
}

TEST(test_every_byte_is_as_the_format_has_it)
{
	static const struct cp_pprof_type type = { "a", "b" };
	static const struct cp_pprof_head head = { &type, 1, { "a", "b" }, "a", NULL, 1, 300, 0 };
	static const unsigned char want[] = {
		0x0a, 4,    0x08, 1, 0x10, 2,			       /* sample_type a/b */
		0x5a, 4,    0x08, 1, 0x10, 2,			       /* period_type */
		0x60, 1,					       /* period */
		0x70, 1,					       /* default_sample_type */
		0x12, 6,    0x0a, 1, 1,	   0x12, 1, 0,		       /* sample, its zero kept */
		0x68, 3,					       /* comment */
		0x48, 0xac, 2,					       /* time_nanos 300 */
		0x32, 0,    0x32, 1, 'a',  0x32, 1, 'b', 0x32, 1, 'c', /* strings */
	};
	struct memory_sink m = MEMORY_SINK;
	struct cp_pprof w;

	cp_pprof_open(&w, &m.sink, &head);
	cp_pprof_sample(&w, (const uint64_t[]){ 1 }, 1, (const int64_t[]){ 0 }, NULL, 0);
	cp_pprof_comment(&w, "c");
	CHECK_EQ(cp_pprof_close(&w), 0);
	CHECK_EQ(m.size, sizeof(want));
	CHECK(m.size == sizeof(want) && !memcmp(m.data, want, sizeof(want)));
	free(m.data);
}

TEST(test_numbers_survive_at_their_limits)
{
	static const int64_t values[] = { 0, 1, -1, 127, 128, INT64_MIN, INT64_MAX, -4096 };
	struct pcheck_report r = { .out = stdout };
	struct memory_sink m = MEMORY_SINK;
	struct pcheck_profile p;
	struct cp_pprof w;

	cp_pprof_open(&w, &m.sink, &sample_head);
	for (size_t i = 0; i < 8; i++) {
		struct cp_pprof_known label = cp_pprof_know(
			&w, &(const struct cp_pprof_label){ "n", NULL, values[i], "u" });

		cp_pprof_sample(&w, (const uint64_t[]){ UINT64_MAX }, 1,
				(const int64_t[]){ values[i], values[7 - i] }, &label, 1);
	}
	cp_pprof_location(&w, UINT64_MAX, 1, UINT64_MAX,
			  &(const struct cp_pprof_line){ UINT64_MAX, INT64_MIN }, 1);
	CHECK_EQ(cp_pprof_close(&w), 0);
	p = decode(&m, &r);
	CHECK_EQ(r.broken, 0);
	for (size_t i = 0; i < 8 && i < p.sample_count; i++) {
		CHECK_EQ(p.samples[i].values.count, 2);
		CHECK_EQ(p.samples[i].values.items[0], values[i]);
		CHECK_EQ(p.samples[i].values.items[1], values[7 - i]);
		CHECK_EQ(p.samples[i].labels[0].number, values[i]);
		CHECK(p.samples[i].locations.items[0] == UINT64_MAX);
	}
	CHECK_EQ(p.sample_count, 8);
	CHECK(p.locations[0].address == UINT64_MAX);
	CHECK_EQ(p.locations[0].lines[0].line, INT64_MIN);
	pcheck_free(&p);
}

TEST(test_deepest_stacks_are_whole)
{
	static uint64_t stack[4096];
	struct pcheck_report r = { .out = stdout };
	struct memory_sink m = MEMORY_SINK;
	struct pcheck_profile p;
	struct cp_pprof w;

	cp_pprof_open(&w, &m.sink, &sample_head);
	for (size_t depth = 1; depth <= 4096; depth += depth < 300 ? 1 : 379) {
		for (size_t i = 0; i < depth; i++)
			stack[i] = (i + 1) << (i % 50);
		cp_pprof_sample(&w, stack, depth, (const int64_t[]){ 1, 1 }, NULL, 0);
	}
	CHECK_EQ(cp_pprof_close(&w), 0);
	p = decode(&m, &r);
	CHECK_EQ(r.broken, 0);
	for (size_t s = 0; s < p.sample_count; s++)
		for (size_t i = 0; i < p.samples[s].locations.count; i++)
			if (p.samples[s].locations.items[i] != (i + 1) << (i % 50))
				CHECK(!"the location id that was written");
	CHECK_EQ(p.samples[298].locations.count, 299);
	CHECK_EQ(p.samples[p.sample_count - 1].locations.count, 300 + 379 * 10);
	pcheck_free(&p);
}

TEST(test_text_is_written_once_and_repaired)
{
	struct pcheck_report r = { .out = stdout };
	struct memory_sink m = MEMORY_SINK;
	struct pcheck_profile p;
	struct cp_pprof w;
	char name[32];

	cp_pprof_open(&w, &m.sink, &sample_head);
	for (uint64_t i = 1; i <= 30000; i++) {
		snprintf(name, sizeof(name), "f%u", (unsigned)i % 10000);
		cp_pprof_function(
			&w, i, &(const struct cp_pprof_function){ name, "cut \xe2\x82", NULL, 0 });
	}
	cp_pprof_comment(&w, "cut \xef\xbf\xbd"); /* the text that the other becomes */
	cp_pprof_comment(&w, "cpu");
	CHECK_EQ(cp_pprof_close(&w), 0);
	p = decode(&m, &r);
	CHECK_EQ(p.string_count, 10000 + 6);
	CHECK_STR(pcheck_text(&p, 0), "");
	CHECK_STR(pcheck_text(&p, 1), "samples");
	CHECK_STR(pcheck_text(&p, p.functions[29999].system_name), "cut \xef\xbf\xbd");
	CHECK_STR(pcheck_text(&p, p.functions[9998].name), "f9999");
	CHECK_EQ(p.functions[19998].name, p.functions[9998].name);
	CHECK_EQ(p.comments.items[0], p.functions[0].system_name);
	CHECK_EQ(p.comments.items[1], p.types[1].type);
	CHECK_EQ(r.broken, 0);
	pcheck_free(&p);
}

TEST(test_what_readers_reject_is_left_out)
{
	static const struct cp_pprof_label empty = { "key", "", 5, "u" };
	struct pcheck_report r = { .out = stdout };
	struct memory_sink m = MEMORY_SINK;
	struct pcheck_profile p;
	struct cp_pprof_known known;
	struct cp_pprof w;

	cp_pprof_open(&w, &m.sink, &sample_head);
	known = cp_pprof_know(&w, &empty);
	cp_pprof_sample(&w, NULL, 0, (const int64_t[]){ 1, 1 }, NULL, 0);
	cp_pprof_sample(&w, (const uint64_t[]){ 1 }, 1, (const int64_t[]){ 1, 1 }, &known, 1);
	cp_pprof_comment(&w, "");
	CHECK_EQ(cp_pprof_close(&w), 0);
	p = decode(&m, &r);
	CHECK_EQ(p.sample_count, 1);
	CHECK_EQ(p.samples[0].label_count, 0);
	CHECK_EQ(p.comments.count, 0);
	pcheck_free(&p);
}

TEST(test_first_error_of_the_sink_is_kept)
{
	struct memory_sink m = MEMORY_SINK;
	struct cp_pprof w;

	m.error = -ENOSPC;
	cp_pprof_open(&w, &m.sink, &sample_head);
	for (int i = 0; i < 10000; i++) {
		put_sample_profile(&w);
		if (i == 5000)
			m.error = 0; /* a disk that has room again makes the file no better */
	}
	CHECK_EQ(cp_pprof_close(&w), -ENOSPC);
	CHECK_EQ(m.size, 0);
	CHECK(!w.scratch && !w.strings.slots && !w.strings.texts.chunks);
}

/* In a child, since the limit can't be lifted for sure: 0 when all went as it should. */
static int fill_memory(void)
{
	struct memory_sink m = MEMORY_SINK;
	struct rlimit none = { 0, 0 };
	char text[64];
	struct cp_pprof w;

	cp_pprof_open(&w, &m.sink, &sample_head);
	setrlimit(RLIMIT_AS, &none);
	for (unsigned i = 0; i < 100000 && !w.error; i++) {
		snprintf(text, sizeof(text), "a text that is not there yet %u", i);
		cp_pprof_comment(&w, text);
	}
	return cp_pprof_close(&w) == -ENOMEM && cp_pprof_close(&w) == -ENOMEM ? 0 : 1;
}

TEST(test_lack_of_memory_is_an_error)
{
	int status, pid = fork();

	if (!pid)
		_exit(fill_memory());
	waitpid(pid, &status, 0);
	CHECK_EQ(status, 0);
}
