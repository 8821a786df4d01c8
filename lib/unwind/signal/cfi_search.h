/* SPDX-License-Identifier: BSD-3-Clause */
/* The search in a module's sorted table; see unwind_signal.h. Inline, because calls and
 * unpredictable jumps are most of the cost of looking up new code; rules_learn.c includes its own
 * copy. */
#ifndef CP_CFI_SEARCH_H
#define CP_CFI_SEARCH_H

#include "unwind/signal/unwind_signal.h"

/* The beginning of .eh_frame_hdr. */
struct cp_cfi_head {
	uint32_t form; /* version; encodings of .eh_frame's address, the count and the table */
	int32_t eh_frame;
	uint32_t count;
};

/* The only form that linkers write: version 1; the count unsigned, 4 bytes; entries relative to the
 * header, signed, 4 bytes. */
#define CP_CFI_HEAD_MASK 0xffff00ffu
#define CP_CFI_HEAD_FORM 0x3b030001u

/* A sorted table, at any address. */
struct cp_cfi_sorted {
	uint64_t base, at, count;
	bool copy; /* the table may go away */
};

static inline bool cp_cfi_inside(const struct cp_cfi_module *m, uint64_t addr, uint64_t size)
{
	return addr >= m->tables && addr < m->tables_end && m->tables_end - addr >= size;
}

/* Get the table that libcprof built for M, if there is one: it is in own pages, which stay. */
static inline bool cp_cfi_built(const struct cp_cfi_module *m, struct cp_cfi_sorted *t)
{
	if (__builtin_expect(!m->built, 1))
		return false;
	*t = (struct cp_cfi_sorted){ m->built->base, (uint64_t)(uintptr_t)m->built->entries,
				     m->built->count, false };
	return true;
}

/* Get the table of M whose header is H. Returns false if it has another form or size. */
static inline bool cp_cfi_sorted_by(const struct cp_cfi_module *m, const struct cp_cfi_head *h,
				    struct cp_cfi_sorted *t)
{
	t->base = m->hdr;
	t->at = m->hdr + sizeof(*h);
	t->count = h->count;
	return (h->form & CP_CFI_HEAD_MASK) == CP_CFI_HEAD_FORM &&
	       h->count <= (m->tables_end - t->at) / sizeof(struct cp_cfi_entry);
}

static inline int32_t cp_cfi_start_of(const struct cp_cfi_entry *e)
{
	int32_t start;

	memcpy(&start, (const char *)e, sizeof(start)); /* the first field; E may be unaligned */
	return start;
}

/* Returns HIGH if it starts at or before WANT, else LOW. Without a jump, because the path of a
 * search is unpredictable. */
static inline const struct cp_cfi_entry *cp_cfi_later(const struct cp_cfi_entry *low,
						      const struct cp_cfi_entry *high, int32_t want)
{
	return __builtin_expect_with_probability(cp_cfi_start_of(high) <= want, 1, 0.5) ? high
											: low;
}

/* Sets *WANT to PC relative to T's base, limited to the range of entries: larger offsets are after
 * all entries. Returns false if PC is before all entries. */
static inline bool cp_cfi_in_range(const struct cp_cfi_sorted *t, uint64_t pc, int32_t *want)
{
	int64_t offset = (int64_t)(pc - t->base);

	*want = __builtin_expect(offset > INT32_MAX, 0) ? INT32_MAX : (int32_t)offset;
	return __builtin_expect(offset >= INT32_MIN, 1);
}

/* Returns the last entry that starts at or before WANT, if there is one. Searches by quarters: the
 * loads of one step don't wait for each other, unlike those of two steps by halves. */
static inline const struct cp_cfi_entry *cp_cfi_search(const struct cp_cfi_sorted *t, int32_t want)
{
	const struct cp_cfi_entry *low = (const struct cp_cfi_entry *)(uintptr_t)t->at;
	uint64_t count = t->count;

	while (count > 3) {
		uint64_t quarter = count / 4;
		const struct cp_cfi_entry *second = low + quarter, *third = second + quarter,
					  *last = third + quarter;

		low = cp_cfi_later(low, second, want);
		low = cp_cfi_later(low, third, want);
		low = cp_cfi_later(low, last, want);
		count -= 3 * quarter;
	}
	for (; count > 1; count--)
		low = cp_cfi_later(low, low + 1, want);
	return low;
}

#endif
