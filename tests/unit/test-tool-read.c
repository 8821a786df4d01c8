/* SPDX-License-Identifier: BSD-3-Clause */
/* tools/core/read.c, input.c, write.c: valid input is read; invalid input is rejected, with its
 * position.
 */
#include <zlib.h>

#include "harness.h"
#include "core/read.h"
#include "core/times.h"
#include "tool-bytes.h"

static struct bytes b;
static struct ct_fault fault;

static void build_usual(void)
{
	b.n = 0;
	put_usual(&b);
}

static int read_bytes(struct ct_profile **p, const void *data, size_t n)
{
	struct ct_input *in = ct_input_memory(data, n);
	int r = ct_read(p, in, &fault);

	ct_input_close(in);
	return r;
}

static struct ct_profile *read_built(void)
{
	struct ct_profile *p = NULL;

	CHECK_EQ(read_bytes(&p, b.data, b.n), 0);
	return p;
}

/* The profile that was built is rejected with an error that contains TEXT. */
static void check_refused(const char *text)
{
	struct ct_profile *p = NULL;

	fault = (struct ct_fault){ 0 };
	CHECK(read_bytes(&p, b.data, b.n) < 0);
	CHECK(!p);
	if (!strstr(fault.text, text))
		CHECK_STR(fault.text, text);
}

static size_t compress_to(uint8_t *to, size_t room, const void *data, size_t n)
{
	z_stream z = { 0 };

	deflateInit2(&z, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY);
	z.next_in = (Bytef *)data;
	z.avail_in = (unsigned)n;
	z.next_out = to;
	z.avail_out = (unsigned)room;
	deflate(&z, Z_FINISH);
	deflateEnd(&z);
	return room - z.avail_out;
}

static void check_usual(const struct ct_profile *p)
{
	const struct ct_location *leaf;

	CHECK_EQ(p->sample_count, 2);
	CHECK_EQ(p->type_count, 1);
	CHECK_STR(ct_text(p, p->types[0].type), "cpu");
	CHECK_EQ(ct_values(p, 0)[0], 30);
	CHECK_EQ(ct_values(p, 1)[0], 12);
	CHECK_EQ(p->samples[0].depth, 2);
	leaf = &p->locations[ct_frames(p, &p->samples[0])[0]];
	CHECK_EQ(leaf->address, 0x1100);
	CHECK_EQ(leaf->line_count, 1);
	CHECK_STR(ct_text(p, p->functions[p->lines[leaf->first_line].function].name), "leaf");
	CHECK_STR(ct_text(p, p->mappings[leaf->mapping].file), "/bin/app");
	CHECK_EQ(p->label_sets[p->samples[0].label_set].count, 1);
	CHECK_EQ(p->samples[1].label_set, 0);
	CHECK_EQ(p->time_nanos, 1700000000);
}

static void check_built_usual(void)
{
	struct ct_profile *p = read_built();

	check_usual(p);
	ct_model_free(p);
}

TEST(test_plain_and_gzip_are_the_same)
{
	uint8_t packed[4096];
	struct ct_profile *p = NULL;
	size_t n;

	build_usual();
	check_built_usual();
	n = compress_to(packed, sizeof(packed), b.data, b.n);
	CHECK_EQ(read_bytes(&p, packed, n), 0);
	check_usual(p);
	ct_model_free(p);
}

TEST(test_gzip_members_are_one_stream)
{
	uint8_t packed[4096];
	struct ct_profile *p = NULL;
	size_t n;

	build_usual();
	n = compress_to(packed, sizeof(packed), b.data, 50);
	n += compress_to(packed + n, sizeof(packed) - n, b.data + 50, b.n - 50);
	CHECK_EQ(read_bytes(&p, packed, n), 0);
	check_usual(p);
	ct_model_free(p);
}

