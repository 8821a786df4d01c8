/* SPDX-License-Identifier: BSD-3-Clause */
/* The validator finds each rule broken: a valid profile, with one thing made wrong. */
#include "harness.h"

#include "pprof-sample.h"
#include "sink-folder.h"
#include "../tools/pprof-check.h"

static struct pcheck_profile *p; /* the one that a breaker breaks */

static uint64_t add_text(const char *text)
{
	p->strings = pcheck_grow(p->strings, p->string_count, sizeof(*p->strings));
	p->strings[p->string_count] = (struct pcheck_string){ strdup(text), strlen(text), false };
	return p->string_count++;
}

static void repeat_last_sample(void)
{
	struct pcheck_sample *s;

	p->samples = pcheck_grow(p->samples, p->sample_count, sizeof(*s));
	s = &p->samples[p->sample_count++];
	s->locations.items = malloc(2 * sizeof(uint64_t));
	memcpy(s->locations.items, s[-1].locations.items, 2 * sizeof(uint64_t));
	s->values.items = malloc(2 * sizeof(uint64_t));
	memcpy(s->values.items, s[-1].values.items, 2 * sizeof(uint64_t));
	s->locations.count = s->values.count = 2;
}

static void repeat_sample_with_labels_in_other_order(void)
{
	struct pcheck_label *l, swap;

	repeat_last_sample();
	memcpy(p->samples[3].locations.items, p->samples[0].locations.items, 16);
	p->samples[3].labels = l = malloc(3 * sizeof(*l));
	memcpy(l, p->samples[0].labels, 3 * sizeof(*l));
	swap = l[0], l[0] = l[2], l[2] = swap;
	p->samples[3].label_count = 3;
}

/* Each function breaks a rule of the valid profile by the *I-th way of its list, and returns the
 * rule's name. Past its last way it returns NULL, and *I is what is left for the next function. */
#define BREAKS(rule, ...)                                                                          \
	if ((*i)-- == 0) {                                                                         \
		__VA_ARGS__;                                                                       \
		return rule;                                                                       \
	}
static const char *broken_header(size_t *i)
{
	BREAKS("first-string", p->strings[0].length = 1; free(p->strings[0].text);
	       p->strings[0].text = strdup("x"))
	BREAKS("utf8", p->strings[p->functions[0].name].text[0] = '\xff')
	BREAKS("utf8", p->strings[p->functions[0].name].text[0] = '\0')
	BREAKS("string-index", p->functions[0].name = 1000)
	BREAKS("duplicate-string", p->comments.items[0] = add_text("main"))
	BREAKS("unused-string", add_text("nobody"))
	BREAKS("sample-types", struct pcheck_type t = p->types[0]; p->types[0] = p->types[1];
	       p->types[1] = t)
	BREAKS("sample-types", p->type_count = 1)
	BREAKS("type-name", p->types[0].type = add_text("cpu-samples"))
	BREAKS("period-type", p->period_type.unit = p->types[0].unit)
	BREAKS("default-type", p->default_type = p->types[0].type)
	BREAKS("time", p->time_nanos = 0)
	BREAKS("duration", p->duration_nanos = 0)
	BREAKS("period", p->period = (uint64_t)-1)
	BREAKS("drop-frames", p->drop_frames = p->functions[0].name)
	BREAKS("drop-frames", p->drop_frames = add_text("main|(work"))
	BREAKS("drop-frames", p->keep_frames = add_text("(main)?"))
	BREAKS("comment", p->comments.items[0] = add_text("executableInfo=1"))
	BREAKS("comment", p->comments.items[0] = 0)
	BREAKS("comment", p->comments.items[0] = add_text("libcprof"))
	BREAKS("main-mapping", p->mappings[0].path = add_text("/bin/other"))
	return NULL;
}

static const char *broken_sample(size_t *i)
{
	BREAKS("no-location", p->samples[0].locations.count = 0)
	BREAKS("reference", p->samples[0].locations.items[0] = 5)
	BREAKS("reference", p->samples[0].locations.items[0] = 0)
	BREAKS("value-count", p->samples[0].values.count = 1)
	BREAKS("negative", p->samples[0].values.items[0] = (uint64_t)-3)
	BREAKS("all-zero", p->samples[2].values.items[1] = 0)
	BREAKS("duplicate-sample", repeat_last_sample())
	BREAKS("duplicate-sample", repeat_sample_with_labels_in_other_order())
	BREAKS("label-key", p->samples[0].labels[0].key = 0)
	BREAKS("label-key", p->samples[0].labels[0].key = add_text("pprof::x"))
	BREAKS("label-both", p->samples[0].labels[0].number = 1)
	BREAKS("label-both", p->samples[0].labels[0].unit = p->samples[0].labels[2].unit)
	BREAKS("label-twice", p->samples[0].labels[0].key = p->samples[0].labels[1].key)
	BREAKS("label-type", p->samples[0].labels[0].text = 0)
	BREAKS("label-type", p->samples[0].labels[1].text = p->types[0].type;
	       p->samples[0].labels[1].number = 0)
	BREAKS("label-type", p->samples[0].labels[2].unit = 0)
	BREAKS("unused-location", p->samples[2].locations.items[0] = 3)
	return NULL;
}

