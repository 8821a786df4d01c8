/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the messages of a profile; see read.h.
 *
 * Fields may come in any order. So ids become numbers in the order of their first mention, and the
 * numbers become indices at the end. protobuf-c unpacks each message into memory that is used again
 * for the next.
 */
#include "core/read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/profile.pb-c.h"

#define MAX_TYPES ((size_t)64)
#define MAX_SAMPLES ((size_t)1 << 26)
#define MAX_FRAMES ((size_t)1 << 28)
#define MAX_LABELS ((size_t)1 << 26)
#define MAX_MAPPINGS ((size_t)1 << 20)
#define MAX_LOCATIONS ((size_t)1 << 24)
#define MAX_LINES ((size_t)1 << 26)
#define MAX_FUNCTIONS ((size_t)1 << 24)
#define MAX_STRINGS ((size_t)1 << 24)
#define MAX_COMMENTS ((size_t)1 << 16)

#define SCRATCH_BLOCK ((size_t)256 << 10)

struct ct_scratch_block {
	struct ct_scratch_block *next;
	size_t used, room;
	max_align_t data[];
};

static void *scratch_alloc(void *data, size_t size)
{
	struct ct_scratch *s = data;
	struct ct_scratch_block *b = s->blocks;

	size = (size + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
	if (!b || b->room - b->used < size) {
		size_t room = size > SCRATCH_BLOCK ? size : SCRATCH_BLOCK;

		b = ct_memory_realloc(NULL, 1, sizeof(*b) + room);
		*b = (struct ct_scratch_block){ .next = s->blocks, .room = room };
		s->blocks = b;
	}
	b->used += size;
	return (char *)b->data + b->used - size;
}

static void scratch_free(void *data, void *pointer)
{
	(void)data, (void)pointer; /* scratch_reset frees everything at once */
}

/* Keeps one block of the usual size for the next message. */
static void scratch_reset(struct ct_scratch *s)
{
	while (s->blocks && (s->blocks->next || s->blocks->room > SCRATCH_BLOCK)) {
		struct ct_scratch_block *next = s->blocks->next;

		free(s->blocks);
		s->blocks = next;
	}
	if (s->blocks)
		s->blocks->used = 0;
}

static int bad(struct ct_messages *m, const char *what)
{
	ct_input_fault_say(m->fault, m->offset, "%s", what);
	return -EBADMSG;
}

static int full(struct ct_messages *m, const char *what, size_t limit)
{
	ct_input_fault_say(m->fault, m->offset, "more than %zu %s", limit, what);
	return -EFBIG;
}

#define UNPACK(m, name, data, size)                                                                \
	(scratch_reset(&(m)->scratch), pb__##name##__unpack(&(m)->allocator, size, data))

void ct_read_messages_init(struct ct_messages *m, struct ct_profile *p, struct ct_fault *fault)
{
	*m = (struct ct_messages){ .p = p, .fault = fault };
	m->allocator = (ProtobufCAllocator){ scratch_alloc, scratch_free, &m->scratch };
}

/* ---- from ids to numbers ---- */

#define SMALL_MAX ((uint64_t)1 << 20)

static uint32_t small_number(struct ct_ids *ids, uint64_t id)
{
	size_t before = ids->small_room;

	if (id >= before) {
		ids->small =
			ct_memory_grow(ids->small, &ids->small_room, id + 1, sizeof(*ids->small));
		memset(ids->small + before, 0, (ids->small_room - before) * sizeof(*ids->small));
	}
	if (!ids->small[id])
		ids->small[id] = ++ids->count;
	return ids->small[id] - 1;
}

static size_t slot(const struct ct_ids *ids, uint64_t id)
{
	uint64_t h = id * UINT64_C(0x9e3779b97f4a7c15);
	size_t at = (h ^ h >> 32) & (ids->room - 1);

	while (ids->keys[at] && ids->keys[at] != id)
		at = (at + 1) & (ids->room - 1);
	return at;
}

static void double_room(struct ct_ids *ids)
{
	struct ct_ids old = *ids;

	ids->room = old.room ? old.room * 2 : 1024;
	ids->keys = ct_memory_alloc(ids->room * sizeof(*ids->keys));
	ids->numbers = ct_memory_alloc(ids->room * sizeof(*ids->numbers));
	for (size_t i = 0; i < old.room; i++) {
		if (old.keys[i]) {
			size_t at = slot(ids, old.keys[i]);

			ids->keys[at] = old.keys[i];
			ids->numbers[at] = old.numbers[i];
		}
	}
	free(old.keys);
	free(old.numbers);
}

uint32_t ct_read_messages_id(struct ct_ids *ids, uint64_t id)
{
	size_t at;

	if (id < SMALL_MAX)
		return small_number(ids, id);
	if ((ids->used + 1) * 2 > ids->room)
		double_room(ids);
	at = slot(ids, id);
	if (!ids->keys[at]) {
		ids->keys[at] = id;
		ids->numbers[at] = ids->count++;
		ids->used++;
	}
	return ids->numbers[at];
}

static void ids_release(struct ct_ids *ids)
{
	free(ids->small);
	free(ids->keys);
	free(ids->numbers);
	*ids = (struct ct_ids){ 0 };
}

void ct_read_messages_release(struct ct_messages *m)
{
	scratch_reset(&m->scratch);
	free(m->scratch.blocks);
	ids_release(&m->location_ids);
	ids_release(&m->function_ids);
	ids_release(&m->mapping_ids);
	free(m->location_at);
	free(m->function_at);
	free(m->mapping_at);
	free(m->frames);
}

int ct_read_messages_index(struct ct_messages *m, uint64_t string, uint32_t *to)
{
	if (string >= MAX_STRINGS)
		return bad(m, "a string index is out of range");
	*to = (uint32_t)string;
	return 0;
}

static int unpack_type(struct ct_messages *m, const uint8_t *data, size_t size, struct ct_type *to)
{
	Pb__ValueType *t = UNPACK(m, value_type, data, size);
	int r;

	if (!t)
		return bad(m, "a sample type is malformed");
	r = ct_read_messages_index(m, (uint64_t)t->type, &to->type);
	return r ? r : ct_read_messages_index(m, (uint64_t)t->unit, &to->unit);
}

/* Samples may come before their types. Then the types already have empty entries, which are filled
 * in here. */
int ct_read_messages_type(struct ct_messages *m, const uint8_t *data, size_t size)
{
	struct ct_type type;
	int r = unpack_type(m, data, size, &type);

	if (r)
		return r;
	if (m->types_seen >= MAX_TYPES)
		return full(m, "sample types", MAX_TYPES);
	if (m->types_seen < m->p->type_count)
		m->p->types[m->types_seen] = type;
	else if (m->p->sample_count)
		return bad(m, "there are more sample types than values of a sample");
	else
		ct_model_add_type(m->p, type);
	m->types_seen++;
	return 0;
}

int ct_read_messages_period_type(struct ct_messages *m, const uint8_t *data, size_t size)
{
	return unpack_type(m, data, size, &m->p->period_type);
}

static int take_labels(struct ct_messages *m, const Pb__Sample *s, uint32_t *set)
{
	struct ct_label *labels = scratch_alloc(&m->scratch, s->n_label * sizeof(*labels));

	for (size_t i = 0; i < s->n_label; i++) {
		const Pb__Label *l = s->label[i];
		int r = ct_read_messages_index(m, (uint64_t)l->key, &labels[i].key);

		r = r ? r : ct_read_messages_index(m, (uint64_t)l->text, &labels[i].text);
		r = r ? r : ct_read_messages_index(m, (uint64_t)l->unit, &labels[i].unit);
		if (r)
			return r;
		labels[i].number = l->number;
	}
	if (m->p->label_count + s->n_label > MAX_LABELS)
		return full(m, "labels", MAX_LABELS);
	*set = ct_model_label_set(m->p, labels, s->n_label);
	return 0;
}

/* If no type has come yet, the first sample tells how many values each sample has. */
static int check_values(struct ct_messages *m, size_t n)
{
	if (!m->p->sample_count && !m->types_seen)
		for (size_t i = 0; i < n && i < MAX_TYPES; i++)
			ct_model_add_type(m->p, (struct ct_type){ 0, 0 });
	if (n == m->p->type_count)
		return 0;
	ct_input_fault_say(m->fault, m->offset, "a sample has %zu values, not %zu", n,
			   m->p->type_count);
	return -EBADMSG;
}

int ct_read_messages_sample(struct ct_messages *m, const uint8_t *data, size_t size)
{
	Pb__Sample *s = UNPACK(m, sample, data, size);
	uint32_t set = 0;
	int r;

	if (!s)
		return bad(m, "a sample is malformed");
	if (m->p->sample_count >= MAX_SAMPLES)
		return full(m, "samples", MAX_SAMPLES);
	if (m->p->frame_count + s->n_location_id > MAX_FRAMES)
		return full(m, "frames of all samples", MAX_FRAMES);
	r = check_values(m, s->n_value);
	if (!r && s->n_label)
		r = take_labels(m, s, &set);
	if (r)
		return r;
	if (s->n_location_id > m->frame_room)
		m->frames = ct_memory_grow(m->frames, &m->frame_room, s->n_location_id,
					   sizeof(*m->frames));
	for (size_t i = 0; i < s->n_location_id; i++)
		m->frames[i] = ct_ids_number(&m->location_ids, s->location_id[i]);
	if (m->location_ids.count > MAX_LOCATIONS)
		return full(m, "locations", MAX_LOCATIONS);
	ct_model_add_sample(m->p, m->frames, s->n_location_id, s->value, set);
	return 0;
}

/* Records that the object with ID is at INDEX. */
static int define(struct ct_messages *m, struct ct_ids *ids, uint32_t **at, size_t *room,
		  uint64_t id, uint32_t index)
{
	uint32_t number;
	size_t before = *room;

	if (!id)
		return bad(m, "the id 0 is given to something");
	number = ct_ids_number(ids, id);
	if (number >= before) {
		*at = ct_memory_grow(*at, room, (size_t)number + 1, sizeof(**at));
		memset(*at + before, 0, (*room - before) * sizeof(**at));
	}
	if ((*at)[number])
		return bad(m, "two things of a kind have the same id");
	(*at)[number] = index + 1;
	return 0;
}

int ct_read_messages_mapping(struct ct_messages *m, const uint8_t *data, size_t size)
{
	Pb__Mapping *from = UNPACK(m, mapping, data, size);
	struct ct_mapping to;
	int r;

	if (!from)
		return bad(m, "a mapping is malformed");
	if (m->p->mapping_count >= MAX_MAPPINGS)
		return full(m, "mappings", MAX_MAPPINGS);
	to = (struct ct_mapping){ .start = from->start,
				  .limit = from->limit,
				  .offset = from->offset,
				  .has_functions = from->has_functions,
				  .has_filenames = from->has_filenames,
				  .has_lines = from->has_lines,
				  .has_inlines = from->has_inlines };
	r = ct_read_messages_index(m, (uint64_t)from->file, &to.file);
	r = r ? r : ct_read_messages_index(m, (uint64_t)from->build_id, &to.build_id);
	return r ? r
		 : define(m, &m->mapping_ids, &m->mapping_at, &m->mapping_room, from->id,
			  ct_model_add_mapping(m->p, &to));
}

int ct_read_messages_function(struct ct_messages *m, const uint8_t *data, size_t size)
{
	Pb__Function *from = UNPACK(m, function, data, size);
	struct ct_function to;
	int r;

	if (!from)
		return bad(m, "a function is malformed");
	if (m->p->function_count >= MAX_FUNCTIONS)
		return full(m, "functions", MAX_FUNCTIONS);
	to = (struct ct_function){ .start_line = from->start_line };
	r = ct_read_messages_index(m, (uint64_t)from->name, &to.name);
	r = r ? r : ct_read_messages_index(m, (uint64_t)from->system_name, &to.system_name);
	r = r ? r : ct_read_messages_index(m, (uint64_t)from->filename, &to.filename);
	return r ? r
		 : define(m, &m->function_ids, &m->function_at, &m->function_room, from->id,
			  ct_model_add_function(m->p, &to));
}

int ct_read_messages_location(struct ct_messages *m, const uint8_t *data, size_t size)
{
	Pb__Location *from = UNPACK(m, location, data, size);
	struct ct_location to;
	struct ct_line *lines;

	if (!from)
		return bad(m, "a location is malformed");
	if (m->p->location_count >= MAX_LOCATIONS)
		return full(m, "locations", MAX_LOCATIONS);
	if (m->p->line_count + from->n_line > MAX_LINES)
		return full(m, "lines", MAX_LINES);
	to = (struct ct_location){ .address = from->address,
				   .folded = from->is_folded,
				   .mapping = CT_NONE };
	if (from->mapping_id)
		to.mapping = ct_ids_number(&m->mapping_ids, from->mapping_id);
	lines = scratch_alloc(&m->scratch, from->n_line * sizeof(*lines));
	for (size_t i = 0; i < from->n_line; i++) {
		const Pb__Line *l = from->line[i];

		lines[i] = (struct ct_line){ ct_ids_number(&m->function_ids, l->function_id),
					     (uint32_t)l->column, l->line };
	}
	return define(m, &m->location_ids, &m->location_at, &m->location_room, from->id,
		      ct_model_add_location(m->p, &to, lines, from->n_line));
}

/* Every profile already has string 0. */
int ct_read_messages_string(struct ct_messages *m, const uint8_t *data, size_t size)
{
	if (m->p->string_count >= MAX_STRINGS)
		return full(m, "strings", MAX_STRINGS);
	if (m->strings_seen++)
		ct_model_append_string(m->p, (const char *)data, size);
	else if (size)
		return bad(m, "the first string is not empty");
	return 0;
}

int ct_read_messages_comment(struct ct_messages *m, uint64_t string)
{
	uint32_t index;
	int r = ct_read_messages_index(m, string, &index);

	if (!r && m->p->comment_count >= MAX_COMMENTS)
		r = full(m, "comments", MAX_COMMENTS);
	if (!r)
		ct_model_add_comment(m->p, index);
	return r;
}