TEST(test_every_truncation_and_flip_of_gzip_is_survived)
{
	uint8_t packed[4096];
	size_t n, refused = 0;

	build_usual();
	n = compress_to(packed, sizeof(packed), b.data, b.n);
	for (size_t i = 0; i < n; i++) {
		struct ct_profile *p = NULL;

		CHECK(read_bytes(&p, packed, i) < 0);
		packed[i] ^= 0x10;
		refused += read_bytes(&p, packed, n) < 0;
		packed[i] ^= 0x10;
		ct_model_free(p);
	}
	/* All but flips in the header's time, system and flags that mean nothing. */
	CHECK(refused >= n - 8);
}

TEST(test_every_truncation_and_flip_is_survived)
{
	build_usual();
	for (size_t i = 0; i < b.n; i++) {
		struct ct_profile *p = NULL;

		if (!read_bytes(&p, b.data, i))
			ct_model_free(p);
		for (unsigned bit = 0; bit < 8; bit++) {
			b.data[i] ^= (uint8_t)(1 << bit);
			if (!read_bytes(&p, b.data, b.n))
				ct_model_free(p);
			b.data[i] ^= (uint8_t)(1 << bit);
		}
	}
}

TEST(test_fields_in_any_order)
{
	b.n = 0;
	put_sample(&b, 1, 2, 30, T_THREAD, T_ONE);
	put_location(&b, 2, 1, 0x1200, 2, 22);
	put_location(&b, 1, 1, 0x1100, 1, 11);
	PUT_FIELDS(&b, 5, 2, T_MAIN, T_MAIN, T_FILE, 20);
	put_strings(&b);
	put_sample(&b, 2, 0, 12, 0, 0);
	PUT_FIELDS(&b, 3, 1, 0x1000, 0x9000, 0, T_APP);
	PUT_FIELDS(&b, 5, 1, T_LEAF, T_LEAF, T_FILE, 10);
	put_number(&b, 9, 1700000000);
	PUT_FIELDS(&b, 1, T_CPU, T_NS);
	check_built_usual();
}

TEST(test_ids_may_be_any_numbers)
{
	const uint64_t ids[] = { 7, 1 << 19, (uint64_t)1 << 20, 1ull << 40, UINT64_MAX };
	struct ct_profile *p;

	b.n = 0;
	PUT_FIELDS(&b, 1, T_CPU, T_NS);
	for (unsigned i = 0; i < 5; i++) {
		put_sample(&b, ids[i], ids[(i + 1) % 5], i + 1, 0, 0);
		put_location(&b, ids[i], 0, 0x100 + i, ids[i], 1);
		PUT_FIELDS(&b, 5, ids[i], T_MAIN);
	}
	put_strings(&b);
	p = read_built();
	CHECK_EQ(p->location_count, 5);
	for (unsigned i = 0; i < 5; i++)
		CHECK_EQ(p->locations[ct_frames(p, &p->samples[i])[0]].address, 0x100 + i);
	ct_model_free(p);
}

TEST(test_wrong_references_are_refused)
{
	build_usual();
	put_sample(&b, 3, 0, 1, 0, 0);
	check_refused("a location that is not there");
	build_usual();
	put_location(&b, 3, 1, 0x1300, 9, 1);
	check_refused("a function that is not there");
	build_usual();
	put_location(&b, 2, 1, 0x1300, 1, 1);
	check_refused("the same id");
	CHECK(fault.offset > 0);
	build_usual();
	put_location(&b, 0, 1, 0x1300, 1, 1);
	check_refused("the id 0");
	build_usual();
	PUT_FIELDS(&b, 5, 3, T_END);
	check_refused("a string index is out of range");
	build_usual();
	PUT_FIELDS(&b, 5, 3, UINT64_MAX);
	check_refused("a string index is out of range");
}

TEST(test_a_mapping_that_is_not_there_is_none)
{
	struct ct_profile *p;

	build_usual();
	put_location(&b, 3, 77, 0x1300, 1, 1);
	p = read_built();
	CHECK_EQ(p->locations[2].mapping, CT_NONE);
	ct_model_free(p);
}

