/* SPDX-License-Identifier: BSD-3-Clause */
/* The validator finds each rule broken: a valid profile, with one thing made wrong. */
#include "harness.h"

#include <stdint.h>

#include "pprof-sample.h"
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

#define BREAK(name, ...)                                                                           \
	static void name(void)                                                                     \
	{                                                                                          \
		__VA_ARGS__;                                                                       \
	}

BREAK(text0, p->strings[0].length = 1; free(p->strings[0].text); p->strings[0].text = strdup("x"))
BREAK(not_utf8, p->strings[p->functions[0].name].text[0] = '\xff')
BREAK(nul_within, p->strings[p->functions[0].name].text[0] = '\0')
BREAK(no_such_string, p->functions[0].name = 1000)
BREAK(same_string, p->comments.items[0] = add_text("main"))
BREAK(string_without_use, add_text("nobody"))
BREAK(types_in_other_order, struct pcheck_type t = p->types[0]; p->types[0] = p->types[1];
      p->types[1] = t)
BREAK(one_type, p->type_count = 1)
BREAK(hyphen, p->types[0].type = add_text("cpu-samples"))
BREAK(other_period_type, p->period_type.unit = p->types[0].unit)
BREAK(other_default, p->default_type = p->types[0].type)
BREAK(no_time, p->time_nanos = 0)
BREAK(no_duration, p->duration_nanos = 0)
BREAK(negative_period, p->period = (uint64_t)-1)
BREAK(drop_frames, p->drop_frames = p->functions[0].name)
BREAK(bad_drop_frames, p->drop_frames = add_text("main|(work"))
BREAK(bad_keep_frames, p->keep_frames = add_text("(main)?"))
BREAK(comment_of_parca, p->comments.items[0] = add_text("executableInfo=1"))
BREAK(empty_comment, p->comments.items[0] = 0)
BREAK(comment_that_pprof_prints, p->comments.items[0] = add_text("libcprof"))
BREAK(other_main, p->mappings[0].path = add_text("/bin/other"))
BREAK(no_stack, p->samples[0].locations.count = 0)
BREAK(no_such_location, p->samples[0].locations.items[0] = 5)
BREAK(location_zero, p->samples[0].locations.items[0] = 0)
BREAK(short_values, p->samples[0].values.count = 1)
BREAK(negative_value, p->samples[0].values.items[0] = (uint64_t)-3)
BREAK(zero_values, p->samples[2].values.items[1] = 0)
BREAK(empty_key, p->samples[0].labels[0].key = 0)
BREAK(reserved_key, p->samples[0].labels[0].key = add_text("pprof::x"))
BREAK(text_and_number, p->samples[0].labels[0].number = 1)
BREAK(text_and_unit, p->samples[0].labels[0].unit = p->samples[0].labels[2].unit)
BREAK(same_key, p->samples[0].labels[0].key = p->samples[0].labels[1].key)
BREAK(thread_number, p->samples[0].labels[0].text = 0)
BREAK(tid_text, p->samples[0].labels[1].text = p->types[0].type; p->samples[0].labels[1].number = 0)
BREAK(bytes_without_unit, p->samples[0].labels[2].unit = 0)
BREAK(mapping_gap, p->mappings[2].id = 7)
BREAK(mapping_inverted, p->mappings[0].limit = p->mappings[0].start)
BREAK(mapping_nameless, p->mappings[0].path = 0)
BREAK(mapping_deleted, p->mappings[0].path = add_text("/bin/app (deleted)"))
BREAK(build_id_upper, p->mappings[0].build_id = add_text("00FF"))
BREAK(build_id_odd, p->mappings[0].build_id = add_text("00f"))
BREAK(mapping_twice, p->mappings[1] = p->mappings[0])
BREAK(mapping_split_badly, p->mappings[1].path = p->mappings[0].path;
      p->mappings[1].build_id = p->mappings[0].build_id;
      p->mappings[1].start = p->mappings[0].start + 0x1000; p->mappings[1].offset = 0x2000)