static const char *broken_mapping(size_t *i)
{
	BREAKS("mapping-id", p->mappings[2].id = 7)
	BREAKS("mapping-range", p->mappings[0].limit = p->mappings[0].start)
	BREAKS("mapping-path", p->mappings[0].path = 0)
	BREAKS("mapping-path", p->mappings[0].path = add_text("/bin/app (deleted)"))
	BREAKS("build-id", p->mappings[0].build_id = add_text("00FF"))
	BREAKS("build-id", p->mappings[0].build_id = add_text("00f"))
	BREAKS("mapping-overlap", p->mappings[1] = p->mappings[0])
	BREAKS("mapping-overlap", p->mappings[1].path = p->mappings[0].path;
	       p->mappings[1].build_id = p->mappings[0].build_id;
	       p->mappings[1].start = p->mappings[0].start + 0x1000; p->mappings[1].offset = 0x2000)
	BREAKS("has-flags", p->mappings[1].functions = 0)
	BREAKS("has-flags", p->mappings[2].functions = 1)
	BREAKS("has-flags", p->locations[1].line_count = 0)
	BREAKS("has-flags", p->mappings[0].filenames = 0)
	BREAKS("has-flags", p->mappings[1].filenames = 1)
	BREAKS("has-flags", p->mappings[0].lines = 0)
	BREAKS("has-flags", p->mappings[1].lines = 1)
	BREAKS("has-flags", p->mappings[0].inlines = 0)
	BREAKS("has-flags", p->mappings[2].inlines = 1)
	BREAKS("has-flags", p->mappings[0].inlines = 2)
	return NULL;
}

static const char *broken_code(size_t *i)
{
	BREAKS("unused-mapping", p->locations[3].mapping = 2;
	       p->locations[3].address = 0x7f0000000999)
	BREAKS("location-id", p->locations[3].id = 9)
	BREAKS("location-range", p->locations[0].address = 0x3fffff)
	BREAKS("location-range", p->locations[0].address = 0x500000)
	BREAKS("reference", p->locations[0].mapping = 4)
	BREAKS("reference", p->locations[0].lines[0].function = 6)
	BREAKS("reference", p->locations[0].lines[0].function = 0)
	BREAKS("location-name", p->locations[0].mapping = 0; p->locations[0].line_count = 0)
	BREAKS("duplicate-location", p->locations[1].address = p->locations[0].address)
	BREAKS("line-number", p->locations[0].lines[0].line = (uint64_t)-1)
	BREAKS("function-id", p->functions[4].id = 6)
	BREAKS("function-name", p->functions[0].name = 0)
	BREAKS("function-file", p->functions[0].filename = add_text("main.c"))
	BREAKS("line-number", p->functions[0].start_line = (uint64_t)-1)
	BREAKS("unused-function", p->locations[0].lines[0].function = 2)
	BREAKS("duplicate-function", p->functions[1] = p->functions[0]; p->functions[1].id = 2)
	return NULL;
}

/* NULL: there are no I ways. */
static const char *broken_by(size_t i)
{
	const char *rule = broken_header(&i);

	rule = rule ? rule : broken_sample(&i);
	rule = rule ? rule : broken_mapping(&i);
	return rule ? rule : broken_code(&i);
}

TEST(test_each_broken_rule_is_found)
{
	struct memory_sink m = MEMORY_SINK;
	const char *rule;
	size_t ways = 0;

	CHECK_EQ(write_sample_profile(&m.sink), 0);
	do {
		struct pcheck_report r = { 0 };
		struct pcheck_profile profile;

		pcheck_decode(&profile, m.data, m.size, &r);
		p = &profile;
		rule = broken_by(ways);
		pcheck_rules(p, "cpu", "/opt/app/bin/app", &r);
		if (rule && !pcheck_was(&r, rule)) {
			CHECK(!"the broken rule is reported");
			printf("# case %zu: %s, not: %s\n", ways, rule, r.rules);
		}
		pcheck_free(p);
	} while (rule && ++ways);
	CHECK_EQ(ways, 72);
	free(m.data);
}

