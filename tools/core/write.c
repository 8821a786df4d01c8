/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes a profile to a file, which it replaces as a whole or not at all; see read.h. Each message
 * is packed by protobuf-c and given to zlib at once, so that memory does not grow with the profile.
 */
#include "core/read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "core/profile.pb-c.h"

#define CHUNK ((size_t)64 << 10)
#define GZIP_WINDOW (15 + 16)

struct writer {
	FILE *to;
	z_stream z;
	int error;
	uint8_t *message; /* one packed message */
	size_t message_room;
	uint8_t in[CHUNK]; /* bytes that are not yet compressed */
	size_t in_used;
	uint64_t *ids; /* ids of one sample */
	Pb__Label *labels;
	Pb__Label **label_pointers;
	size_t ids_room, labels_room, pointers_room;
};

static void deflate_chunk(struct writer *w, int flush)
{
	uint8_t out[16384];
	int r = Z_OK;

	w->z.next_in = w->in;
	w->z.avail_in = (unsigned)w->in_used;
	do {
		w->z.next_out = out;
		w->z.avail_out = sizeof(out);
		r = deflate(&w->z, flush);
		if (fwrite(out, 1, sizeof(out) - w->z.avail_out, w->to) <
		    sizeof(out) - w->z.avail_out)
			w->error = errno ? -errno : -EIO;
	} while (!w->error && (r == Z_OK && !w->z.avail_out));
	w->in_used = 0;
}

static void put_data(struct writer *w, const void *data, size_t n)
{
	while (n && !w->error) {
		size_t part = CHUNK - w->in_used < n ? CHUNK - w->in_used : n;

		memcpy(w->in + w->in_used, data, part);
		w->in_used += part;
		data = (const char *)data + part;
		n -= part;
		if (w->in_used == CHUNK)
			deflate_chunk(w, Z_NO_FLUSH);
	}
}

static void put_varint(struct writer *w, uint64_t v)
{
	uint8_t bytes[10];
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		bytes[n++] = (uint8_t)v | 0x80;
	bytes[n++] = (uint8_t)v;
	put_data(w, bytes, n);
}

static void put_number(struct writer *w, unsigned field, uint64_t v)
{
	if (!v)
		return;
	put_varint(w, field << 3);
	put_varint(w, v);
}

static void put_bytes(struct writer *w, unsigned field, const void *data, size_t n)
{
	put_varint(w, field << 3 | 2);
	put_varint(w, n);
	put_data(w, data, n);
}

static void put_message(struct writer *w, unsigned field, const ProtobufCMessage *m)
{
	size_t n = protobuf_c_message_get_packed_size(m);

	if (n > w->message_room)
		w->message = ct_memory_grow(w->message, &w->message_room, n, 1);
	protobuf_c_message_pack(m, w->message);
	put_bytes(w, field, w->message, n);
}

static void put_type(struct writer *w, unsigned field, struct ct_type t)
{
	Pb__ValueType m = PB__VALUE_TYPE__INIT;

	m.type = t.type;
	m.unit = t.unit;
	put_message(w, field, &m.base);
}

static void put_mapping(struct writer *w, const struct ct_mapping *from, uint64_t id)
{
	Pb__Mapping m = PB__MAPPING__INIT;

	m.id = id;
	m.start = from->start;
	m.limit = from->limit;
	m.offset = from->offset;
	m.file = from->file;
	m.build_id = from->build_id;
	m.has_functions = from->has_functions;
	m.has_filenames = from->has_filenames;
	m.has_lines = from->has_lines;
	m.has_inlines = from->has_inlines;
	put_message(w, 3, &m.base);
}

static void put_function(struct writer *w, const struct ct_function *from, uint64_t id)
{
	Pb__Function m = PB__FUNCTION__INIT;

	m.id = id;
	m.name = from->name;
	m.system_name = from->system_name;
	m.filename = from->filename;
	m.start_line = from->start_line;
	put_message(w, 5, &m.base);
}

static void put_location(struct writer *w, const struct ct_profile *p,
			 const struct ct_location *from, uint64_t id)
{
	Pb__Location m = PB__LOCATION__INIT;
	Pb__Line *lines = ct_memory_alloc(from->line_count * sizeof(*lines));
	Pb__Line **pointers = ct_memory_alloc(from->line_count * sizeof(*pointers));

	for (uint32_t i = 0; i < from->line_count; i++) {
		const struct ct_line *l = &p->lines[from->first_line + i];

		pb__line__init(&lines[i]);
		lines[i].function_id = l->function == CT_NONE ? 0 : (uint64_t)l->function + 1;
		lines[i].line = l->line;
		lines[i].column = l->column;
		pointers[i] = &lines[i];
	}
	m.id = id;
	m.mapping_id = from->mapping == CT_NONE ? 0 : (uint64_t)from->mapping + 1;
	m.address = from->address;
	m.is_folded = from->folded;
	m.n_line = from->line_count;
	m.line = pointers;
	put_message(w, 4, &m.base);
	free(lines);
	free(pointers);
}

