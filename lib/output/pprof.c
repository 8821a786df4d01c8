/* SPDX-License-Identifier: BSD-3-Clause */
/* profile.proto's wire format, and the table of its strings; see pprof.h.
 *
 * A message is built at the end of the scratch buffer, with one byte reserved for its length. If
 * the length needs more bytes, the body moves up. Complete messages go to the sink some kilobytes
 * at a time. Fields that are zero are not written, as in proto3. */
#include "output/pprof.h"

#include <errno.h>
#include <string.h>

#include "base/sys.h"

#define SCRATCH_MIN ((size_t)32 << 10)
#define FLUSH_AT ((size_t)16 << 10)
#define VARINT_MAX 10

enum wire { VARINT = 0, BYTES = 2 };

enum profile_field {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_DROP_FRAMES = 7,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,
};

static void fail(struct cp_pprof *w, int error)
{
	if (!w->error)
		w->error = error;
}

/* Make room for N more bytes in the scratch buffer. On failure returns false and sets the error. */
static bool reserve(struct cp_pprof *w, size_t n)
{
	size_t room = w->scratch_room ? w->scratch_room : SCRATCH_MIN;
	uint8_t *p;

	if (w->error)
		return false;
	if (w->scratch_room - w->scratch_used >= n)
		return true;
	while (room - w->scratch_used < n && room <= SIZE_MAX / 4)
		room *= 2;
	p = room - w->scratch_used >= n ? cp_sys_map(room) : NULL;
	if (!p) {
		fail(w, -ENOMEM);
		return false;
	}
	if (w->scratch_used)
		memcpy(p, w->scratch, w->scratch_used);
	cp_sys_unmap(w->scratch, w->scratch_room);
	w->scratch = p;
	w->scratch_room = room;
	return true;
}

static size_t varint_to(uint8_t *p, uint64_t v)
{
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		p[n++] = (uint8_t)v | 0x80;
	p[n++] = (uint8_t)v;
	return n;
}

static void put_varint(struct cp_pprof *w, uint64_t v)
{
	if (reserve(w, VARINT_MAX))
		w->scratch_used += varint_to(w->scratch + w->scratch_used, v);
}

static void put_tag(struct cp_pprof *w, unsigned field, enum wire wire)
{
	put_varint(w, field << 3 | wire);
}

/* A negative int64 takes ten bytes: the format sign-extends, it does not zigzag. */
static void put_number(struct cp_pprof *w, unsigned field, uint64_t v)
{
	if (!v)
		return;
	put_tag(w, field, VARINT);
	put_varint(w, v);
}

/* Start a message. Returns the start of its body, for end_message(). */
static size_t begin_message(struct cp_pprof *w, unsigned field)
{
	put_tag(w, field, BYTES);
	put_varint(w, 0); /* one byte, reserved for the length */
	return w->scratch_used;
}

static void end_message(struct cp_pprof *w, size_t start)
{
	uint8_t length[VARINT_MAX];
	size_t body, extra;

	if (w->error)
		return;
	body = w->scratch_used - start;
	extra = varint_to(length, body) - 1;
	if (!reserve(w, extra))
		return;
	if (extra)
		memmove(w->scratch + start + extra, w->scratch + start, body);
	memcpy(w->scratch + start - 1, length, extra + 1);
	w->scratch_used += extra;
}

static void flush(struct cp_pprof *w, size_t at_least)
{
	int r;

	if (w->error || w->scratch_used < at_least || !w->scratch_used)
		return;
	r = w->sink->write(w->sink, w->scratch, w->scratch_used);
	if (r < 0)
		fail(w, r);
	w->scratch_used = 0;
}

/* ---- interned text ---- */

#define SLOTS_MIN ((size_t)1024) /* one page */