TEST(test_values_match_types)
{
	build_usual();
	PUT_FIELDS(&b, 1, T_CPU, T_NS);
	check_refused("more sample types than values");
	b.n = 0;
	put_sample(&b, 1, 0, 1, 0, 0);
	put_location(&b, 1, 0, 1, 0, 0);
	put_strings(&b);
	check_refused("no sample types");
	b.n = 0;
	PUT_FIELDS(&b, 1, T_CPU, T_NS);
	PUT_FIELDS(&b, 1, T_CPU, T_NS);
	put_sample(&b, 1, 0, 1, 0, 0);
	check_refused("a sample has 1 values, not 2");
}

TEST(test_bad_wire_data_is_refused)
{
	b.n = 0;
	check_refused("is empty");
	put_string(&b, "not\1empty");
	check_refused("the first string is not empty");
	b.n = 0;
	put_varint(&b, 1 << 3 | 3);
	check_refused("not a pprof profile");
	b.n = 0;
	put_number(&b, 2, 5);
	check_refused("a number stands where a message belongs");
	b.n = 0;
	put_varint(&b, 2 << 3 | 2);
	put_varint(&b, UINT64_MAX);
	check_refused("too long");
	b.n = 0;
	put_varint(&b, 2 << 3 | 2);
	put_varint(&b, 1000);
	check_refused("ends in the middle");
	b.n = 0;
	put_varint(&b, 9 << 3);
	for (unsigned i = 0; i < 11; i++)
		put_byte(&b, 0x80);
	check_refused("more than ten bytes");
	build_usual();
	put_bytes(&b, 2, "\x0a\x7f", 2);
	check_refused("a sample is malformed");
	CHECK(fault.offset > 100);
}

TEST(test_unknown_fields_are_skipped)
{
	b.n = 0;
	put_number(&b, 900, 5);
	put_bytes(&b, 901, "abc", 3);
	put_varint(&b, 902 << 3 | 1);
	for (unsigned i = 0; i < 8; i++)
		put_byte(&b, i);
	put_varint(&b, 903 << 3 | 5);
	for (unsigned i = 0; i < 4; i++)
		put_byte(&b, i);
	put_usual(&b);
	check_built_usual();
}

TEST(test_text_is_kept_within_bounds)
{
	struct ct_profile *p;

	build_usual();
	put_bytes(&b, 6, "a\0b", 3);
	put_number(&b, 13, T_END);
	put_bytes(&b, 13, "\x09\x03", 2);
	p = read_built();
	CHECK_STR(ct_text(p, T_END), "a?b");
	CHECK_EQ(p->comment_count, 3);
	CHECK_STR(ct_text(p, p->comments[2]), "main");
	ct_model_free(p);
}

TEST(test_decompressed_size_is_limited)
{
	static uint8_t zeros[1 << 20], packed[1 << 14], buffer[1 << 16];
	size_t n = compress_to(packed, sizeof(packed), zeros, sizeof(zeros));
	struct ct_input *in = ct_input_memory(packed, n);
	long r, sum = 0;

	ct_input_limit(in, 200000);
	while ((r = ct_input_read(in, buffer, sizeof(buffer), &fault)) > 0)
		sum += r;
	CHECK_EQ(r, -EFBIG);
	CHECK(sum <= 200000);
	ct_input_close(in);
}

TEST(test_what_is_written_is_read_again)
{
	struct ct_profile *p, *q = NULL;
	char *file = NULL;
	size_t size = 0;
	FILE *to;

	build_usual();
	put_number(&b, 13, T_MAIN);
	p = read_built();
	to = open_memstream(&file, &size);
	CHECK_EQ(ct_write(p, to), 0);
	fclose(to);
	CHECK_EQ(read_bytes(&q, file, size), 0);
	check_usual(q);
	CHECK_EQ(q->comment_count, 1);
	CHECK_EQ(q->period, 100);
	CHECK_EQ(q->string_count, p->string_count);
	ct_model_free(p);
	ct_model_free(q);
	free(file);
}

