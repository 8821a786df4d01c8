/* SPDX-License-Identifier: BSD-3-Clause */
/* See otlp_cursor.h. */
#include "otlp/otlp_cursor.h"

#include <errno.h>
#include <string.h>

static bool varint(struct ct_otlp_cursor *c, uint64_t *value)
{
	uint64_t v = 0;

	for (unsigned n = 0; n < 10 && c->at < c->end; n++) {
		uint8_t byte = *c->at++;

		v |= (uint64_t)(byte & 0x7f) << 7 * n;
		if (!(byte & 0x80)) {
			*value = v;
			return true;
		}
	}
	return false;
}

static bool fixed(struct ct_otlp_cursor *c, size_t size)
{
	c->number = 0;
	if ((size_t)(c->end - c->at) < size)
		return false;
	memcpy(&c->number, c->at, size);
	c->at += size;
	return true;
}

static bool body(struct ct_otlp_cursor *c)
{
	uint64_t size;

	if (!varint(c, &size) || size > (uint64_t)(c->end - c->at))
		return false;
	c->body = (struct ct_otlp_bytes){ c->at, (size_t)size };
	c->at += size;
	return true;
}

static bool value(struct ct_otlp_cursor *c, unsigned kind)
{
	c->is_message = kind == 2;
	switch (kind) {
	case 0: return varint(c, &c->number);
	case 1: return fixed(c, 8);
	case 2: return body(c);
	case 5: return fixed(c, 4);
	default: return false;
	}
}

int ct_otlp_cursor_next(struct ct_otlp_cursor *c)
{
	uint64_t tag;

	if (c->at == c->end)
		return 0;
	if (!varint(c, &tag) || !(tag >> 3) || tag >> 3 >= 1 << 29)
		return -EBADMSG;
	c->field = (unsigned)(tag >> 3);
	return value(c, tag & 7) ? 1 : -EBADMSG;
}
