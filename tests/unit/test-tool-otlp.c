/* SPDX-License-Identifier: BSD-3-Clause */
/* tools/otlp/: a profile survives the way to OpenTelemetry's format and back; what other writers do
 * differently is read; damaged messages are refused.
 */
#include <stdlib.h>

#include "harness.h"
#include "core/read.h"
#include "otlp/otlp.h"
#include "otlp/otlp.pb-c.h"
#include "otlp/otlp_cursor.h"
#include "otlp/otlp_fields.h"
#include "tool-bytes.h"

#define TRACE "0af7651916cd43dd8448eb211c80319c"
#define SPAN "b7ad6b7169203331"

static struct ct_fault fault;

static struct ct_profile *read_back(const void *data, size_t size)
{
	struct ct_input *in = ct_input_memory(data, size);
	struct ct_profile *p = NULL;

	fault = (struct ct_fault){ 0 };
	ct_read(&p, in, &fault);
	ct_input_close(in);
	return p;
}

static size_t encode(const struct ct_otlp *what, char **data)
{
	size_t size = 0;
	FILE *to = open_memstream(data, &size);

	CHECK_EQ(ct_otlp_encode(what, to), 0);
	fclose(to);
	return size;
}

static struct ct_profile *through(const struct ct_otlp *what)
{
	char *data = NULL;
	size_t size = encode(what, &data);
	struct ct_profile *p = read_back(data, size);

	free(data);
	CHECK_STR(fault.text, "");
	return p;
}

static uint32_t add_function(struct ct_profile *p, const char *name)
{
	struct ct_function f = { .name = ct_model_string(p, name),
				 .system_name = ct_model_string(p, "_Z4work"),
				 .filename = ct_model_string(p, "a.c"),
				 .start_line = 7 };

	return ct_model_add_function(p, &f);
}

static uint32_t add_location(struct ct_profile *p, uint32_t mapping, uint64_t address,
			     uint32_t function, bool folded)
{
	struct ct_location l = { .address = address, .mapping = mapping, .folded = folded };
	struct ct_line lines[2] = { { function, 5, 11 }, { function, 0, 12 } };

	return ct_model_add_location(p, &l, lines, function == CT_NONE ? 0 : folded ? 2 : 1);
}

static struct ct_label text_label(struct ct_profile *p, const char *key, const char *text)
{
	return (struct ct_label){ .key = ct_model_string(p, key),
				  .text = ct_model_string(p, text) };
}

static struct ct_label number_label(struct ct_profile *p, const char *key, int64_t number,
				    const char *unit)
{
	return (struct ct_label){ .key = ct_model_string(p, key),
				  .number = number,
				  .unit = ct_model_string(p, unit) };
}

static void add_heads(struct ct_profile *p)
{
	struct ct_mapping m = { .start = 0x1000,
				.limit = 0x9000,
				.offset = 0x1000,
				.has_functions = true,
				.has_lines = true };

	ct_model_add_type(
		p, (struct ct_type){ ct_model_string(p, "samples"), ct_model_string(p, "count") });
	ct_model_add_type(p, (struct ct_type){ ct_model_string(p, "cpu"),
					       ct_model_string(p, "nanoseconds") });
	m.file = ct_model_string(p, "/bin/app");
	m.build_id = ct_model_string(p, "abcdef");
	ct_model_add_mapping(p, &m);
	p->period_type = p->types[1];
	p->period = 100;
	p->time_nanos = 1700000000;
	p->duration_nanos = 5000;
	p->default_type = ct_model_string(p, "cpu");
	p->drop_frames = ct_model_string(p, "malloc|free");
	ct_model_add_comment(p, ct_model_string(p, "# libcprof 1.0, mode cpu, pid 321, Linux"));
	ct_model_add_comment(p, ct_model_string(p, "second"));
}

/* Two stacks, with and without names, and labels of every kind. */
static struct ct_profile *usual(void)
{
	struct ct_profile *p = ct_model_new();
	uint32_t frames[3], set;
	struct ct_label labels[6];