/* Returns the slot that holds the text, or the free slot where it belongs. */
static uint32_t *slot_of(const struct cp_intern *t, const char *s, size_t n, uint32_t hash)
{
	size_t mask = t->slot_count - 1, i = hash & mask;

	for (; t->slots[i]; i = (i + 1) & mask) {
		const struct cp_intern_entry *e =
			CP_VEC_AT(&t->entries, struct cp_intern_entry, t->slots[i] - 1);

		if (e->hash == hash && e->length == n && !memcmp(e->text, s, n))
			break;
	}
	return &t->slots[i];
}

static int grow_intern(struct cp_intern *t)
{
	size_t count = t->slot_count ? t->slot_count * 2 : SLOTS_MIN;
	uint32_t *slots = cp_sys_map(count * sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	cp_sys_unmap(t->slots, t->slot_count * sizeof(*slots));
	t->slots = slots;
	t->slot_count = count;
	/* All entries differ, so it is enough to look for a free slot. */
	for (size_t id = 0; id < t->entries.count; id++) {
		size_t i = CP_VEC_AT(&t->entries, struct cp_intern_entry, id)->hash & (count - 1);

		while (slots[i])
			i = (i + 1) & (count - 1);
		slots[i] = (uint32_t)id + 1;
	}
	return 0;
}

/* Set *ID to the id (0..) of the N bytes at S, which are copied if they are new. Returns 0 or
 * -ENOMEM. */
static int intern_add(struct cp_intern *t, const char *s, size_t n, uint64_t *id)
{
	uint32_t hash = cp_index_hash(s, n), *slot;
	struct cp_intern_entry *e;
	char *text;

	if (n >= UINT32_MAX || t->entries.count >= UINT32_MAX - 1)
		return -ENOMEM;
	if (t->entries.count >= t->slot_count / 4 * 3 && grow_intern(t))
		return -ENOMEM;
	slot = slot_of(t, s, n, hash);
	if (!*slot) {
		t->entries.size = sizeof(*e);
		text = cp_arena_text(&t->texts, s, n);
		e = text ? cp_vec_add(&t->entries) : NULL;
		if (!e)
			return -ENOMEM;
		*e = (struct cp_intern_entry){ text, (uint32_t)n, hash };
		*slot = (uint32_t)t->entries.count;
	}
	*id = *slot - 1;
	return 0;
}

static void intern_release(struct cp_intern *t)
{
	cp_sys_unmap(t->slots, t->slot_count * sizeof(*t->slots));
	cp_vec_release(&t->entries);
	cp_arena_release(&t->texts);
	t->slots = NULL;
	t->slot_count = 0;
}

static uint64_t text_id(struct cp_pprof *w, const char *s)
{
	size_t n = s ? strlen(s) : 0;
	uint64_t id = 0;
	int r;

	if (!n || w->error)
		return 0;
	if (!cp_utf8_valid(s, n)) {
		/* The text is repaired after the end of the message under construction. The next
		 * field overwrites it, but the table has its own copy by then. */
		if (n > SIZE_MAX / 3 || !reserve(w, 3 * n))
			return 0;
		n = cp_utf8_repair((char *)w->scratch + w->scratch_used, s, n);
		s = (char *)w->scratch + w->scratch_used;
	}
	r = intern_add(&w->strings, s, n, &id);
	if (r)
		fail(w, r);
	return id;
}

static void put_type(struct cp_pprof *w, unsigned field, const struct cp_pprof_type *t)
{
	size_t start = begin_message(w, field);

	put_number(w, 1, text_id(w, t->type));
	put_number(w, 2, text_id(w, t->unit));
	end_message(w, start);
}

static void put_head(struct cp_pprof *w, const struct cp_pprof_head *head)
{
	w->value_count = head->sample_type_count;
	w->time_nanos = head->time_nanos;
	w->duration_nanos = head->duration_nanos;
	for (unsigned i = 0; i < head->sample_type_count; i++)
		put_type(w, PROFILE_SAMPLE_TYPE, &head->sample_types[i]);
	put_number(w, PROFILE_DROP_FRAMES, text_id(w, head->drop_frames));
	put_type(w, PROFILE_PERIOD_TYPE, &head->period_type);
	put_number(w, PROFILE_PERIOD, (uint64_t)head->period);
	put_number(w, PROFILE_DEFAULT_SAMPLE_TYPE, text_id(w, head->default_sample_type));
}

void cp_pprof_open(struct cp_pprof *w, struct cp_sink *sink, const struct cp_pprof_head *head)
{
	uint64_t empty;

	*w = (struct cp_pprof){ .sink = sink };
	w->error = intern_add(&w->strings, "", 0, &empty);
	put_head(w, head);
}

void cp_pprof_mapping(struct cp_pprof *w, uint64_t id, const struct cp_pprof_mapping *m)
{
	size_t start = begin_message(w, PROFILE_MAPPING);

	put_number(w, 1, id);
	put_number(w, 2, m->start);
	put_number(w, 3, m->limit);
	put_number(w, 4, m->offset);
	put_number(w, 5, text_id(w, m->path));
	put_number(w, 6, text_id(w, m->build_id));
	put_number(w, 7, m->has_functions);
	put_number(w, 8, m->has_filenames);
	put_number(w, 9, m->has_line_numbers);
	put_number(w, 10, m->has_inline_frames);
	end_message(w, start);
	flush(w, FLUSH_AT);
}

void cp_pprof_function(struct cp_pprof *w, uint64_t id, const struct cp_pprof_function *f)
{
	size_t start = begin_message(w, PROFILE_FUNCTION);

	put_number(w, 1, id);
	put_number(w, 2, text_id(w, f->name));
	put_number(w, 3, text_id(w, f->system_name));
	put_number(w, 4, text_id(w, f->filename));
	put_number(w, 5, (uint64_t)f->start_line);
	end_message(w, start);
	flush(w, FLUSH_AT);
}

static void put_line(struct cp_pprof *w, const struct cp_pprof_line *l)
{
	size_t start = begin_message(w, 4);

	put_number(w, 1, l->function_id);
	put_number(w, 2, (uint64_t)l->line);
	end_message(w, start);
}

void cp_pprof_location(struct cp_pprof *w, uint64_t id, uint64_t mapping_id, uint64_t address,
		       const struct cp_pprof_line *lines, size_t line_count)
{
	size_t start = begin_message(w, PROFILE_LOCATION);

	put_number(w, 1, id);
	put_number(w, 2, mapping_id);
	put_number(w, 3, address);
	for (size_t i = 0; i < line_count; i++)
		put_line(w, &lines[i]);
	end_message(w, start);
	flush(w, FLUSH_AT);
}

struct cp_pprof_known cp_pprof_know(struct cp_pprof *w, const struct cp_pprof_label *l)
{
	return (struct cp_pprof_known){ .key = text_id(w, l->key),
					.text = l->text ? text_id(w, l->text) : 0,
					.number = l->text ? 0 : l->number,
					.unit = l->text ? 0 : text_id(w, l->unit),
					.left_out = l->text && !*l->text };
}

/* Samples are most of a file. The following functions write into a buffer that has room enough. */

/* One or two bytes, as ids mostly are, without a branch that could be mispredicted. */
static inline uint8_t *raw_varint(uint8_t *p, uint64_t v)
{
	unsigned two = v >= 0x80;

	if (__builtin_expect(v >= 1u << 14, 0))
		return p + varint_to(p, v);
	p[0] = (uint8_t)(v | two << 7);
	p[1] = (uint8_t)(v >> 7);
	return p + 1 + two;
}

static inline uint8_t *raw_number(uint8_t *p, unsigned field, uint64_t v)
{
	if (!v)
		return p;
	*p++ = (uint8_t)(field << 3 | VARINT);
	return raw_varint(p, v);
}

static uint8_t *raw_packed(uint8_t *p, unsigned field, const uint64_t *v, size_t n)
{
	uint8_t length[VARINT_MAX], *start;
	size_t body, extra;

	*p++ = (uint8_t)(field << 3 | BYTES);
	start = ++p;
	for (size_t i = 0; i < n; i++)
		p = raw_varint(p, v[i]);
	body = (size_t)(p - start);
	extra = varint_to(length, body) - 1;
	if (extra)
		memmove(start + extra, start, body);
	memcpy(start - 1, length, extra + 1);
	return p + extra;
}

/* Tag and length, and four numbers with their tags: the length takes one byte. */
#define LABEL_MAX (2 + 4 * (1 + VARINT_MAX))

static uint8_t *raw_label(uint8_t *p, const struct cp_pprof_known *l)
{
	uint8_t *length;

	if (l->left_out)
		return p;
	*p++ = 3 << 3 | BYTES;
	length = p++;
	p = raw_number(p, 1, l->key);
	p = raw_number(p, 2, l->text);
	p = raw_number(p, 3, (uint64_t)l->number);
	p = raw_number(p, 4, l->unit);
	*length = (uint8_t)(p - length - 1);
	return p;
}

void cp_pprof_sample(struct cp_pprof *w, const uint64_t *location_ids, size_t depth,
		     const int64_t *values, const struct cp_pprof_known *labels, size_t label_count)
{
	size_t start, fields = depth + w->value_count + 4; /* two more tags and lengths */
	uint8_t *p;

	if (!depth)
		return;
	start = begin_message(w, PROFILE_SAMPLE);
	if (!reserve(w, fields * VARINT_MAX + label_count * LABEL_MAX))
		return;
	p = raw_packed(w->scratch + w->scratch_used, 1, location_ids, depth);
	p = raw_packed(p, 2, (const uint64_t *)values, w->value_count);
	for (size_t i = 0; i < label_count; i++)
		p = raw_label(p, &labels[i]);
	w->scratch_used = (size_t)(p - w->scratch);
	end_message(w, start);
	flush(w, FLUSH_AT);
}

void cp_pprof_comment(struct cp_pprof *w, const char *text)
{
	put_number(w, PROFILE_COMMENT, text_id(w, text));
}

size_t cp_pprof_begin(struct cp_pprof *w, unsigned field)
{
	return begin_message(w, field);
}

void cp_pprof_end(struct cp_pprof *w, size_t start)
{
	end_message(w, start);
}

void cp_pprof_number(struct cp_pprof *w, unsigned field, uint64_t v)
{
	put_number(w, field, v);
}

void cp_pprof_text(struct cp_pprof *w, unsigned field, const char *text)
{
	put_number(w, field, text_id(w, text));
}

void cp_pprof_bytes(struct cp_pprof *w, const void *bytes, size_t n)
{
	if (!n || !reserve(w, n))
		return;
	memcpy(w->scratch + w->scratch_used, bytes, n);
	w->scratch_used += n;
}

void cp_pprof_flush(struct cp_pprof *w)
{
	flush(w, FLUSH_AT);
}

static void put_string(struct cp_pprof *w, const struct cp_intern_entry *e)
{
	put_tag(w, PROFILE_STRING, BYTES);
	put_varint(w, e->length);
	if (!reserve(w, e->length))
		return;
	memcpy(w->scratch + w->scratch_used, e->text, e->length);
	w->scratch_used += e->length;
	flush(w, FLUSH_AT);
}

static void put_strings(struct cp_pprof *w)
{
	for (size_t i = 0; i < w->strings.entries.count; i++)
		put_string(w, CP_VEC_AT(&w->strings.entries, struct cp_intern_entry, i));
	flush(w, 1);
}

int cp_pprof_close(struct cp_pprof *w)
{
	put_number(w, PROFILE_TIME_NANOS, (uint64_t)w->time_nanos);
	put_number(w, PROFILE_DURATION_NANOS, (uint64_t)w->duration_nanos);
	put_strings(w);
	intern_release(&w->strings);
	cp_sys_unmap(w->scratch, w->scratch_room);
	w->scratch = NULL;
	w->scratch_room = w->scratch_used = 0;
	return w->error;
}
