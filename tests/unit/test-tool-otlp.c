/* SPDX-License-Identifier: BSD-3-Clause */
/* tools/otlp/: a profile as OpenTelemetry's message: what receivers look at. tests/e2e/otlp.sh
 * compares whole messages with their profiles.
 */
#include <stdlib.h>

#include "harness.h"
#include "otlp/otlp.h"
#include "otlp/otlp.pb-c.h"

#define TRACE "0af7651916cd43dd8448eb211c80319c"
#define SPAN "b7ad6b7169203331"

static size_t encode(const struct ct_otlp *what, char **data)
{
	size_t size = 0;
	FILE *to = open_memstream(data, &size);

	CHECK_EQ(ct_otlp_encode(what, to), 0);
	fclose(to);
	return size;
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

struct part {
	const uint8_t *at;
	size_t size;
};

static uint64_t varint(struct part *p)
{
	uint64_t v = 0;

	for (unsigned shift = 0; p->size; shift += 7) {
		uint8_t c = *p->at++;

		p->size--;
		v |= (uint64_t)(c & 0x7f) << shift;
		if (!(c & 0x80))
			break;
	}
	return v;
}

/* Finds message WHICH in FIELD of P, or an empty one. Other fields may be fixed64. */
static struct part part(struct part p, unsigned field, unsigned which)
{
	while (p.size) {
		uint64_t tag = varint(&p), size = 8;
		struct part body;

		if ((tag & 7) == 0) {
			varint(&p);
			continue;
		}
		if ((tag & 7) == 2)
			size = varint(&p);
		body = (struct part){ p.at, size };
		p.at += size;
		p.size -= size;
		if (tag >> 3 == field && !which--)
			return body;
	}
	return (struct part){ (const uint8_t *)"", 0 };
}

static struct part dictionary_of(const char *data, size_t size)
{
	return part((struct part){ (const uint8_t *)data, size }, OTLP_DATA_DICTIONARY, 0);
}

static struct part profile_of(const char *data, size_t size, unsigned which)
{
	struct part p = { (const uint8_t *)data, size };

	p = part(part(p, OTLP_DATA_RESOURCES, 0), OTLP_RESOURCE_SCOPES, 0);
	return part(p, OTLP_SCOPE_PROFILES, which);
}

static size_t count(struct part p, unsigned field)
{
	size_t n = 0;

	while (part(p, field, (unsigned)n).size)
		n++;
	return n;
}

/* Is the string INDEX of the dictionary TEXT? */
static bool is_text(struct part dictionary, int32_t index, const char *text)
{
	struct part p = part(dictionary, OTLP_STRINGS, (unsigned)index);

	return p.size == strlen(text) && !memcmp(p.at, text, p.size);
}

static int64_t value_of(struct part sample)
{
	Otlp__Sample *s = otlp__sample__unpack(NULL, sample.size, sample.at);
	int64_t value = s && s->n_values == 1 ? s->values[0] : -1;

	otlp__sample__free_unpacked(s, NULL);
	return value;
}

static void check_type(struct part dictionary, struct part profile, const char *type,
		       const char *unit)
{
	Otlp__ProfileHead *head = otlp__profile_head__unpack(NULL, profile.size, profile.at);

	CHECK(is_text(dictionary, head->type->type, type));
	CHECK(is_text(dictionary, head->type->unit, unit));
	CHECK(is_text(dictionary, head->period_type->unit, "nanoseconds"));
	CHECK_EQ(head->period, 100);
	CHECK_EQ(head->time, 1700000000);
	CHECK_EQ(head->duration, 5000);
	CHECK_EQ(head->n_attributes, 2);
	otlp__profile_head__free_unpacked(head, NULL);
}

/* The default type comes first; values of 0 are left out. */
TEST(test_each_sample_type_is_a_profile)
{
	struct ct_profile *from = usual();
	struct ct_otlp o = { .profile = from };
	char *data = NULL;
	size_t size = encode(&o, &data);
	struct part d = dictionary_of(data, size), cpu = profile_of(data, size, 0),
		    samples = profile_of(data, size, 1);

	check_type(d, cpu, "cpu", "nanoseconds");
	check_type(d, samples, "samples", "count");
	CHECK_EQ(count(cpu, OTLP_PROFILE_SAMPLES), 2);
	CHECK_EQ(value_of(part(cpu, OTLP_PROFILE_SAMPLES, 1)), 200);
	CHECK_EQ(count(samples, OTLP_PROFILE_SAMPLES), 2);
	CHECK_EQ(value_of(part(samples, OTLP_PROFILE_SAMPLES, 0)), 3);
	CHECK_EQ(profile_of(data, size, 2).size, 0);
	free(data);
	ct_model_free(from);
}

TEST(test_places_keep_all_that_is_known)
{
	struct ct_profile *from = usual();
	struct ct_otlp o = { .profile = from };
	char *data = NULL;
	size_t size = encode(&o, &data);
	struct part d = dictionary_of(data, size), b = part(d, OTLP_MAPPINGS, 1);
	Otlp__Mapping *m = otlp__mapping__unpack(NULL, b.size, b.at);
	Otlp__Location *l;
	Otlp__Function *f;

	CHECK(is_text(d, m->file, "/bin/app"));
	CHECK_EQ(m->start, 0x1000);
	CHECK_EQ(m->offset, 0x1000);
	CHECK_EQ(m->n_attributes, 3); /* its build id, that it has functions and lines */
	otlp__mapping__free_unpacked(m, NULL);
	b = part(d, OTLP_LOCATIONS, 2);
	l = otlp__location__unpack(NULL, b.size, b.at);
	CHECK_EQ(l->address, 0x1200);
	CHECK_EQ(l->n_attributes, 1); /* folded */
	CHECK_EQ(l->n_lines, 2);
	CHECK_EQ(l->lines[0]->column, 5);
	CHECK_EQ(l->lines[1]->line, 12);
	b = part(d, OTLP_FUNCTIONS, (unsigned)l->lines[0]->function);
	f = otlp__function__unpack(NULL, b.size, b.at);
	CHECK(is_text(d, f->name, "main"));
	CHECK(is_text(d, f->system_name, "_Z4work"));
	CHECK_EQ(f->start_line, 7);
	otlp__function__free_unpacked(f, NULL);
	otlp__location__free_unpacked(l, NULL);
	b = part(d, OTLP_LOCATIONS, 3);
	l = otlp__location__unpack(NULL, b.size, b.at);
	CHECK_EQ(l->address, 0x77);
	CHECK_EQ(l->mapping, 0);
	CHECK_EQ(l->n_lines, 0);
	otlp__location__free_unpacked(l, NULL);
	free(data);
	ct_model_free(from);
}

/* What a receiver looks at: the trace as a link, names as conventions say. */
TEST(test_the_message_is_what_receivers_expect)
{
	struct ct_profile *from = usual();
	struct ct_otlp o = { .profile = from };
	char *data = NULL;
	size_t size = encode(&o, &data);
	struct part dictionary = dictionary_of(data, size), b;
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
	b = part(profile_of(data, size, 0), OTLP_PROFILE_SAMPLES, 0);
	s = otlp__sample__unpack(NULL, b.size, b.at);
	CHECK_EQ(s->n_values, 1);
	CHECK_EQ(s->values[0], 300);
	CHECK_EQ(s->n_attributes, 4); /* two texts of one key are one */
	otlp__sample__free_unpacked(s, NULL);
	CHECK(memmem(data, size, "thread.name", 11) != NULL);
	free(data);
	ct_model_free(from);
}

TEST(test_equal_samples_are_summed_and_one_id_is_no_link)
{
	struct ct_profile *from = usual();
	struct ct_otlp o = { .profile = from };
	struct ct_label only = text_label(from, "trace_id", TRACE);
	uint32_t set = ct_model_label_set(from, &only, 1), frame = 0;
	char *data = NULL;
	struct part b;
	size_t size;
	Otlp__Sample *s;

	ct_model_add_sample(from, &frame, 1, (int64_t[]){ 1, 10 }, set);
	ct_model_add_sample(from, &frame, 1, (int64_t[]){ 1, 30 }, set);
	size = encode(&o, &data);
	b = profile_of(data, size, 0);
	CHECK_EQ(count(b, OTLP_PROFILE_SAMPLES), 3);
	b = part(b, OTLP_PROFILE_SAMPLES, 2);
	s = otlp__sample__unpack(NULL, b.size, b.at);
	CHECK_EQ(s->values[0], 40);
	CHECK_EQ(s->n_attributes, 1);
	CHECK_EQ(s->link, 0);
	otlp__sample__free_unpacked(s, NULL);
	free(data);
	ct_model_free(from);
}

TEST(test_text_that_is_not_utf8_is_mended)
{
	struct ct_profile *from = usual();
	struct ct_otlp o = { .profile = from };
	struct ct_label odd = text_label(from, "k\xff", "v\xc3\xa9\xc3");
	uint32_t set = ct_model_label_set(from, &odd, 1), frame = 0;
	char *data = NULL;
	size_t size;

	ct_model_add_sample(from, &frame, 1, (int64_t[]){ 1, 10 }, set);
	size = encode(&o, &data);
	CHECK(memmem(data, size, "\2k?", 3) != NULL);
	CHECK(memmem(data, size, "\4v\xc3\xa9?", 5) != NULL);
	free(data);
	ct_model_free(from);
}