	add_heads(p);
	frames[0] = add_location(p, 0, 0x1100, add_function(p, "leaf"), false);
	frames[1] = add_location(p, 0, 0x1200, add_function(p, "main"), true);
	frames[2] = add_location(p, CT_NONE, 0x77, CT_NONE, false);
	labels[0] = text_label(p, "thread", "one");
	labels[1] = number_label(p, "tid", 42, "");
	labels[2] = number_label(p, "bytes", -4096, "bytes");
	labels[3] = text_label(p, "tag", "a");
	labels[4] = text_label(p, "tag", "b");
	set = ct_model_label_set(p, labels, 5);
	ct_model_add_sample(p, frames, 3, (int64_t[]){ 3, 300 }, set);
	ct_model_add_sample(p, frames + 1, 2, (int64_t[]){ 0, 200 }, 0);
	labels[0] = text_label(p, "trace_id", TRACE);
	labels[1] = text_label(p, "span_id", SPAN);
	set = ct_model_label_set(p, labels, 2);
	ct_model_add_sample(p, frames, 2, (int64_t[]){ 1, 0 }, set);
	return p;
}

static void check_label(const struct ct_profile *p, size_t sample, size_t which, const char *key,
			const char *text)
{
	const struct ct_label_set *set = &p->label_sets[p->samples[sample].label_set];

	CHECK(which < set->count);
	if (which >= set->count)
		return;
	CHECK_STR(ct_text(p, p->labels[set->first + which].key), key);
	CHECK_STR(ct_text(p, p->labels[set->first + which].text), text);
}

static void check_number(const struct ct_profile *p, size_t sample, size_t which, const char *key,
			 int64_t number, const char *unit)
{
	const struct ct_label_set *set = &p->label_sets[p->samples[sample].label_set];

	check_label(p, sample, which, key, "");
	CHECK_EQ(p->labels[set->first + which].number, number);
	CHECK_STR(ct_text(p, p->labels[set->first + which].unit), unit);
}

static void check_heads(const struct ct_profile *p)
{
	CHECK_EQ(p->type_count, 2);
	CHECK_STR(ct_text(p, p->types[0].type), "samples");
	CHECK_STR(ct_text(p, p->types[0].unit), "count");
	CHECK_STR(ct_text(p, p->types[1].type), "cpu");
	CHECK_STR(ct_text(p, p->default_type), "cpu");
	CHECK_STR(ct_text(p, p->drop_frames), "malloc|free");
	CHECK_STR(ct_text(p, p->period_type.unit), "nanoseconds");
	CHECK_EQ(p->period, 100);
	CHECK_EQ(p->time_nanos, 1700000000);
	CHECK_EQ(p->duration_nanos, 5000);
	CHECK_EQ(p->comment_count, 2);
	CHECK_STR(ct_text(p, p->comments[1]), "second");
	CHECK_EQ(p->mapping_count, 1);
	CHECK_STR(ct_text(p, p->mappings[0].file), "/bin/app");
	CHECK_STR(ct_text(p, p->mappings[0].build_id), "abcdef");
	CHECK_EQ(p->mappings[0].offset, 0x1000);
	CHECK(p->mappings[0].has_functions && p->mappings[0].has_lines);
}