/* A profile of COUNT samples. */
static struct ct_profile *large(uint32_t count)
{
	struct ct_profile *p = ct_model_new();
	struct ct_label label = { .key = ct_model_string(p, "size"),
				  .unit = ct_model_string(p, "bytes"),
				  .number = -5 };
	uint32_t frames[12], set = ct_model_label_set(p, &label, 1);

	ct_model_add_type(p,
			  (struct ct_type){ ct_model_string(p, "n"), ct_model_string(p, "count") });
	for (uint64_t i = 0; i < 1000; i++)
		ct_model_add_location(p, &(struct ct_location){ .address = i, .mapping = CT_NONE },
				      NULL, 0);
	for (uint32_t i = 0; i < count; i++) {
		int64_t value = i % 3 ? (int64_t)i : -(int64_t)i;

		for (uint32_t k = 0; k < 12; k++)
			frames[k] = (i * 7919 >> k) % 1000;
		ct_model_add_sample(p, frames, i % 13, &value, i % 2 ? set : 0);
	}
	return p;
}

/* Threads compress its pieces. */
TEST(test_a_large_profile_is_read_again)
{
	struct ct_profile *p = large(600000), *q = NULL;
	char *file = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&file, &size);

	CHECK_EQ(ct_write(p, to), 0);
	fclose(to);
	CHECK_EQ(read_bytes(&q, file, size), 0);
	CHECK_EQ(q->sample_count, p->sample_count);
	CHECK_EQ(q->frame_count, p->frame_count);
	CHECK(!memcmp(q->samples, p->samples, p->sample_count * sizeof(*p->samples)));
	CHECK(!memcmp(q->frames, p->frames, p->frame_count * sizeof(*p->frames)));
	CHECK(!memcmp(q->values, p->values, p->sample_count * sizeof(*p->values)));
	CHECK_EQ(q->labels[0].number, -5);
	ct_model_free(q);
	to = fopen("/dev/full", "w");
	CHECK_EQ(ct_write(p, to), -ENOSPC);
	fclose(to);
	ct_model_free(p);
	free(file);
}

/* ---- the time index ---- */

/* What is put into the index of the usual profile; a test changes one thing of it. */
static struct {
	uint64_t version, end, head, sample, begin, duration, tid_name, thread_begin, thread_end;
	uint64_t span_thread, span_name, name, waker, wake_sample, sums, thinning;
	size_t cut; /* bytes of the events' block that are not there */
} put;

static void usual_times(void)
{
	memset(&put, 0, sizeof(put));
	put.version = put.thinning = 1;
	put.end = 5000;
	put.head = 0 << 3 | 1;
	put.sample = 1;
	put.begin = 100;
	put.duration = 20;
	put.tid_name = T_ONE;
	put.thread_end = 4000;
	put.name = T_MAIN;
	put.wake_sample = 2;
}

