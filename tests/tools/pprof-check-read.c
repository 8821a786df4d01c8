/* SPDX-License-Identifier: BSD-3-Clause */
/* From a file to struct pcheck_profile: gunzip and protobuf's wire format. */
#include "pprof-check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum wire { VARINT = 0, BYTES = 2 };

/* A message while it is read; SEEN has a bit for each singular field. */
struct message {
	const uint8_t *at, *end;
	const char *name;
	uint64_t seen;
	struct pcheck_report *report;
};

struct field {
	unsigned number, wire;
	uint64_t value; /* VARINT */
	const uint8_t *data;
	size_t size; /* BYTES */
};

void *pcheck_grow(void *items, size_t count, size_t size)
{
	if (!(count & (count - 1))) { /* full: 0, 1, 2, 4, ... items */
		items = realloc(items, (count ? count * 2 : 1) * size);
		if (!items) {
			fprintf(stderr, "pprof-check: out of memory\n");
			exit(2);
		}
	}
	memset((char *)items + count * size, 0, size);
	return items;
}

#define ADD(array, count)                                                                          \
	(array = pcheck_grow(array, count, sizeof(*(array))), (count)++, &(array)[(count)-1])

static bool read_varint(struct message *m, uint64_t *value)
{
	unsigned n = 0;
	uint8_t c;

	*value = 0;
	do {
		if (m->at == m->end || n == 10 || (n == 9 && *m->at > 1))
			return false;
		c = *m->at++;
		*value |= (uint64_t)(c & 0x7f) << 7 * n++;
	} while (c & 0x80);
	if (n > 1 && !c)
		pcheck_bad(m->report, "wire", "%s: a varint is longer than it need be", m->name);
	return true;
}

static bool malformed(struct message *m)
{
	pcheck_bad(m->report, "wire", "%s: malformed", m->name);
	m->at = m->end;
	return false;
}

static bool next(struct message *m, struct field *f)
{
	uint64_t tag, size;

	if (m->at == m->end)
		return false;
	*f = (struct field){ 0 };
	if (!read_varint(m, &tag) || tag >> 3 == 0 || tag >> 3 > 10000)
		return malformed(m);
	f->number = (unsigned)(tag >> 3);
	f->wire = tag & 7;
	if (f->wire == VARINT)
		return read_varint(m, &f->value) || malformed(m);
	if (f->wire != BYTES || !read_varint(m, &size) || size > (size_t)(m->end - m->at))
		return malformed(m);
	f->data = m->at;
	f->size = size;
	m->at += size;
	return true;
}

static struct message inner(const struct message *m, const struct field *f, const char *name)
{
	struct message sub = { m->end, m->end, name, 0, m->report };

	if (f->wire == BYTES) {
		sub.at = f->data;
		sub.end = f->data + f->size;
	} else {
		pcheck_bad(m->report, "wire", "%s: field %u is no message", m->name, f->number);
	}
	return sub;
}

static void once(struct message *m, const struct field *f)
{
	if (m->seen >> f->number & 1)
		pcheck_bad(m->report, "repeated", "%s: field %u is there twice", m->name,
			   f->number);
	m->seen |= UINT64_C(1) << f->number;
}

static void scalar(struct message *m, const struct field *f, uint64_t *to)
{
	if (f->wire != VARINT) {
		pcheck_bad(m->report, "wire", "%s: field %u is no number", m->name, f->number);
		return;
	}
	once(m, f);
	if (!f->value)
		pcheck_bad(m->report, "zero", "%s: field %u is written although it is 0", m->name,
			   f->number);
	*to = f->value;
}

/* A repeated number: packed, or one field each. */
static void numbers(struct message *m, const struct field *f, struct pcheck_numbers *to)
{
	struct message sub;
	uint64_t v = f->value;

	if (f->wire == VARINT) {
		*ADD(to->items, to->count) = v;
		return;
	}
	sub = inner(m, f, m->name);
	while (sub.at < sub.end) {
		if (!read_varint(&sub, &v)) {
			malformed(&sub);
			return;
		}
		*ADD(to->items, to->count) = v;
	}
}

/* Singular fields 1..COUNT in the order of the message's members. */
static void scalars(struct message m, uint64_t *const *to, unsigned count)
{
	struct field f;

	while (next(&m, &f))
		if (f.number <= count)
			scalar(&m, &f, to[f.number - 1]);
		else
			pcheck_bad(m.report, "field", "%s: unknown field %u", m.name, f.number);
}

static void read_type(struct message m, struct pcheck_type *t)
{
	scalars(m, (uint64_t *const[]){ &t->type, &t->unit }, 2);
}

static void read_label(struct message m, struct pcheck_label *l)
{
	scalars(m, (uint64_t *const[]){ &l->key, &l->text, &l->number, &l->unit }, 4);
}

static void read_mapping(struct message m, struct pcheck_mapping *p)
{
	scalars(m,
		(uint64_t *const[]){ &p->id, &p->start, &p->limit, &p->offset, &p->path,
				     &p->build_id, &p->functions, &p->filenames, &p->lines,
				     &p->inlines },
		10);
}

static void read_function(struct message m, struct pcheck_function *p)
{
	scalars(m,
		(uint64_t *const[]){ &p->id, &p->name, &p->system_name, &p->filename,
				     &p->start_line },
		5);
}

static void read_line(struct message m, struct pcheck_line *l)
{
	scalars(m, (uint64_t *const[]){ &l->function, &l->line, &l->column }, 3);
}

static void read_sample(struct message m, struct pcheck_sample *s)
{
	struct field f;

	while (next(&m, &f)) {
		if (f.number == 1)
			numbers(&m, &f, &s->locations);
		else if (f.number == 2)
			numbers(&m, &f, &s->values);
		else if (f.number == 3)
			read_label(inner(&m, &f, "label"), ADD(s->labels, s->label_count));
		else
			pcheck_bad(m.report, "field", "sample: unknown field %u", f.number);
	}
}