BREAK(mapping_for_nothing, p->locations[3].mapping = 2; p->locations[3].address = 0x7f0000000999)
BREAK(functions_denied, p->mappings[1].functions = 0)
BREAK(functions_claimed, p->mappings[2].functions = 1)
BREAK(functions_for_some, p->locations[1].line_count = 0)
BREAK(filenames_denied, p->mappings[0].filenames = 0)
BREAK(filenames_claimed, p->mappings[1].filenames = 1)
BREAK(lines_denied, p->mappings[0].lines = 0)
BREAK(lines_claimed, p->mappings[1].lines = 1)
BREAK(inlines_denied, p->mappings[0].inlines = 0)
BREAK(inlines_claimed, p->mappings[2].inlines = 1)
BREAK(flag_two, p->mappings[0].inlines = 2)
BREAK(location_gap, p->locations[3].id = 9)
BREAK(location_below, p->locations[0].address = 0x3fffff)
BREAK(location_at_limit, p->locations[0].address = 0x500000)
BREAK(no_such_mapping, p->locations[0].mapping = 4)
BREAK(no_such_function, p->locations[0].lines[0].function = 6)
BREAK(line_without_function, p->locations[0].lines[0].function = 0)
BREAK(location_of_nothing, p->locations[0].mapping = 0; p->locations[0].line_count = 0)
BREAK(location_without_use, p->samples[2].locations.items[0] = 3)
BREAK(same_location, p->locations[1].address = p->locations[0].address)
BREAK(negative_line, p->locations[0].lines[0].line = (uint64_t)-1)
BREAK(function_gap, p->functions[4].id = 6)
BREAK(function_nameless, p->functions[0].name = 0)
BREAK(relative_file, p->functions[0].filename = add_text("main.c"))
BREAK(negative_start, p->functions[0].start_line = (uint64_t)-1)
BREAK(function_without_use, p->locations[0].lines[0].function = 2)
BREAK(same_function, p->functions[1] = p->functions[0]; p->functions[1].id = 2)

static const struct {
	const char *rule;
	void (*break_it)(void);
} table[] = {
	{ "first-string", text0 },
	{ "utf8", not_utf8 },
	{ "utf8", nul_within },
	{ "string-index", no_such_string },
	{ "duplicate-string", same_string },
	{ "unused-string", string_without_use },
	{ "sample-types", types_in_other_order },
	{ "sample-types", one_type },
	{ "type-name", hyphen },
	{ "period-type", other_period_type },
	{ "default-type", other_default },
	{ "time", no_time },
	{ "duration", no_duration },
	{ "period", negative_period },
	{ "drop-frames", drop_frames },
	{ "drop-frames", bad_drop_frames },
	{ "drop-frames", bad_keep_frames },
	{ "comment", comment_of_parca },
	{ "comment", empty_comment },
	{ "comment", comment_that_pprof_prints },
	{ "main-mapping", other_main },
	{ "no-location", no_stack },
	{ "reference", no_such_location },
	{ "reference", location_zero },
	{ "value-count", short_values },
	{ "negative", negative_value },
	{ "all-zero", zero_values },
	{ "duplicate-sample", repeat_last_sample },
	{ "duplicate-sample", repeat_sample_with_labels_in_other_order },
	{ "label-key", empty_key },
	{ "label-key", reserved_key },
	{ "label-both", text_and_number },
	{ "label-both", text_and_unit },
	{ "label-twice", same_key },
	{ "label-type", thread_number },
	{ "label-type", tid_text },
	{ "label-type", bytes_without_unit },
	{ "mapping-id", mapping_gap },
	{ "mapping-range", mapping_inverted },
	{ "mapping-path", mapping_nameless },
	{ "mapping-path", mapping_deleted },
	{ "build-id", build_id_upper },
	{ "build-id", build_id_odd },
	{ "mapping-overlap", mapping_twice },
	{ "mapping-overlap", mapping_split_badly },
	{ "unused-mapping", mapping_for_nothing },
	{ "has-flags", functions_denied },
	{ "has-flags", functions_claimed },
	{ "has-flags", functions_for_some },
	{ "has-flags", filenames_denied },
	{ "has-flags", filenames_claimed },
	{ "has-flags", lines_denied },
	{ "has-flags", lines_claimed },
	{ "has-flags", inlines_denied },
	{ "has-flags", inlines_claimed },
	{ "has-flags", flag_two },
	{ "location-id", location_gap },
	{ "location-range", location_below },
	{ "location-range", location_at_limit },
	{ "reference", no_such_mapping },
	{ "reference", no_such_function },
	{ "reference", line_without_function },
	{ "location-name", location_of_nothing },
	{ "unused-location", location_without_use },
	{ "duplicate-location", same_location },
	{ "line-number", negative_line },
	{ "function-id", function_gap },
	{ "function-name", function_nameless },
	{ "function-file", relative_file },
	{ "line-number", negative_start },
	{ "unused-function", function_without_use },
	{ "duplicate-function", same_function },
};

static void test_each_broken_rule_is_found(void)
{
	struct memory_sink m = MEMORY_SINK;

	CHECK_EQ(write_sample_profile(&m.sink), 0);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct pcheck_report r = { 0 };
		struct pcheck_profile profile;

		pcheck_decode(&profile, m.data, m.size, &r);
		p = &profile;
		table[i].break_it();
		pcheck_rules(p, "cpu", "/opt/app/bin/app", &r);
		if (!pcheck_was(&r, table[i].rule)) {
			CHECK(!"the broken rule is reported");
			printf("# case %zu: %s, not: %s\n", i, table[i].rule, r.rules);
		}
		pcheck_free(p);
	}
	free(m.data);
}

static void test_modes_are_told_apart(void)
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

static void test_wire_format_is_strict(void)
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

int main(void)
{
	RUN(test_each_broken_rule_is_found);
	RUN(test_modes_are_told_apart);
	RUN(test_wire_format_is_strict);
	return harness_end();
}
