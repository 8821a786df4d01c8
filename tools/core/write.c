/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes a profile to a file, which it replaces as a whole or not at all; see read.h.
 *
 * zlib takes most of the time. So the packed messages are divided into pieces, and threads compress
 * the pieces of a large profile: blocks of one gzip member, in their order. Memory does not grow
 * with the profile.
 */
#include "core/read.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "core/profile.pb-c.h"
#include "core/times.h"

#define PIECE ((size_t)4 << 20)
#define THREADS_MOST 16
#define RAW_WINDOW (-15)

struct piece {
	pthread_t thread;
	bool running;
	int level, flush, error;
	uint8_t *in, *out;
	size_t in_used, out_used;
	uint32_t crc;
};

struct writer {
	FILE *to;
	int error;
	struct piece *pieces; /* a ring; those after the current one are older */
	size_t count, at;
	uint32_t crc, total;
	bool large;
	uint8_t *message; /* one packed message */
	size_t message_room;
};

static void *deflate_piece(void *piece)
{
	struct piece *p = piece;
	z_stream z = { .next_in = p->in, .avail_in = (unsigned)p->in_used };

	if (deflateInit2(&z, p->level, Z_DEFLATED, RAW_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
		p->error = -ENOMEM;
		return NULL;
	}
	z.avail_out = (unsigned)deflateBound(&z, p->in_used) + 64;
	z.next_out = p->out = ct_memory_realloc(p->out, z.avail_out, 1);
	deflate(&z, p->flush);
	p->out_used = z.total_out;
	p->crc = (uint32_t)crc32(0, p->in, (unsigned)p->in_used);
	deflateEnd(&z);
	return NULL;
}

static void put_compressed(struct writer *w, const void *data, size_t n)
{
	errno = 0;
	if (n && !w->error && fwrite(data, 1, n, w->to) < n)
		w->error = errno ? -errno : -EIO;
}

/* Waits until a piece is compressed, and writes it. */
static void take_piece(struct writer *w, struct piece *p)
{
	if (p->running)
		pthread_join(p->thread, NULL);
	w->error = w->error ? w->error : p->error;
	put_compressed(w, p->out, p->out_used);
	w->crc = (uint32_t)crc32_combine(w->crc, p->crc, (z_off_t)p->in_used);
	w->total += (uint32_t)p->in_used;
	p->running = false;
	p->in_used = p->out_used = 0;
}

/* Gives the current piece to a thread, if there can be one, and makes the oldest the current one.
 */
static void next_piece(struct writer *w)
{
	struct piece *p = &w->pieces[w->at];

	w->large = true;
	p->level = Z_BEST_SPEED;
	p->flush = Z_SYNC_FLUSH;
	p->running = !pthread_create(&p->thread, NULL, deflate_piece, p);
	if (!p->running)
		deflate_piece(p);
	w->at = (w->at + 1) % w->count;
	take_piece(w, &w->pieces[w->at]);
}

static void put_data(struct writer *w, const void *data, size_t n)
{
	while (n && !w->error) {
		struct piece *p = &w->pieces[w->at];
		size_t part = PIECE - p->in_used < n ? PIECE - p->in_used : n;

		if (!p->in)
			p->in = ct_memory_realloc(NULL, PIECE, 1);
		memcpy(p->in + p->in_used, data, part);
		p->in_used += part;
		data = (const char *)data + part;
		n -= part;
		if (p->in_used == PIECE)
			next_piece(w);
	}
}

static void begin_gzip(struct writer *w)
{
	static const uint8_t header[10] = { 0x1f, 0x8b, Z_DEFLATED, 0, 0, 0, 0, 0, 0, 3 };
	long threads = sysconf(_SC_NPROCESSORS_ONLN);

	w->count = threads < 1 ? 2 : threads > THREADS_MOST ? THREADS_MOST : (size_t)threads + 1;
	w->pieces = ct_memory_alloc(w->count * sizeof(*w->pieces));
	put_compressed(w, header, sizeof(header));
}

static void end_gzip(struct writer *w)
{
	struct piece *p = &w->pieces[w->at];
	uint8_t trailer[8];

	p->level = w->large ? Z_BEST_SPEED : Z_DEFAULT_COMPRESSION;
	p->flush = Z_FINISH;
	deflate_piece(p);
	for (size_t i = 1; i <= w->count; i++)
		take_piece(w, &w->pieces[(w->at + i) % w->count]);
	for (unsigned i = 0; i < 8; i++)
		trailer[i] = (uint8_t)((i < 4 ? w->crc : w->total) >> 8 * (i % 4));
	put_compressed(w, trailer, sizeof(trailer));
	for (size_t i = 0; i < w->count; i++) {
		free(w->pieces[i].in);
		free(w->pieces[i].out);
	}
	free(w->pieces);
}

static uint8_t *add_varint(uint8_t *to, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*to++ = (uint8_t)v | 0x80;
	*to++ = (uint8_t)v;
	return to;
}

static void put_varint(struct writer *w, uint64_t v)
{
	uint8_t bytes[10];

	put_data(w, bytes, (size_t)(add_varint(bytes, v) - bytes));
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

/* ---- samples: most of a profile, and packed here, because protobuf-c takes thrice as long ---- */

/* The most bytes of a number, and of a number with its tag or of a tag with a length. */
#define NUMBER_MOST 10
#define FIELD_MOST (NUMBER_MOST + 1)

static size_t varint_size(uint64_t v)
{
	return (size_t)(63 - __builtin_clzll(v | 1)) / 7 + 1;
}

static uint8_t *add_number(uint8_t *to, unsigned field, uint64_t v)
{
	return v ? add_varint(add_varint(to, field << 3), v) : to;
}

static uint8_t *add_frames(uint8_t *to, const uint32_t *frames, size_t depth)
{
	size_t size = 0;

	for (size_t i = 0; i < depth; i++)
		size += varint_size((uint64_t)frames[i] + 1);
	if (depth)
		to = add_varint(add_varint(to, 1 << 3 | 2), size);
	for (size_t i = 0; i < depth; i++)
		to = add_varint(to, (uint64_t)frames[i] + 1);
	return to;
}

static uint8_t *add_values(uint8_t *to, const int64_t *values, size_t count)
{
	size_t size = 0;

	for (size_t i = 0; i < count; i++)
		size += varint_size((uint64_t)values[i]);
	if (count)
		to = add_varint(add_varint(to, 2 << 3 | 2), size);
	for (size_t i = 0; i < count; i++)
		to = add_varint(to, (uint64_t)values[i]);
	return to;
}

static uint8_t *add_label(uint8_t *to, const struct ct_label *l)
{
	uint8_t body[4 * FIELD_MOST], *end = body;

	end = add_number(end, 1, l->key);
	end = add_number(end, 2, l->text);
	end = add_number(end, 3, (uint64_t)l->number);
	end = add_number(end, 4, l->unit);
	to = add_varint(add_varint(to, 3 << 3 | 2), (uint64_t)(end - body));
	return (uint8_t *)memcpy(to, body, (size_t)(end - body)) + (end - body);
}

static void put_sample(struct writer *w, const struct ct_profile *p, size_t i)
{
	const struct ct_sample *from = &p->samples[i];
	const struct ct_label_set *set = &p->label_sets[from->label_set];
	size_t most = (from->depth + p->type_count) * NUMBER_MOST +
		      (2 + 5 * (size_t)set->count) * FIELD_MOST;
	uint8_t *end;

	if (most > w->message_room)
		w->message = ct_memory_grow(w->message, &w->message_room, most, 1);
	end = add_frames(w->message, ct_frames(p, from), from->depth);
	end = add_values(end, ct_values(p, i), p->type_count);
	for (uint32_t k = 0; k < set->count; k++)
		end = add_label(end, &p->labels[set->first + k]);
	put_bytes(w, 2, w->message, (size_t)(end - w->message));
}

static void put_times(struct writer *w, const struct ct_times *t)
{
	size_t size;
	uint8_t *data;

	if (!t)
		return;
	data = ct_times_pack(t, &size);
	put_bytes(w, CT_TIMES_FIELD, data, size);
	free(data);
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
	put_times(w, p->times);
}

int ct_write(const struct ct_profile *p, FILE *to)
{
	struct writer *w = ct_memory_alloc(sizeof(*w));
	int error;

	w->to = to;
	begin_gzip(w);
	put_all(w, p);
	end_gzip(w);
	if (!w->error && fflush(to))
		w->error = -errno;
	error = w->error;
	free(w->message);
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