static void read_location(struct message m, struct pcheck_location *p)
{
	uint64_t *const to[] = { &p->id, &p->mapping, &p->address, NULL, &p->folded };
	struct field f;

	while (next(&m, &f)) {
		if (f.number == 4)
			read_line(inner(&m, &f, "line"), ADD(p->lines, p->line_count));
		else if (f.number <= 5)
			scalar(&m, &f, to[f.number - 1]);
		else
			pcheck_bad(m.report, "field", "location: unknown field %u", f.number);
	}
}

static void read_string(struct message m, struct pcheck_string *s)
{
	s->length = (size_t)(m.end - m.at);
	s->text = calloc(1, s->length + 1);
	if (s->text && s->length)
		memcpy(s->text, m.at, s->length);
}

static void read_profile_field(struct pcheck_profile *p, struct message *m, const struct field *f)
{
	switch (f->number) {
	case 1: read_type(inner(m, f, "sample_type"), ADD(p->types, p->type_count)); break;
	case 2: read_sample(inner(m, f, "sample"), ADD(p->samples, p->sample_count)); break;
	case 3: read_mapping(inner(m, f, "mapping"), ADD(p->mappings, p->mapping_count)); break;
	case 4: read_location(inner(m, f, "location"), ADD(p->locations, p->location_count)); break;
	case 5: read_function(inner(m, f, "function"), ADD(p->functions, p->function_count)); break;
	case 6: read_string(inner(m, f, "string"), ADD(p->strings, p->string_count)); break;
	case 7: scalar(m, f, &p->drop_frames); break;
	case 8: scalar(m, f, &p->keep_frames); break;
	case 9: scalar(m, f, &p->time_nanos); break;
	case 10: scalar(m, f, &p->duration_nanos); break;
	case 11:
		once(m, f);
		read_type(inner(m, f, "period_type"), &p->period_type);
		break;
	case 12: scalar(m, f, &p->period); break;
	case 13: numbers(m, f, &p->comments); break;
	case 14: scalar(m, f, &p->default_type); break;
	case 15: scalar(m, f, &p->doc_url); break;
	case 7361: pcheck_read_times(p, f->data, f->size, m->report); break;
	default: pcheck_bad(m->report, "field", "profile: unknown field %u", f->number);
	}
}

int pcheck_decode(struct pcheck_profile *p, const void *data, size_t n, struct pcheck_report *r)
{
	struct message m = { data, (const uint8_t *)data + n, "profile", 0, r };
	struct field f;

	*p = (struct pcheck_profile){ 0 };
	while (next(&m, &f))
		read_profile_field(p, &m, &f);
	return 0;
}

/* The bytes within one gzip stream, malloc'd, or NULL. */
static uint8_t *gunzip(const void *gzip, size_t n, size_t *out, struct pcheck_report *r)
{
	z_stream z = { .next_in = (unsigned char *)gzip, .avail_in = (unsigned)n };
	uint8_t *data = NULL, part[16384];
	int status = inflateInit2(&z, 15 + 16);

	for (*out = 0; status == Z_OK;) {
		size_t got;

		z.next_out = part;
		z.avail_out = sizeof(part);
		status = inflate(&z, Z_NO_FLUSH);
		got = sizeof(part) - z.avail_out;
		data = realloc(data, *out + got + 1);
		if (!data)
			exit(2);
		memcpy(data + *out, part, got);
		*out += got;
	}
	inflateEnd(&z);
	if (status != Z_STREAM_END) {
		pcheck_bad(r, "gzip", "no whole gzip stream (%s)", z.msg ? z.msg : "it ends early");
		free(data);
		return NULL;
	}
	if (z.avail_in)
		pcheck_bad(r, "single-stream", "%u bytes behind the gzip stream", z.avail_in);
	return data;
}

int pcheck_read_memory(struct pcheck_profile *p, const void *gzip, size_t n,
		       struct pcheck_report *r)
{
	size_t size;
	uint8_t *data = gunzip(gzip, n, &size, r);

	if (!data)
		return -1;
	pcheck_decode(p, data, size, r);
	free(data);
	return 0;
}

int pcheck_read_file(struct pcheck_profile *p, const char *path, struct pcheck_report *r)
{
	FILE *f = fopen(path, "rb");
	char *data = NULL;
	size_t n = 0, got;
	int result;

	do {
		data = realloc(data, n + 65536);
		got = f && data ? fread(data + n, 1, 65536, f) : 0;
		n += got;
	} while (got);
	if (!f || ferror(f)) {
		pcheck_bad(r, "file", "can't be read: %s", strerror(errno));
		result = -1;
	} else {
		result = pcheck_read_memory(p, data, n, r);
	}
	if (f)
		fclose(f);
	free(data);
	return result;
}

void pcheck_free(struct pcheck_profile *p)
{
	for (size_t i = 0; i < p->sample_count; i++) {
		free(p->samples[i].locations.items);
		free(p->samples[i].values.items);
		free(p->samples[i].labels);
	}
	for (size_t i = 0; i < p->location_count; i++)
		free(p->locations[i].lines);
	for (size_t i = 0; i < p->string_count; i++)
		free(p->strings[i].text);
	free(p->types);
	free(p->samples);
	free(p->mappings);
	free(p->locations);
	free(p->functions);
	free(p->strings);
	free(p->comments.items);
	free(p->times.events);
	free(p->times.threads);
	free(p->times.spans);
	free(p->times.names.items);
	free(p->times.recorded.items);
	free(p->times.counters.items);
	free(p->times.wakes.items);
	*p = (struct pcheck_profile){ 0 };
}
