/* SPDX-License-Identifier: BSD-3-Clause */
/* Walks the fields of a protobuf message in memory. Used by the reader of OTLP for the messages
 * that may be large. */
#ifndef CT_OTLP_CURSOR_H
#define CT_OTLP_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ct_otlp_bytes {
	const uint8_t *at;
	size_t size;
};

struct ct_otlp_cursor {
	const uint8_t *at, *end;
	/* The present field. A number has no BODY, a message has no NUMBER. */
	unsigned field;
	bool is_message;
	uint64_t number;
	struct ct_otlp_bytes body;
};

static inline struct ct_otlp_cursor ct_otlp_cursor_of(struct ct_otlp_bytes b)
{
	return (struct ct_otlp_cursor){ .at = b.at, .end = b.at + b.size };
}

/* Goes to the next field. Returns 1, 0 at the end, or -EBADMSG. */
int ct_otlp_cursor_next(struct ct_otlp_cursor *c);

#endif
