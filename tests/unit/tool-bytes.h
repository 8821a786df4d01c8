/* SPDX-License-Identifier: BSD-3-Clause */
/* The bytes of a profile, written field by field, valid or invalid, for the tests of the reader. */
#ifndef TOOL_BYTES_H
#define TOOL_BYTES_H

#include <stdint.h>
#include <string.h>

struct bytes {
	uint8_t data[1 << 16];
	size_t n;
};

static inline void put_byte(struct bytes *b, unsigned c)
{
	if (b->n < sizeof(b->data))
		b->data[b->n++] = (uint8_t)c;
}

static inline void put_varint(struct bytes *b, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		put_byte(b, (unsigned)(v & 0x7f) | 0x80);
	put_byte(b, (unsigned)v);
}

static inline void put_number(struct bytes *b, unsigned field, uint64_t v)
{
	put_varint(b, field << 3);
	put_varint(b, v);
}

static inline void put_bytes(struct bytes *b, unsigned field, const void *data, size_t n)
{
	put_varint(b, field << 3 | 2);
	put_varint(b, n);
	for (size_t i = 0; i < n; i++)
		put_byte(b, ((const uint8_t *)data)[i]);
}

static inline void put_string(struct bytes *b, const char *text)
{
	put_bytes(b, 6, text, strlen(text));
}

/* A message of numbers: field 1, 2, 3 ... have the values given. */
static inline void put_fields(struct bytes *b, unsigned field, const uint64_t *values, size_t n)
{
	static struct bytes inner;

	inner.n = 0;
	for (size_t i = 0; i < n; i++)
		if (values[i])
			put_number(&inner, (unsigned)i + 1, values[i]);
	put_bytes(b, field, inner.data, inner.n);
}

#define PUT_FIELDS(b, field, ...)                                                                  \
	put_fields(b, field, (const uint64_t[]){ __VA_ARGS__ },                                    \
		   sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

/* location ids a, b (0 = left out), one value, and label key=text (strings; 0 = none) */
static inline void put_sample(struct bytes *b, uint64_t first, uint64_t second, uint64_t value,
			      uint64_t key, uint64_t text)
{
	static struct bytes s, label;

	s.n = label.n = 0;
	put_number(&s, 1, first); /* not packed, which is allowed too */
	if (second)
		put_number(&s, 1, second);
	put_number(&s, 2, value);
	if (key) {
		put_number(&label, 1, key);
		put_number(&label, 2, text);
		put_bytes(&s, 3, label.data, label.n);
	}
	put_bytes(b, 2, s.data, s.n);
}

static inline void put_location(struct bytes *b, uint64_t id, uint64_t mapping, uint64_t address,
				uint64_t function, uint64_t line)
{
	static struct bytes l, at;

	l.n = at.n = 0;
	put_number(&l, 1, id);
	put_number(&l, 2, mapping);
	put_number(&l, 3, address);
	if (function) {
		put_number(&at, 1, function);
		put_number(&at, 2, line);
		put_bytes(&l, 4, at.data, at.n);
	}
	put_bytes(b, 4, l.data, l.n);
}

enum { T_EMPTY, T_CPU, T_NS, T_MAIN, T_LEAF, T_FILE, T_APP, T_THREAD, T_ONE, T_END };

static inline void put_strings(struct bytes *b)
{
	static const char *const texts[] = { "",	 "cpu",	     "nanoseconds", "main", "leaf",
					     "/src/a.c", "/bin/app", "thread",	    "one" };

	for (unsigned i = 0; i < T_END; i++)
		put_string(b, texts[i]);
}

/* main calls leaf: two samples, of 30 ns (thread=one) and 12 ns. */
static inline void put_usual(struct bytes *b)
{
	PUT_FIELDS(b, 1, T_CPU, T_NS);
	put_sample(b, 1, 2, 30, T_THREAD, T_ONE);
	put_sample(b, 2, 0, 12, 0, 0);
	PUT_FIELDS(b, 3, 1, 0x1000, 0x9000, 0, T_APP);
	put_location(b, 1, 1, 0x1100, 1, 11);
	put_location(b, 2, 1, 0x1200, 2, 22);
	PUT_FIELDS(b, 5, 1, T_LEAF, T_LEAF, T_FILE, 10);
	PUT_FIELDS(b, 5, 2, T_MAIN, T_MAIN, T_FILE, 20);
	put_strings(b);
	put_number(b, 9, 1700000000);
	PUT_FIELDS(b, 11, T_CPU, T_NS);
	put_number(b, 12, 100);
}

#endif