static void fill_labels(struct writer *w, const struct ct_profile *p,
			const struct ct_label_set *set, Pb__Sample *m)
{
	if (set->count > w->labels_room)
		w->labels =
			ct_memory_grow(w->labels, &w->labels_room, set->count, sizeof(*w->labels));
	if (set->count > w->pointers_room)
		w->label_pointers = ct_memory_grow(w->label_pointers, &w->pointers_room, set->count,
						   sizeof(*w->label_pointers));
	for (uint32_t i = 0; i < set->count; i++) {
		const struct ct_label *l = &p->labels[set->first + i];

		pb__label__init(&w->labels[i]);
		w->labels[i].key = l->key;
		w->labels[i].text = l->text;
		w->labels[i].number = l->number;
		w->labels[i].unit = l->unit;
		w->label_pointers[i] = &w->labels[i];
	}
	m->n_label = set->count;
	m->label = w->label_pointers;
}

static void put_sample(struct writer *w, const struct ct_profile *p, size_t i)
{
	const struct ct_sample *from = &p->samples[i];
	Pb__Sample m = PB__SAMPLE__INIT;

	if (from->depth > w->ids_room)
		w->ids = ct_memory_grow(w->ids, &w->ids_room, from->depth, sizeof(*w->ids));
	for (uint32_t k = 0; k < from->depth; k++)
		w->ids[k] = (uint64_t)ct_frames(p, from)[k] + 1;
	m.n_location_id = from->depth;
	m.location_id = w->ids;
	m.n_value = p->type_count;
	m.value = ct_values(p, i);
	fill_labels(w, p, &p->label_sets[from->label_set], &m);
	put_message(w, 2, &m.base);
}

static void put_all(struct writer *w, const struct ct_profile *p)
{
	for (size_t i = 0; i < p->type_count; i++)
		put_type(w, 1, p->types[i]);
	for (size_t i = 0; i < p->sample_count; i++)
		put_sample(w, p, i);
	for (size_t i = 0; i < p->mapping_count; i++)
		put_mapping(w, &p->mappings[i], i + 1);
	for (size_t i = 0; i < p->location_count; i++)
		put_location(w, p, &p->locations[i], i + 1);
	for (size_t i = 0; i < p->function_count; i++)
		put_function(w, &p->functions[i], i + 1);
	for (size_t i = 0; i < p->string_count; i++)
		put_bytes(w, 6, p->strings[i], strlen(p->strings[i]));
	put_number(w, 7, p->drop_frames);
	put_number(w, 8, p->keep_frames);
	put_number(w, 9, (uint64_t)p->time_nanos);
	put_number(w, 10, (uint64_t)p->duration_nanos);
	if (p->period_type.type || p->period_type.unit)
		put_type(w, 11, p->period_type);
	put_number(w, 12, (uint64_t)p->period);
	for (size_t i = 0; i < p->comment_count; i++)
		put_number(w, 13, p->comments[i]);
	put_number(w, 14, p->default_type);
	put_number(w, 15, p->doc_url);
}

int ct_write(const struct ct_profile *p, FILE *to)
{
	struct writer *w = ct_memory_alloc(sizeof(*w));
	int error;

	w->to = to;
	if (deflateInit2(&w->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK) {
		free(w);
		return -ENOMEM;
	}
	put_all(w, p);
	if (!w->error)
		deflate_chunk(w, Z_FINISH);
	deflateEnd(&w->z);
	if (!w->error && fflush(to))
		w->error = -errno;
	error = w->error;
	free(w->message);
	free(w->ids);
	free(w->labels);
	free(w->label_pointers);
	free(w);
	return error;
}

/* ---- files ---- */

static int write_stdout(const struct ct_profile *p)
{
	FILE *to;
	int error;

	if (isatty(STDOUT_FILENO)) {
		fputs("cprof: a profile is not written to a terminal; give -output=FILE\n", stderr);
		return -ENOTTY;
	}
	to = ct_out_guard_past();
	error = ct_write(p, to);
	return error ? error : fflush(to) ? -errno : 0;
}

static int write_target(const struct ct_profile *p, const char *path, bool dated)
{
	struct ct_target t;
	int error = ct_target_open(&t, path);

	t.dated = dated;

	return error ? error : ct_target_close(&t, ct_write(p, t.to));
}

static int said(const char *path, int error)
{
	if (error && error != -ENOTTY)
		fprintf(stderr, "cprof: %s can't be written: %s\n", path, strerror(-error));
	return error;
}

int ct_write_file(const struct ct_profile *p, const char *path)
{
	return said(path, strcmp(path, "-") ? write_target(p, path, false) : write_stdout(p));
}

int ct_write_file_in_place(const struct ct_profile *p, const char *path)
{
	return said(path, write_target(p, path, true));
}