TEST(test_modes_are_told_apart)
{
	static const char *const others[] = { "wall", "heap", "peak", "lock", "holders" };
	struct memory_sink m = MEMORY_SINK;

	CHECK_EQ(write_sample_profile(&m.sink), 0);
	for (size_t i = 0; i < 6; i++) {
		struct pcheck_report r = { 0 };
		struct pcheck_profile profile;

		pcheck_decode(&profile, m.data, m.size, &r);
		pcheck_rules(&profile, i < 5 ? others[i] : NULL, NULL, &r);
		CHECK_EQ(pcheck_was(&r, "sample-types"), i < 5);
		pcheck_free(&profile);
	}
	free(m.data);
}

/* BYTES in front of a valid profile. */
static bool wire_breaks(const char *rule, const void *bytes, size_t n)
{
	struct pcheck_report r = { 0 };
	struct memory_sink m = MEMORY_SINK;
	struct pcheck_profile profile;

	memory_write(&m.sink, bytes, n);
	CHECK_EQ(write_sample_profile(&m.sink), 0);
	pcheck_decode(&profile, m.data, m.size, &r);
	pcheck_free(&profile);
	free(m.data);
	return pcheck_was(&r, rule);
}

#define WIRE_BREAKS(rule, bytes) CHECK(wire_breaks(rule, bytes, sizeof(bytes) - 1))

TEST(test_wire_format_is_strict)
{
	CHECK(!wire_breaks("wire", "", 0));
	WIRE_BREAKS("wire", "\x08");	  /* number, no message */
	WIRE_BREAKS("wire", "\x4a\x01x"); /* message, no number */
	WIRE_BREAKS("wire", "\x49"
			    "12345678");				     /* fixed64 */
	WIRE_BREAKS("wire", "\x60\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"); /* above 64 bits */
	WIRE_BREAKS("wire", "\x60\x81\x00");		 /* longer than need be */
	WIRE_BREAKS("wire", "\x12\xff\xff\xff\xff\x7f"); /* beyond the end */
	WIRE_BREAKS("wire", "\x02\x01");		 /* field 0 */
	WIRE_BREAKS("wire", "\x12\x03\x0a\x02\x80");	 /* cut within */
	WIRE_BREAKS("repeated", "\x48\x05");		 /* time_nanos twice */
	WIRE_BREAKS("repeated", "\x5a\x02\x08\x01");	 /* period_type twice */
	WIRE_BREAKS("zero", "\x78\x00");		 /* doc_url 0 */
	WIRE_BREAKS("field", "\x80\x01\x01");		 /* field 16 */
	WIRE_BREAKS("field", "\x1a\x02\x58\x01");	 /* mapping field 11 */
}

/* The rules that a file of these N bytes breaks. */
static const char *rules_of(const void *bytes, size_t n)
{
	static struct pcheck_report r;
	struct pcheck_profile profile;
	FILE *out = fopen(at("a.pb"), "w");

	r = (struct pcheck_report){ 0 };
	fwrite(bytes, 1, n, out);
	fclose(out);
	if (!pcheck_read_file(&profile, at("a.pb"), &r))
		pcheck_free(&profile);
	return r.rules;
}

TEST(test_damage_to_a_file_is_found)
{
	struct memory_sink m = MEMORY_SINK;
	struct cp_gzip_sink g;
	size_t n;

	cp_sink_gzip_load();
	cp_sink_gzip_open(&g, &m.sink, CP_GZIP_USUAL);
	CHECK_EQ(write_sample_profile(&g.sink), 0);
	CHECK_EQ(cp_sink_gzip_close(&g), 0);
	n = m.size;
	make_folder();
	CHECK_STR(rules_of(m.data, n), "");
	CHECK_STR(rules_of(m.data, n - 1), "gzip ");
	CHECK_STR(rules_of(m.data, 0), "gzip ");
	CHECK_STR(rules_of("not gzip", 8), "gzip ");
	m.data = realloc(m.data, 2 * n);
	memcpy(m.data + n, m.data, n);
	CHECK_STR(rules_of(m.data, 2 * n), "single-stream ");
	m.data[n - 6] ^= 1; /* the checksum */
	CHECK_STR(rules_of(m.data, n), "gzip ");
	entries(1);
	free(m.data);
}