static void put_index(struct bytes *to)
{
	static struct bytes index, block;

	index.n = 0;
	put_number(&index, 1, put.version);
	put_number(&index, 2, put.end);
	put_number(&index, 6, put.thinning);
	put_number(&index, 99, 7); /* of a later version */
	PUT_FIELDS(&index, 8, 4711, put.tid_name, put.thread_begin, put.thread_end);
	block.n = 0;
	for (unsigned i = 0; i < 2; i++) { /* the second is before the first, and of sample 0 */
		put_varint(&block, i ? 2 * 40 - 1 : 2 * put.begin);
		put_varint(&block, i ? 0 : put.head);
		put_varint(&block, i ? 2 * put.sample - 1 : 2 * put.sample);
		put_varint(&block, i ? 30 : 12);
		if (!i)
			put_varint(&block, put.duration);
	}
	put_bytes(&index, 9, block.data, block.n - put.cut);
	block.n = 0;
	for (unsigned i = 0; i < put.sums; i++)
		put_varint(&block, 60);
	put_bytes(&index, 10, block.data, block.n);
	put_number(&index, 11, put.name);
	block.n = 0;
	put_varint(&block, 2 * 90);
	put_varint(&block, put.span_thread << 1);
	put_varint(&block, put.span_name);
	put_varint(&block, 200);
	put_bytes(&index, 12, block.data, block.n);
	block.n = 0;
	put_varint(&block, 2 * 1000);
	put_varint(&block, 1 << 20);
	put_varint(&block, 77);
	put_bytes(&index, 13, block.data, block.n);
	block.n = 0;
	put_varint(&block, 2 * 120);
	put_varint(&block, 0);
	put_varint(&block, put.waker);
	put_varint(&block, 2 * put.wake_sample);
	put_bytes(&index, 14, block.data, block.n);
	put_bytes(to, CT_TIMES_FIELD, index.data, index.n);
}

static struct ct_profile *read_index(void)
{
	build_usual();
	put_index(&b);
	return read_built();
}

static void check_index(const struct ct_profile *p)
{
	const struct ct_times *t = p->times;

	CHECK(t && !p->times_fault);
	if (!t)
		return;
	CHECK_EQ(t->end, 5000);
	CHECK_EQ(t->event_count, 2); /* sorted */
	CHECK_EQ(t->events[0].begin, 60);
	CHECK_EQ(t->events[0].sample, 0);
	CHECK_EQ(t->events[0].weight, 30);
	CHECK_EQ(t->events[1].begin, 100);
	CHECK_EQ(t->events[1].duration, 20);
	CHECK_EQ(t->events[1].sample, 1);
	CHECK_EQ(t->recorded[0], 30);
	CHECK_EQ(t->recorded[1], 12);
	CHECK_EQ(t->threads[0].tid, 4711);
	CHECK_EQ(t->threads[0].end, 4000);
	CHECK_STR(ct_text(p, t->threads[0].name), "one");
	CHECK_EQ(t->spans[0].duration, 200);
	CHECK_STR(ct_text(p, t->spans[0].name), "main");
	CHECK_EQ(t->counters[0].resident, 1 << 20);
	CHECK_EQ(t->wakes[0].sample, 1);
}

TEST(test_a_time_index_is_read_written_and_joined)
{
	struct ct_profile *p, *q = NULL, *twice;
	char *file = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&file, &size);

	usual_times();
	p = read_index();
	check_usual(p);
	check_index(p);
	CHECK_EQ(ct_write(p, to), 0);
	fclose(to);
	CHECK_EQ(read_bytes(&q, file, size), 0);
	check_index(q);
	ct_model_drop_strings(q);
	check_index(q);
	q->times->start += 1000;
	twice = ct_combine((struct ct_profile *[]){ p, q }, 2);
	CHECK_EQ(twice->sample_count, 2);
	CHECK_EQ(twice->times->event_count, 4);
	CHECK_EQ(twice->times->events[2].begin, 1060);
	CHECK_EQ(twice->times->events[3].thread, 1);
	CHECK_EQ(twice->times->recorded[0], 60);
	CHECK_EQ(twice->times->end, 6000);
	CHECK_STR(ct_text(twice, twice->times->spans[1].name), "main");
	CHECK(ct_times_share(twice, 0) == 1);
	ct_model_free(twice);
	ct_times_drop(q);
	twice = ct_combine((struct ct_profile *[]){ p, q }, 2);
	CHECK_EQ(twice->times->event_count, 2);
	CHECK_EQ(twice->times->recorded[0], 60);
	CHECK(ct_times_share(twice, 0) == 0.5);
	ct_model_free(twice);
	ct_model_free(p);
	ct_model_free(q);
	free(file);
}

