/* SPDX-License-Identifier: BSD-3-Clause */
/* Definitions that the files that read DWARF share: bytes, cursors, sections, units.
 *
 * Everything that is read is hostile until checked. A cursor that would leave its bytes becomes
 * bad: it stays where it is and reads zeros from then on. So callers check once, at the end of a
 * step.
 */
#ifndef CT_DWARF_DATA_H
#define CT_DWARF_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct ct_dw_bytes {
	const uint8_t *data;
	size_t size;
};

struct ct_dw_cursor {
	const uint8_t *p, *end;
	bool bad;
};

enum ct_dw_section {
	CT_DW_INFO,
	CT_DW_ABBREV,
	CT_DW_STR,
	CT_DW_LINE,
	CT_DW_LINE_STR,
	CT_DW_STR_OFFSETS,
	CT_DW_ADDR,
	CT_DW_RANGES,
	CT_DW_RNGLISTS,
	CT_DW_ARANGES,
	CT_DW_CU_INDEX,
	CT_DW_SECTIONS
};

/* Returns the index of the first of N items of SIZE bytes, which begin with a number by which they
 * are sorted, whose number is not below NUMBER; N: there is none. */
static inline size_t ct_dw_first(const void *items, size_t n, size_t size, uint64_t number)
{
	size_t low = 0;

	while (low < n) {
		size_t middle = low + (n - low) / 2;
		uint64_t its;

		memcpy(&its, (const char *)items + middle * size, sizeof(its));
		if (its < number)
			low = middle + 1;
		else
			n = middle;
	}
	return low;
}

struct ct_dw_unit;
struct ct_dw_abbrevs;
struct ct_dw_lines;
struct ct_dw_parents;

#define CT_DW_CACHED 64

/* Sections that refer to each other: those of a file, of a .dwo, of one unit's part of a package,
 * or of a dwz supplementary file. */
struct ct_dw_file {
	struct ct_dw_bytes section[CT_DW_SECTIONS];
	void *memory[CT_DW_SECTIONS]; /* contents of sections that ELF doesn't hold; or NULL */
	struct ct_dw_file
		*alt;	   /* the file that DW_FORM_GNU_ref_alt and _strp_alt refer to; or NULL */
	bool split;	   /* .dwo sections: bases are implicit */
	uint64_t text_low; /* the linker dropped the code below this address, but not its entries */
	struct ct_dw_unit *units;
	size_t unit_count;
	struct ct_dw_parents **parents;		     /* by unit, made when first needed; or NULL */
	struct ct_dw_abbrevs *abbrevs[CT_DW_CACHED]; /* by hash; NULL = free */
	struct ct_dw_lines *lines[CT_DW_CACHED];
	struct Elf *elf; /* NULL: these are a part of another file */
	int fd;		 /* to close; -1 = the caller closes it */
	struct ct_dw_file *next;
};

struct ct_dw_unit {
	struct ct_dw_file *file;
	uint64_t offset,
		end;   /* offset of the header in .debug_info, and of the end of the last entry */
	uint64_t root; /* offset of the first entry */
	uint64_t abbrev_offset;
	uint64_t id; /* from DW_AT_GNU_dwo_id or the header */
	uint16_t version;
	uint8_t type, address_size, offset_size;
	bool is_begun; /* the root entry was read */
	/* copied from the root entry: */
	bool has_low, has_ranges, has_lines, is_code;
	uint16_t ranges_form;
	uint64_t low, high, ranges, lines;
	uint64_t str_offsets_base, addr_base, rnglists_base;
	uint64_t ranges_base; /* DW_AT_GNU_ranges_base, for the ranges of the split unit */
	const char *directory, *dwo_name;
	struct ct_dw_unit
		*skeleton; /* for a split unit: the unit with its addresses, ranges and lines */
};

static inline struct ct_dw_cursor ct_dw_cursor(struct ct_dw_bytes b, uint64_t from, uint64_t to)
{
	static const uint8_t nothing;
	struct ct_dw_cursor c = { &nothing, &nothing, true };

	if (b.data && from <= to && to <= b.size)
		c = (struct ct_dw_cursor){ b.data + from, b.data + to, false };
	return c;
}

static inline bool ct_dw_has(struct ct_dw_cursor *c, uint64_t n)
{
	if (n <= (uint64_t)(c->end - c->p))
		return true;
	c->bad = true;
	c->p = c->end;
	return false;
}

static inline void ct_dw_skip(struct ct_dw_cursor *c, uint64_t n)
{
	if (ct_dw_has(c, n))
		c->p += n;
}

/* Reads an integer of SIZE bytes (1 to 8), little endian. */
static inline uint64_t ct_dw_uint(struct ct_dw_cursor *c, unsigned size)
{
	uint64_t v = 0;

	if (!ct_dw_has(c, size))
		return 0;
	memcpy(&v, c->p, size <= sizeof(v) ? size : sizeof(v));
	c->p += size;
	return v;
}

static inline uint64_t ct_dw_uleb(struct ct_dw_cursor *c)
{
	uint64_t v = 0;

	for (unsigned shift = 0; c->p < c->end; shift += 7) {
		uint8_t b = *c->p++;

		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return v;
	}
	c->bad = true;
	return 0;
}

static inline int64_t ct_dw_sleb(struct ct_dw_cursor *c)
{
	uint64_t v = 0;

	for (unsigned shift = 0; c->p < c->end;) {
		uint8_t b = *c->p++;

		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
		if (!(b & 0x80))
			return (int64_t)(shift < 64 && b & 0x40 ? v | ~UINT64_C(0) << shift : v);
	}
	c->bad = true;
	return 0;
}

/* Reads a text that ends with NUL. Returns NULL if it has no end. */
static inline const char *ct_dw_text(struct ct_dw_cursor *c)
{
	const uint8_t *nul = c->p < c->end ? memchr(c->p, 0, (size_t)(c->end - c->p)) : NULL;
	const char *text = (const char *)c->p;

	if (!nul) {
		c->bad = true;
		c->p = c->end;
		return NULL;
	}
	c->p = nul + 1;
	return text;
}

/* Reads the length at the beginning of a table, which also tells the size of its offsets. Returns
 * the bytes that the length spans. */
static inline struct ct_dw_cursor ct_dw_sub(struct ct_dw_cursor *c, uint8_t *offset_size)
{
	uint64_t n = ct_dw_uint(c, 4);
	struct ct_dw_cursor sub;

	*offset_size = 4;
	if (n == 0xffffffff) {
		*offset_size = 8;
		n = ct_dw_uint(c, 8);
	}
	if (!ct_dw_has(c, n))
		n = 0;
	sub = (struct ct_dw_cursor){ c->p, c->p + n, c->bad };
	c->p += n;
	return sub;
}

static inline const char *ct_dw_text_at(struct ct_dw_bytes b, uint64_t offset)
{
	struct ct_dw_cursor c = ct_dw_cursor(b, offset, b.size);

	return ct_dw_text(&c);
}

#endif
