/* SPDX-License-Identifier: BSD-3-Clause */
/* See pprof.h. The formats are those of RFC 1951 and RFC 1952. */
#include "output/pprof.h"

#include <string.h>

#define MATCH_MIN 3u
#define MATCH_MAX 258u
#define END_OF_BLOCK 256u
#define TRAILER 8

static void flush(struct cp_deflate *d)
{
	if (!d->error)
		d->error = d->write(d->to, d->out, d->used);
	d->used = 0;
}

static void put_bits(struct cp_deflate *d, uint32_t bits, unsigned n)
{
	d->bits |= (uint64_t)bits << d->bit_count;
	for (d->bit_count += n; d->bit_count >= 8; d->bit_count -= 8) {
		d->out[d->used++] = (uint8_t)d->bits;
		d->bits >>= 8;
		if (d->used == CP_DEFLATE_OUT)
			flush(d);
	}
}

/* A code's highest bit comes first. */
static void put_code(struct cp_deflate *d, uint32_t code, unsigned n)
{
	uint32_t reversed = 0;

	for (unsigned i = 0; i < n; i++)
		reversed |= (code >> i & 1) << (n - 1 - i);
	put_bits(d, reversed, n);
}

/* Put the fixed code of a literal, a length or the end. */
static void put_symbol(struct cp_deflate *d, uint32_t symbol)
{
	if (symbol < 144)
		put_code(d, 0x30 + symbol, 8);
	else if (symbol < 256)
		put_code(d, 0x190 + symbol - 144, 9);
	else if (symbol < 280)
		put_code(d, symbol - 256, 7);
	else
		put_code(d, 0xc0 + symbol - 280, 8);
}

/* Lengths and distances are coded alike: the first values singly, then 4 or 2 codes (2^SPLIT) for
 * each power of two, followed by the lower bits. Returns the code; *EXTRA is the number of those
 * bits. */
static uint32_t group(uint32_t value, unsigned split, unsigned *extra)
{
	unsigned width = 32 - (unsigned)__builtin_clz(value | 1);

	*extra = width > split + 1 ? width - split - 1 : 0;
	return (*extra << split) + (value >> *extra);
}

static void put_reference(struct cp_deflate *d, uint32_t length, uint32_t distance)
{
	uint32_t code;
	unsigned extra;

	if (length == MATCH_MAX) {
		put_symbol(d, 285);
	} else {
		code = group(length - MATCH_MIN, 2, &extra);
		put_symbol(d, 257 + code);
		put_bits(d, (length - MATCH_MIN) & ((1u << extra) - 1), extra);
	}
	code = group(distance - 1, 1, &extra);
	put_code(d, code, 5);
	put_bits(d, (distance - 1) & ((1u << extra) - 1), extra);
}

static uint32_t hash_three(const uint8_t *p)
{
	return ((p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16) * UINT32_C(0x9e3779b1)) >> 20;
}

static uint32_t same_bytes(const uint8_t *a, const uint8_t *b, size_t most)
{
	uint32_t n = 0;

	while (n < most && n < MATCH_MAX && a[n] == b[n])
		n++;
	return n;
}

/* Code the window's next bytes. Returns how many. */
static uint32_t code_step(struct cp_deflate *d)
{
	const uint8_t *p = d->window + d->coded;
	size_t left = d->filled - d->coded, before = 0;
	uint32_t length = 0, *last;

	if (left >= MATCH_MIN) {
		last = &d->last[hash_three(p)];
		before = *last;
		*last = (uint32_t)d->coded + 1;
	}
	if (before && d->coded + 1 - before <= CP_DEFLATE_WINDOW)
		length = same_bytes(d->window + before - 1, p, left);
	if (length < MATCH_MIN) {
		put_symbol(d, *p);
		return 1;
	}
	put_reference(d, length, (uint32_t)(d->coded + 1 - before));
	return length;
}

static void code(struct cp_deflate *d)
{
	while (d->coded < d->filled)
		d->coded += code_step(d);
}

/* Make room for the other half of the window. */
static void slide(struct cp_deflate *d)
{
	memcpy(d->window, d->window + CP_DEFLATE_WINDOW, CP_DEFLATE_WINDOW);
	d->filled = d->coded = CP_DEFLATE_WINDOW;
	for (size_t i = 0; i < CP_DEFLATE_HASHES; i++)
		d->last[i] = d->last[i] > CP_DEFLATE_WINDOW
				     ? d->last[i] - (uint32_t)CP_DEFLATE_WINDOW
				     : 0;
}

static uint32_t crc_of(uint32_t crc, const uint8_t *p, size_t n)
{
	static const uint32_t of_nibble[16] = { 0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
						0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
						0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
						0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c };

	crc = ~crc;
	for (size_t i = 0; i < n; i++) {
		crc ^= p[i];
		crc = crc >> 4 ^ of_nibble[crc & 15];
		crc = crc >> 4 ^ of_nibble[crc & 15];
	}
	return ~crc;
}

/* Put gzip's header and that of the only block: the last one, with fixed codes. */
static void begin_gzip(struct cp_deflate *d)
{
	static const uint8_t header[10] = { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3 };

	if (d->begun)
		return;
	d->begun = 1;
	for (size_t i = 0; i < sizeof(header); i++)
		put_bits(d, header[i], 8);
	put_bits(d, 3, 3);
}

int cp_deflate_put(struct cp_deflate *d, const void *data, size_t n)
{
	const uint8_t *p = data;

	begin_gzip(d);
	d->crc = crc_of(d->crc, p, n);
	d->total += (uint32_t)n;
	while (n && !d->error) {
		size_t room = sizeof(d->window) - d->filled, part = n < room ? n : room;

		memcpy(d->window + d->filled, p, part);
		d->filled += part;
		p += part;
		n -= part;
		if (d->filled < sizeof(d->window))
			continue;
		code(d);
		slide(d);
	}
	return d->error;
}

int cp_deflate_end(struct cp_deflate *d)
{
	begin_gzip(d);
	code(d);
	put_symbol(d, END_OF_BLOCK);
	put_bits(d, 0, (8 - d->bit_count) % 8);
	for (unsigned i = 0; i < TRAILER; i++)
		put_bits(d, (i < 4 ? d->crc : d->total) >> 8 * (i % 4) & 0xff, 8);
	flush(d);
	return d->error;
}