/* The index is dropped for a reason with TEXT, and the profile stays. */
static void check_index_refused(const char *text)
{
	struct ct_profile *p = read_index();

	check_usual(p);
	CHECK(!p->times && p->times_fault);
	if (!p->times_fault || !strstr(p->times_fault, text))
		CHECK_STR(p->times_fault, text);
	ct_model_free(p);
	usual_times();
}

#define REFUSED(member, value, text)                                                               \
	do {                                                                                       \
		put.member = value;                                                                \
		check_index_refused(text);                                                         \
	} while (0)

TEST(test_a_wrong_time_index_is_dropped)
{
	usual_times();
	REFUSED(version, 2, "another version");
	REFUSED(head, 1 << 3 | 1, "event of a thread");
	REFUSED(head, (uint64_t)1 << 60 | 1, "event of a thread");
	REFUSED(sample, 2, "event of a sample");
	REFUSED(sample, (uint64_t)1 << 40, "event of a sample");
	REFUSED(begin, 20, "before the start");
	REFUSED(begin, (uint64_t)1 << 62, "far future");
	REFUSED(duration, UINT64_MAX, "70 years");
	REFUSED(cut, 1, "cut within a block");
	REFUSED(cut, 3, "cut within a block");
	REFUSED(end, UINT64_MAX, "ends before");
	REFUSED(tid_name, 1000, "thread's name");
	REFUSED(thread_begin, 4001, "ends before it begins");
	REFUSED(span_thread, 1, "span of a thread");
	REFUSED(span_name, 1, "span's name");
	REFUSED(name, 1000, "span's name");
	REFUSED(waker, 1, "wake of a thread");
	REFUSED(wake_sample, 3, "wake of a sample");
	REFUSED(sums, 3, "sums of samples");
	REFUSED(thinning, (uint64_t)1 << 33, "thinning");
}

/* If the data end within the index, the profile is read. */
TEST(test_a_cut_time_index_is_dropped)
{
	size_t without;

	usual_times();
	build_usual();
	without = b.n;
	put_index(&b);
	for (size_t n = without + 5; n < b.n; n++) {
		struct ct_profile *p = NULL;

		CHECK_EQ(read_bytes(&p, b.data, n), 0);
		check_usual(p);
		CHECK(!p->times);
		CHECK(p->times_fault && strstr(p->times_fault, "is cut"));
		ct_model_free(p);
	}
}

/* A block of zeros, of which gzip makes a thousandth. */
TEST(test_a_time_index_of_too_many_events_is_dropped)
{
	size_t size = ((size_t)1 << 26) + 8;
	struct bytes *head = calloc(1, sizeof(*head));
	struct ct_profile *p = NULL;
	uint8_t *data;

	put_number(head, 1, 1);
	put_number(head, 2, 100);
	PUT_FIELDS(head, 8, 1);
	put_varint(head, 9 << 3 | 2);
	put_varint(head, size);
	build_usual();
	put_varint(&b, CT_TIMES_FIELD << 3 | 2);
	put_varint(&b, head->n + size);
	data = calloc(1, b.n + head->n + size);
	memcpy(data, b.data, b.n);
	memcpy(data + b.n, head->data, head->n);
	CHECK_EQ(read_bytes(&p, data, b.n + head->n + size), 0);
	check_usual(p);
	CHECK(p->times_fault && strstr(p->times_fault, "16777216 events"));
	ct_model_free(p);
	build_usual();
	put_varint(&b, CT_TIMES_FIELD << 3 | 2);
	put_varint(&b, CT_TIMES_MAX + 1);
	data = realloc(data, b.n + CT_TIMES_MAX + 1);
	memcpy(data, b.data, b.n);
	CHECK_EQ(read_bytes(&p, data, b.n + CT_TIMES_MAX + 1), 0);
	check_usual(p);
	CHECK(p->times_fault && strstr(p->times_fault, "too many bytes"));
	ct_model_free(p);
	free(data);
	free(head);
}