/* The default type is written first, so its samples come first. */
static void test_everything_comes_back(void)
{
	struct ct_profile *from = usual(), *p;
	struct ct_otlp_attribute resource[CT_OTLP_RESOURCE_MAX];
	struct ct_otlp o = { .profile = from, .resource = resource };
	const struct ct_location *l;

	o.resource_count = ct_otlp_resource(from, resource);
	p = through(&o);
	check_heads(p);
	CHECK_EQ(p->sample_count, 3);
	CHECK_EQ(ct_values(p, 0)[0], 3);
	CHECK_EQ(ct_values(p, 0)[1], 300);
	CHECK_EQ(ct_values(p, 1)[1], 200);
	CHECK_EQ(ct_values(p, 2)[0], 1);
	CHECK_EQ(p->samples[0].depth, 3);
	l = &p->locations[ct_frames(p, &p->samples[0])[1]];
	CHECK(l->folded);
	CHECK_EQ(l->line_count, 2);
	CHECK_EQ(p->lines[l->first_line].column, 5);
	CHECK_EQ(p->lines[l->first_line + 1].line, 12);
	CHECK_STR(ct_text(p, p->functions[p->lines[l->first_line].function].name), "main");
	CHECK_STR(ct_text(p, p->functions[0].system_name), "_Z4work");
	CHECK_EQ(p->functions[0].start_line, 7);
	l = &p->locations[ct_frames(p, &p->samples[0])[2]];
	CHECK_EQ(l->address, 0x77);
	CHECK_EQ(l->mapping, CT_NONE);
	check_label(p, 0, 0, "thread", "one");
	check_number(p, 0, 1, "tid", 42, "");
	check_number(p, 0, 2, "bytes", -4096, "bytes");
	check_label(p, 0, 3, "tag", "a");
	check_label(p, 0, 4, "tag", "b");
	CHECK_EQ(p->samples[1].label_set, 0);
	check_label(p, 2, 0, "trace_id", TRACE);
	check_label(p, 2, 1, "span_id", SPAN);
	ct_model_free(p);
	ct_model_free(from);
}

/* Finds the first message in FIELD of B, or an empty one. */
static struct ct_otlp_bytes part(struct ct_otlp_bytes b, unsigned field, unsigned which)
{
	struct ct_otlp_cursor c = ct_otlp_cursor_of(b);

	while (ct_otlp_cursor_next(&c) > 0)
		if (c.field == field && !which--)
			return c.body;
	return (struct ct_otlp_bytes){ (const uint8_t *)"", 0 };
}

/* What a receiver looks at: the default type first, the trace as a link, names as conventions say.
 */
static void test_the_message_is_what_receivers_expect(void)
{
	struct ct_profile *from = usual();
	struct ct_otlp o = { .profile = from };
	char *data = NULL;
	size_t size = encode(&o, &data);
	struct ct_otlp_bytes all = { (uint8_t *)data, size };
	struct ct_otlp_bytes dictionary = part(all, OTLP_DATA_DICTIONARY, 0), b;
	Otlp__Sample *s;
	Otlp__Link *l;

	b = part(dictionary, OTLP_LINKS, 1);
	l = otlp__link__unpack(NULL, b.size, b.at);
	CHECK_EQ(l->trace_id.len, 16);
	CHECK_EQ(l->span_id.len, 8);
	CHECK_EQ(l->trace_id.data[0], 0x0a);
	CHECK_EQ(l->span_id.data[7], 0x31);
	otlp__link__free_unpacked(l, NULL);
	for (unsigned table = OTLP_MAPPINGS; table <= OTLP_STACKS; table++)
		CHECK_EQ(part(dictionary, table, 0).size, 0);
	b = part(part(all, OTLP_DATA_RESOURCES, 0), OTLP_RESOURCE_SCOPES, 0);
	b = part(part(b, OTLP_SCOPE_PROFILES, 0), OTLP_PROFILE_SAMPLES, 0);
	s = otlp__sample__unpack(NULL, b.size, b.at);
	CHECK_EQ(s->n_values, 1);
	CHECK_EQ(s->values[0], 300);
	CHECK_EQ(s->n_attributes, 4);
	otlp__sample__free_unpacked(s, NULL);
	CHECK(memmem(data, size, "thread.name", 11) != NULL);
	free(data);
	ct_model_free(from);
}

static void test_equal_samples_are_summed_and_one_id_is_no_link(void)
{
	struct ct_profile *from = usual(), *p;
	struct ct_otlp o = { .profile = from, .types = 2 };
	struct ct_label only = text_label(from, "trace_id", TRACE);
	uint32_t set = ct_model_label_set(from, &only, 1), frame = 0;

	ct_model_add_sample(from, &frame, 1, (int64_t[]){ 1, 10 }, set);
	ct_model_add_sample(from, &frame, 1, (int64_t[]){ 1, 30 }, set);
	p = through(&o);
	CHECK_EQ(p->type_count, 1);
	CHECK_EQ(p->sample_count, 3);
	CHECK_EQ(ct_values(p, 2)[0], 40);
	CHECK_EQ(p->label_sets[p->samples[2].label_set].count, 1);
	check_label(p, 2, 0, "trace_id", TRACE);
	ct_model_free(p);
	ct_model_free(from);
}

