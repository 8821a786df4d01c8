/* SPDX-License-Identifier: BSD-3-Clause */
/* See otlp.h. */
#include "otlp/otlp.h"

#include <errno.h>

#include "core/core.h"

static void put(struct ct_otlp_out *o, const void *data, size_t n)
{
	o->bytes += n;
	if (o->to && n && !o->error && fwrite(data, 1, n, o->to) < n)
		o->error = errno ? -errno : -EIO;
}

static void put_varint(struct ct_otlp_out *o, uint64_t v)
{
	uint8_t bytes[10];
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		bytes[n++] = (uint8_t)v | 0x80;
	bytes[n++] = (uint8_t)v;
	put(o, bytes, n);
}

void ct_otlp_out_head(struct ct_otlp_out *o, unsigned field, uint64_t size)
{
	put_varint(o, field << 3 | 2);
	put_varint(o, size);
}

uint64_t ct_otlp_out_whole(uint64_t size)
{
	struct ct_otlp_out o = { 0 };

	ct_otlp_out_head(&o, 1, size);
	return o.bytes + size;
}

void ct_otlp_out_bytes(struct ct_otlp_out *o, unsigned field, const void *data, size_t n)
{
	ct_otlp_out_head(o, field, n);
	put(o, data, n);
}

static void put_packed(struct ct_otlp_out *o, const ProtobufCMessage *m, size_t n)
{
	if (!o->to) {
		o->bytes += n;
		return;
	}
	if (n > o->message_room)
		o->message = ct_memory_grow(o->message, &o->message_room, n, 1);
	protobuf_c_message_pack(m, o->message);
	put(o, o->message, n);
}

void ct_otlp_out_message(struct ct_otlp_out *o, unsigned field, const ProtobufCMessage *m)
{
	size_t n = protobuf_c_message_get_packed_size(m);

	ct_otlp_out_head(o, field, n);
	put_packed(o, m, n);
}

void ct_otlp_out_fields(struct ct_otlp_out *o, const ProtobufCMessage *m)
{
	put_packed(o, m, protobuf_c_message_get_packed_size(m));
}
