/* SPDX-License-Identifier: BSD-3-Clause */
/* Samples in an order that compresses; see output.h. */
#include "output/output.h"

#include <errno.h>
#include <string.h>

#include "base/sys.h"

/* Rows are sorted by hashes of their outer frames: first of all but the 24 frames next to the leaf,
 * then of all but 12, 6 and 3. This groups rows by ever longer common parts, whatever the shape of
 * the tree. */
static const uint32_t left_out[] = { 24, 12, 6, 3 };
#define LEVELS (sizeof(left_out) / sizeof(left_out[0]))
#define LEVEL_BITS 10

/* Digits of a radix sort; the counts of one digit fit into the L1 cache. */
#define DIGIT_BITS 11
#define DIGITS (1u << DIGIT_BITS)

static uint64_t mix_hash(uint64_t h, uint64_t v)
{
	h = (h ^ v) * UINT64_C(0xff51afd7ed558ccd);
	return h ^ h >> 32;
}

static uint64_t key_of(const struct cp_stack *s, uint32_t thread)
{
	uint64_t h = s->depth > left_out[0], key = 0;
	uint32_t i = s->depth;

	for (size_t level = 0; level < LEVELS; level++) {
		while (i > left_out[level])
			h = mix_hash(h, s->locations[--i]);
		key = key << LEVEL_BITS | h >> (64 - LEVEL_BITS);
	}
	while (i > 0)
		h = mix_hash(h, s->locations[--i]);
	h = mix_hash(mix_hash(mix_hash(h, thread), s->tag), s->labels);
	return key << (64 - LEVELS * LEVEL_BITS) | h >> LEVELS * LEVEL_BITS;
}

static void sort_digit(const struct cp_row *from, struct cp_row *to, size_t n, unsigned shift)
{
	uint32_t first[DIGITS] = { 0 }, sum = 0;

	for (size_t i = 0; i < n; i++)
		first[from[i].key >> shift & (DIGITS - 1)]++;
	for (unsigned d = 0; d < DIGITS; d++) {
		uint32_t count = first[d];

		first[d] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		to[first[from[i].key >> shift & (DIGITS - 1)]++] = from[i];
}

/* With an even number of passes, the result is in ROWS again. */
static void sort_rows(struct cp_row *rows, struct cp_row *other, size_t n)
{
	for (unsigned shift = 0; shift < 64; shift += 2 * DIGIT_BITS) {
		sort_digit(rows, other, n, shift);
		sort_digit(other, rows, n, shift + DIGIT_BITS);
	}
}

static bool has_changed(const struct cp_aggregate *a, uint32_t number, const struct cp_vec *base,
			unsigned values)
{
	bool changed = !base;

	for (unsigned v = 0; v < values && !changed; v++)
		changed = cp_aggregate_since(a, number, v, base) != 0;
	return changed;
}

static size_t count_changed(const struct cp_aggregate *a, const struct cp_vec *base,
			    unsigned values)
{
	size_t n = 0;

	if (!base)
		return a->stacks.count;
	for (uint32_t i = 0; i < a->stacks.count; i++)
		n += has_changed(a, i, base, values);
	return n;
}

static void list_rows(struct cp_row *row, const struct cp_aggregate *a, const uint32_t *canonical,
		      const struct cp_vec *base, unsigned values)
{
	for (uint32_t i = 0; i < a->stacks.count; i++) {
		const struct cp_stack *s = CP_VEC_AT(&a->stacks, struct cp_stack, i);
		uint32_t thread = s->thread == CP_NO_THREAD ? CP_NO_THREAD : canonical[s->thread];

		if (has_changed(a, i, base, values))
			*row++ = (struct cp_row){ key_of(s, thread), i, thread };
	}
}

int cp_rows_order(struct cp_rows *rows, const struct cp_aggregate *a, const uint32_t *canonical,
		  const struct cp_vec *base, unsigned values)
{
	size_t n = count_changed(a, base, values), bytes = n * sizeof(struct cp_row);
	struct cp_row *items, *other;

	*rows = (struct cp_rows){ 0 };
	if (!n)
		return 0;
	items = cp_pages_map(bytes);
	other = items ? cp_pages_map(bytes) : NULL;
	if (!other) {
		cp_sys_unmap(items, bytes);
		return -ENOMEM;
	}
	list_rows(items, a, canonical, base, values);
	sort_rows(items, other, n);
	cp_sys_unmap(other, bytes);
	*rows = (struct cp_rows){ items, n };
	return 0;
}

void cp_rows_release(struct cp_rows *rows)
{
	cp_sys_unmap(rows->items, rows->count * sizeof(*rows->items));
	*rows = (struct cp_rows){ 0 };
}