static void test_text_that_is_not_utf8_is_mended(void)
{
	struct ct_profile *from = usual(), *p;
	struct ct_otlp o = { .profile = from };
	struct ct_label odd = text_label(from, "k\xff", "v\xc3\xa9\xc3");
	uint32_t set = ct_model_label_set(from, &odd, 1), frame = 0;

	ct_model_add_sample(from, &frame, 1, (int64_t[]){ 1, 10 }, set);
	p = through(&o);
	CHECK_EQ(p->sample_count, 4);
	check_label(p, 2, 0, "k?", "v\xc3\xa9?");
	ct_model_free(p);
	ct_model_free(from);
}

/* A message of another writer: texts of attributes by index, timestamps in place of values, two
 * services, no flags of mappings, the dictionary first. */
static void put_nested(struct bytes *to, unsigned field, const struct bytes *from)
{
	put_bytes(to, field, from->data, from->n);
}

static void put_foreign_dictionary(struct bytes *to)
{
	static const char *const texts[] = { "",	 "events", "count",	  "work",
					     "cpu.mode", "user",   "service.name" };
	static struct bytes d, m, v;

	d.n = 0;
	for (unsigned table = OTLP_MAPPINGS; table <= OTLP_STACKS; table++)
		if (table != OTLP_STRINGS)
			put_bytes(&d, table, "", 0);
	for (unsigned i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		put_bytes(&d, OTLP_STRINGS, texts[i], strlen(texts[i]));
	PUT_FIELDS(&d, OTLP_MAPPINGS, 0x1000, 0x2000, 0, 3);
	PUT_FIELDS(&d, OTLP_FUNCTIONS, 3);
	m.n = v.n = 0;
	put_number(&m, 1, 1);
	put_number(&m, 2, 0x1100);
	PUT_FIELDS(&m, 3, 1, 9);
	put_nested(&d, OTLP_LOCATIONS, &m);
	PUT_FIELDS(&d, OTLP_STACKS, 1);
	m.n = 0;
	put_number(&m, 1, 4);
	put_number(&v, 8, 5); /* the text "user" */
	put_nested(&m, 2, &v);
	put_nested(&d, OTLP_ATTRIBUTES, &m);
	put_nested(to, OTLP_DATA_DICTIONARY, &d);
}

static void put_resource(struct bytes *to, const char *service, unsigned timestamps)
{
	static struct bytes all, scope, profile, sample, m, v;

	all.n = scope.n = profile.n = sample.n = m.n = v.n = 0;
	put_bytes(&v, 1, service, strlen(service));
	put_number(&m, 3, 6); /* the key by index, as the Collector writes it */
	put_nested(&m, 2, &v);
	v.n = 0;
	put_nested(&v, 1, &m);
	put_nested(&all, OTLP_RESOURCE, &v);
	PUT_FIELDS(&profile, OTLP_PROFILE_TYPE, 1, 2);
	PUT_FIELDS(&profile, OTLP_PROFILE_SAMPLES, 1, 1, 0, timestamps);
	put_number(&sample, 1, 1);
	for (unsigned i = 0; i < timestamps; i++) {
		put_varint(&sample, 5 << 3 | 1);
		for (unsigned k = 0; k < 8; k++)
			put_byte(&sample, i);
	}
	put_nested(&profile, OTLP_PROFILE_SAMPLES, &sample);
	put_nested(&scope, OTLP_SCOPE_PROFILES, &profile);
	put_nested(&all, OTLP_RESOURCE_SCOPES, &scope);
	put_nested(to, OTLP_DATA_RESOURCES, &all);
}

static void test_other_writers_are_read(void)
{
	static struct bytes b;
	struct ct_profile *p;

	b.n = 0;
	put_foreign_dictionary(&b);
	put_resource(&b, "shop", 3);
	put_resource(&b, "cart", 5);
	p = read_back(b.data, b.n);
	CHECK_STR(fault.text, "");
	CHECK_EQ(p->type_count, 1);
	CHECK_STR(ct_text(p, p->types[0].type), "events");
	CHECK_EQ(p->sample_count, 4);
	CHECK_EQ(ct_values(p, 0)[0], 3);
	CHECK_EQ(ct_values(p, 1)[0], 3);
	CHECK_EQ(ct_values(p, 3)[0], 5);
	check_label(p, 0, 0, "cpu.mode", "user");
	check_label(p, 0, 1, "service.name", "shop");
	check_label(p, 3, 0, "service.name", "cart");
	CHECK(p->mappings[0].has_functions && p->mappings[0].has_lines);
	CHECK(!p->mappings[0].has_filenames);
	ct_model_free(p);
	b.n = 0;
	put_foreign_dictionary(&b);
	put_resource(&b, "shop", 3);
	p = read_back(b.data, b.n);
	CHECK_EQ(p->comment_count, 1);
	CHECK_STR(ct_text(p, p->comments[0]), "# resource: service.name=shop");
	ct_model_free(p);
}

/* The Collector writes the fields of each message backwards. */
static void test_the_dictionary_may_come_first(void)
{
	struct ct_profile *from = usual(), *p;
	struct ct_otlp o = { .profile = from };
	char *data = NULL;
	size_t size = encode(&o, &data);
	struct ct_otlp_bytes all = { (uint8_t *)data, size }, dictionary, table;
	static struct bytes d, b;

	dictionary = part(all, OTLP_DATA_DICTIONARY, 0);
	d.n = b.n = 0;
	for (unsigned field = OTLP_STACKS; field >= OTLP_MAPPINGS; field--) {
		struct ct_otlp_cursor c = ct_otlp_cursor_of(dictionary);

		while (ct_otlp_cursor_next(&c) > 0)
			if (c.field == field)
				put_bytes(&d, field, c.body.at, c.body.size);
	}
	put_nested(&b, OTLP_DATA_DICTIONARY, &d);
	table = part(all, OTLP_DATA_RESOURCES, 0);
	put_bytes(&b, OTLP_DATA_RESOURCES, table.at, table.size);
	p = read_back(b.data, b.n);
	CHECK_STR(fault.text, "");
	check_heads(p);
	CHECK_EQ(p->sample_count, 3);
	ct_model_free(p);
	free(data);
	ct_model_free(from);
}

static void test_wrong_references_are_refused(void)
{
	static struct bytes b;

	b.n = 0;
	put_resource(&b, "shop", 3);
	CHECK(!read_back(b.data, b.n));
	CHECK(strstr(fault.text, "OTLP: a string index is out of range") != NULL);
	put_foreign_dictionary(&b);
	put_foreign_dictionary(&b);
	CHECK(!read_back(b.data, b.n));
	CHECK(strstr(fault.text, "two dictionaries") != NULL);
}

static void test_every_truncation_and_flip_is_survived(void)
{
	struct ct_profile *from = usual(), *p;
	struct ct_otlp o = { .profile = from };
	char *data = NULL;
	size_t size = encode(&o, &data);

	for (size_t i = 0; i < size; i++) {
		p = read_back(data, i);
		CHECK(!p);
		for (unsigned bit = 0; bit < 8; bit++) {
			data[i] ^= (char)(1 << bit);
			ct_model_free(read_back(data, size));
			data[i] ^= (char)(1 << bit);
		}
	}
	free(data);
	ct_model_free(from);
}

int main(void)
{
	RUN(test_everything_comes_back);
	RUN(test_the_message_is_what_receivers_expect);
	RUN(test_equal_samples_are_summed_and_one_id_is_no_link);
	RUN(test_text_that_is_not_utf8_is_mended);
	RUN(test_other_writers_are_read);
	RUN(test_the_dictionary_may_come_first);
	RUN(test_wrong_references_are_refused);
	RUN(test_every_truncation_and_flip_is_survived);
	return harness_end();
}
