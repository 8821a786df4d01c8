/* SPDX-License-Identifier: BSD-3-Clause */
/* See output.h. */
#include "output/output.h"

#include "base/sys.h"
#include "base/text.h"

#define PAYLOAD_MAX 4096
#define VERSION 2
#define TEXT_MAX 128 /* most bytes of a key or value; longer ones are cut */

struct header {
	char signature[8];
	uint32_t version, size;
	uint64_t published; /* 0 while it is being changed */
	uint64_t payload;
};

/* A cursor over a protobuf message, and the field that was read last: a number or a BODY. */
struct cursor {
	const uint8_t *at, *end;
	unsigned field;
	bool has_body;
	uint64_t number;
	const uint8_t *body, *body_end;
};

/* Numbers of fields. */
enum { CONTEXT_RESOURCE = 1, RESOURCE_ATTRIBUTE = 1, PAIR_KEY = 1, PAIR_VALUE = 2 };
enum { VALUE_TEXT = 1, VALUE_NUMBER = 3 };

static bool varint(struct cursor *c, uint64_t *to)
{
	*to = 0;
	for (unsigned shift = 0; shift < 64 && c->at < c->end; shift += 7) {
		uint8_t byte = *c->at++;

		*to |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

static bool skip(struct cursor *c, uint64_t n)
{
	if ((uint64_t)(c->end - c->at) < n)
		return false;
	c->at += n;
	return true;
}

/* Goes to the next field. Returns false at the end, and if the message is malformed. */
static bool next_field(struct cursor *c)
{
	uint64_t tag, size = 0;

	if (!varint(c, &tag))
		return false;
	c->field = (unsigned)(tag >> 3);
	c->has_body = (tag & 7) == 2;
	switch (tag & 7) {
	case 0: return varint(c, &c->number);
	case 1: return skip(c, 8);
	case 2:
		if (!varint(c, &size))
			return false;
		c->body = c->at;
		c->body_end = c->at + size;
		return skip(c, size);
	case 5: return skip(c, 4);
	default: return false;
	}
}

static struct cursor into(const struct cursor *c)
{
	return (struct cursor){ .at = c->body, .end = c->body_end };
}

/* Copy a text without control characters, which would break a comment's line. */
static void copy_text(char *to, const struct cursor *c)
{
	size_t n = (size_t)(c->body_end - c->body);

	n = n < TEXT_MAX - 1 ? n : TEXT_MAX - 1;
	for (size_t i = 0; i < n; i++)
		to[i] = c->body[i] < 0x20 ? '?' : (char)c->body[i];
	to[n] = '\0';
}

/* Returns false if the value is neither a text nor a number. */
static bool value_of(struct cursor v, char *to)
{
	while (next_field(&v)) {
		if (v.field == VALUE_TEXT && v.has_body)
			return copy_text(to, &v), true;
		if (v.field == VALUE_NUMBER && !v.has_body)
			return cp_text_format(to, TEXT_MAX, "%ld", (long)v.number), true;
	}
	return false;
}

static void attribute(struct cursor pair, cp_process_context_each *each, void *arg)
{
	char key[TEXT_MAX] = "", value[TEXT_MAX];
	bool has_value = false;

	while (next_field(&pair)) {
		if (pair.field == PAIR_KEY && pair.has_body)
			copy_text(key, &pair);
		if (pair.field == PAIR_VALUE && pair.has_body)
			has_value = value_of(into(&pair), value);
	}
	if (key[0] && has_value)
		each(arg, key, value);
}

static void read_message(const uint8_t *bytes, size_t size, cp_process_context_each *each,
			 void *arg)
{
	struct cursor context = { .at = bytes, .end = bytes + size }, resource;

	while (next_field(&context)) {
		if (context.field != CONTEXT_RESOURCE || !context.has_body)
			continue;
		resource = into(&context);
		while (next_field(&resource))
			if (resource.field == RESOURCE_ATTRIBUTE && resource.has_body)
				attribute(into(&resource), each, arg);
	}
}

static bool read_header(uint64_t at, struct header *h)
{
	return cp_sys_peek(h, at, sizeof(*h)) >= 0 && !memcmp(h->signature, "OTEL_CTX", 8) &&
	       h->version == VERSION && h->published && h->size <= PAYLOAD_MAX;
}

void cp_process_context_read(uint64_t at, cp_process_context_each *each, void *arg)
{
	static uint8_t payload[PAYLOAD_MAX]; /* guarded by the collector's lock */
	struct header before, after;

	if (!at || !read_header(at, &before))
		return;
	if (cp_sys_peek(payload, before.payload, before.size) < 0 || !read_header(at, &after) ||
	    after.published != before.published)
		return;
	read_message(payload, before.size, each, arg);
}
